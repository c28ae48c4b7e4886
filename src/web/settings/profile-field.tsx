import type { OwnProfileQuery, ProfileFragment } from '../generated/graphql.ts';
import type { Named } from '../people/named.ts';
import { PeoplePicker } from '../people/people-picker.tsx';
import { Choice, Field, TextField } from '../ui/form.tsx';

export type ProfileInput = NonNullable<OwnProfileQuery['customProfileFields']>[number];

/** Value of a profile field: a text, or a list of user IDs if the field has the type `USER`. */
type Value = string | readonly string[];

interface Props {
  readonly field: ProfileInput;
  readonly value: Value;
  /** The users in the value of a field of type `USER`. */
  readonly people: readonly Named[];
  readonly onChange: (value: Value) => void;
}

const INPUT_TYPES: Partial<Record<ProfileInput['type'], string>> = { DATE: 'date', URL: 'url' };
const [MAX_SHORT, MAX_LONG] = [50, 500];

/** Returns the value of a profile field. Empty if the user has not set the field. */
export function valueIn(values: ProfileFragment['profileData'], { id, type }: ProfileInput): Value {
  const found = values.find(({ field }) => field.id === id);
  return type === 'USER' ? (found?.users?.map((user) => user.id) ?? []) : (found?.value ?? '');
}

/** Input for a profile field of any type. */
export function ProfileField({ field, value, people, onChange }: Props) {
  const { name, hint, type, choices, required, editableByUser } = field;
  const common = { label: name, hint: editableByUser ? hint : 'Only administrators can change this field.' };
  const isFixed = !editableByUser;
  if (typeof value !== 'string') {
    return <PeoplePicker {...common} initial={people} onChange={(chosen) => onChange(chosen.map(({ id }) => id))} />;
  }
  if (type === 'DROPDOWN') {
    const options = [['', 'None'] as const, ...(choices ?? []).map(({ key, text }) => [key, text] as const)];
    return <Choice {...common} disabled={isFixed} options={options} value={value} onChoose={onChange} />;
  }
  const input = { value, required, disabled: isFixed, className: 'input' };
  if (type === 'PARAGRAPH') {
    return (
      <Field {...common}>
        <textarea {...input} rows={3} maxLength={MAX_LONG} onChange={(event) => onChange(event.currentTarget.value)} />
      </Field>
    );
  }
  return (
    <TextField
      {...common}
      {...input}
      type={INPUT_TYPES[type] ?? 'text'}
      maxLength={type === 'URL' ? undefined : MAX_SHORT}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
