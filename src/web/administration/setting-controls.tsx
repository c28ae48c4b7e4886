import { type FormEvent, useState } from 'react';
import { useData } from '../api/use-data.ts';
import { type ChannelPrivacy, OfferedChannelsDocument } from '../generated/graphql.ts';
import { Button } from '../ui/button.tsx';
import { Check, Choice, Field, TextField } from '../ui/form.tsx';
import { Failure } from '../ui/not-ready.tsx';
import { withCurrent, withCurrentOption } from '../ui/options.ts';
import type { NumberSetting, ValueSetting } from './setting-table.ts';

/** Value of a setting. A channel is represented by its ID, no channel by null. */
export type SettingValue = string | number | boolean | null;

interface Props<S> {
  readonly setting: S;
  readonly value: SettingValue;
  readonly isFixed: boolean;
  /** ID of the explanation. */
  readonly hintId: string;
  readonly onChange: (value: SettingValue) => Promise<boolean>;
}

type Of<K extends ValueSetting['kind']> = Props<Extract<ValueSetting, { readonly kind: K }>>;

/** The control of a setting, by its kind. */
export function SettingControl({ setting, value, isFixed, hintId, onChange }: Props<ValueSetting>) {
  const rest = { value, isFixed, hintId, onChange };
  switch (setting.kind) {
    case 'flag':
      return (
        <Check
          label={setting.label}
          aria-describedby={hintId}
          disabled={isFixed}
          checked={value === true}
          onChange={({ currentTarget: { checked } }) => void onChange(checked)}
        />
      );
    case 'choice':
      return (
        <Choice
          label={setting.label}
          aria-describedby={hintId}
          disabled={isFixed}
          options={withCurrentOption(setting.options, String(value))}
          value={String(value)}
          onChoose={(next) => void onChange(next)}
        />
      );
    case 'text':
      return <TextControl setting={setting} {...rest} />;
    case 'number':
      return <NumberControl setting={setting} {...rest} />;
    case 'channel':
      return <ChannelControl setting={setting} {...rest} />;
  }
}

/** Focuses the control of a setting after its button has disappeared, so that keyboard users continue from the setting. */
export const focusControl = (within: Element | null): void =>
  within?.querySelector<HTMLElement>('input, select, textarea, [role=combobox]')?.focus();

/** Text, which is saved by a button. */
function TextControl({ setting, value, isFixed, hintId, onChange }: Of<'text'>) {
  const [edited, setEdited] = useState<string>();
  const text = edited ?? String(value);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    if (!(await onChange(text))) return;
    setEdited(undefined);
    focusControl(form);
  };
  const field = {
    ...{ className: 'input', dir: 'auto', value: text, disabled: isFixed, maxLength: setting.limit },
    ...{ required: setting.isRequired === true, 'aria-describedby': hintId },
    onChange: ({ currentTarget }: { currentTarget: { value: string } }) => setEdited(currentTarget.value),
  };
  return (
    <form className="setting-form" onSubmit={submit}>
      <Field label={setting.label}>
        {setting.isLong === true ? <textarea rows={3} {...field} /> : <input autoComplete="off" {...field} />}
      </Field>
      {text !== value && (
        <Button type="submit" kind="primary">
          Save<span className="only-heard"> {setting.label}</span>
        </Button>
      )}
    </form>
  );
}

const OTHER = 'other';

/** A number of seconds or days: one of the offered values, or another one that the user enters. */
function NumberControl({ setting, value, isFixed, hintId, onChange }: Of<'number'>) {
  const [isOther, setOther] = useState(false);
  const { label, unit, offered, unlimited, least } = setting;
  // Seconds are entered as minutes.
  const factor = unit === 'second' ? 60 : 1;
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const row = event.currentTarget.parentElement;
    if (!(await onChange(Number(new FormData(event.currentTarget).get('number')) * factor))) return;
    setOther(false);
    focusControl(row);
  };
  const isUnlimited = unlimited !== undefined && value === unlimited[0];
  const numbers = (isUnlimited ? [...offered] : withCurrent(offered, Number(value))).toSorted((a, b) => a - b);
  const options = [
    ...numbers.map((one) => [String(one), lengthSpoken(setting, one)] as const),
    ...(unlimited === undefined ? [] : [[String(unlimited[0]), unlimited[1]] as const]),
    [OTHER, 'Other…'] as const,
  ];
  const choose = (next: string) => {
    setOther(next === OTHER);
    if (next !== OTHER) void onChange(next === 'null' ? null : Number(next));
  };
  return (
    <>
      <Choice
        label={label}
        aria-describedby={hintId}
        disabled={isFixed}
        options={options}
        value={isOther ? OTHER : String(value)}
        onChoose={choose}
      />
      {isOther && (
        <form className="setting-form" onSubmit={submit}>
          <TextField
            label={`${label}, in ${unit === 'second' ? 'minutes' : 'days'}`}
            name="number"
            type="number"
            required
            min={least}
            max={1_000_000}
            autoFocus
          />
          <Button type="submit" kind="primary">
            Save<span className="only-heard"> {label}</span>
          </Button>
        </form>
      )}
    </>
  );
}

const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

/** Returns a number of seconds or days as text, in the largest unit that gives a whole number: "10 minutes". */
export function lengthSpoken({ unit, unlimited }: NumberSetting, value: SettingValue): string {
  if (value === null || value === unlimited?.[0]) return unlimited?.[1] ?? '';
  const seconds = Number(value) * (unit === 'day' ? 86_400 : 1);
  const [name, size] = UNITS.find(([, size]) => seconds % size === 0) ?? (['second', 1] as const);
  return new Intl.NumberFormat('en', { style: 'unit', unit: name, unitDisplay: 'long' }).format(seconds / size);
}

/** The values of `ChannelPrivacy` of private channels. */
const PRIVATE: ChannelPrivacy[] = ['PRIVATE', 'PRIVATE_SHARED_HISTORY'];

function ChannelControl({ setting, value, isFixed, hintId, onChange }: Of<'channel'>) {
  const variables = { privacy: setting.isPrivate === true ? PRIVATE : null };
  const read = useData(OfferedChannelsDocument, variables, { requestPolicy: 'cache-and-network' });
  const { nodes = [], totalCount = 0 } = read.data?.channels ?? {};
  const options = [['', 'None'] as const, ...nodes.map(({ id, name }) => [id, `#${name}`] as const)];
  return (
    <>
      <Choice
        label={setting.label}
        aria-describedby={hintId}
        disabled={isFixed}
        hint={(totalCount ?? 0) > nodes.length && `Showing the first ${nodes.length} channels.`}
        options={withCurrentOption<string>(options, String(value ?? ''), () => 'Another channel')}
        value={String(value ?? '')}
        onChoose={(id) => void onChange(id === '' ? null : id)}
      />
      <Failure of={read} />
    </>
  );
}
