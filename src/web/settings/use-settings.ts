import { useState } from 'react';
import { useQuery } from 'urql';
import { useCommand } from '../api/use-command.ts';
import {
  OwnPreferencesDocument,
  type PreferencesFragment,
  UpdateSettingsDocument,
  type UpdateSettingsInput,
} from '../generated/graphql.ts';

export type Settings = Omit<PreferencesFragment, 'id' | '__typename'>;

/** The viewer's settings, and what changes some of them: shown at once, and as they were where it is refused. */
export function useSettings() {
  const [{ data }] = useQuery({ query: OwnPreferencesDocument });
  const { run, refusal } = useCommand(UpdateSettingsDocument);
  const [asked, setAsked] = useState<readonly Partial<Settings>[]>([]);
  const change = async (input: UpdateSettingsInput & Partial<Settings>) => {
    setAsked((others) => [...others, input]);
    await run({ input });
    setAsked((others) => others.filter((one) => one !== input));
  };
  const known = data?.ownSettings;
  return { settings: known ? (Object.assign({}, known, ...asked) as Settings) : undefined, refusal, change };
}
