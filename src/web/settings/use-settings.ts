import { useState } from 'react';
import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import {
  OwnPreferencesDocument,
  type PreferencesFragment,
  UpdateSettingsDocument,
  type UserSettingsInput,
} from '../generated/graphql.ts';

export type Settings = Omit<PreferencesFragment, 'id' | '__typename'>;

/**
 * Returns the viewer's settings and a function that changes them. Changes are shown immediately, and reverted if the service
 * refuses them.
 */
export function useSettings() {
  const read = useData(OwnPreferencesDocument, {});
  const { run, refusal } = useCommand(UpdateSettingsDocument);
  const [asked, setAsked] = useState<readonly Partial<Settings>[]>([]);
  const change = async (settings: UserSettingsInput & Partial<Settings>) => {
    setAsked((others) => [...others, settings]);
    await run({ input: { settings } });
    setAsked((others) => others.filter((one) => one !== settings));
  };
  const known = read.data?.ownSettings;
  return { settings: known ? (Object.assign({}, known, ...asked) as Settings) : undefined, read, refusal, change };
}
