import type { ComponentType } from 'react';
import type { UserSettingsInput } from '../generated/graphql.ts';
import { Check, Choice, Refusal } from '../ui/form.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { type Settings, useSettings } from './use-settings.ts';

type NameOf<T> = { [K in keyof Settings]: Settings[K] extends T ? K : never }[keyof Settings];

/** The viewer's settings, with the function that changes them. */
export interface SettingProps {
  readonly settings: Settings;
  readonly change: (input: UserSettingsInput & Partial<Settings>) => Promise<void>;
}

/** Form of settings. Each change is saved immediately. Shows an error if the service refuses a change. */
export function SettingsForm({ Fields }: { readonly Fields: ComponentType<SettingProps> }) {
  const { settings, read, change, refusal } = useSettings();
  if (read.state !== 'ready') return <NotReady of={read} />;
  if (settings === undefined) return null;
  return (
    <div className="form">
      <Refusal>{refusal}</Refusal>
      <Fields settings={settings} change={change} />
    </div>
  );
}

interface SwitchesProps extends SettingProps {
  /** Heading of the switches. Absent if the heading of the section is sufficient. */
  readonly legend?: string;
  readonly of: readonly (readonly [name: NameOf<boolean>, label: string])[];
}

/** Settings that are on or off, with their labels. */
export function Switches({ legend, of, settings, change }: SwitchesProps) {
  const checks = of.map(([name, label]) => (
    <Check
      key={name}
      label={label}
      checked={settings[name]}
      onChange={(event) => void change({ [name]: event.currentTarget.checked })}
    />
  ));
  if (legend === undefined) return <div className="checks">{checks}</div>;
  return (
    <fieldset className="group-of-fields">
      <legend>{legend}</legend>
      <div className="checks">{checks}</div>
    </fieldset>
  );
}

interface ChoiceSettingProps<N extends NameOf<string>> extends SettingProps {
  readonly name: N;
  readonly label: string;
  readonly hint?: string;
  readonly options: readonly (readonly [value: Settings[N], name: string])[];
}

/** A setting with a fixed set of values. */
export function ChoiceSetting<N extends NameOf<string>>({ name, settings, change, ...rest }: ChoiceSettingProps<N>) {
  return <Choice {...rest} value={settings[name]} onChoose={(value) => void change({ [name]: value })} />;
}
