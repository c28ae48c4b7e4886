import { type FormEvent, useState } from 'react';
import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import {
  CreateProfileFieldDocument,
  type CustomProfileFieldType,
  DeleteProfileFieldDocument,
  type ProfileFieldRowFragment,
  ProfileFieldsPageDocument,
  ReorderProfileFieldsDocument,
  UpdateProfileFieldDocument,
} from '../generated/graphql.ts';
import { Button } from '../ui/button.tsx';
import { Confirmation } from '../ui/confirmation.tsx';
import { Dialog, openDialog, useClose } from '../ui/dialog.tsx';
import { Check, Choice, Field, Refusal, TextField } from '../ui/form.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { OrderedList } from './ordered-list.tsx';

const TYPES: Readonly<Record<CustomProfileFieldType, string>> = {
  SHORT_TEXT: 'Short text',
  PARAGRAPH: 'Paragraph',
  DROPDOWN: 'List of options',
  DATE: 'Date',
  URL: 'Link',
  USER: 'Users',
  PRONOUNS: 'Pronouns',
  EXTERNAL_ACCOUNT: 'Account on another site',
};
const TYPE_OPTIONS = Object.entries(TYPES) as [CustomProfileFieldType, string][];

/** Custom profile fields of the organization in their order. */
export function ProfileFields() {
  const read = useData(ProfileFieldsPageDocument, {}, { requestPolicy: 'cache-and-network' });
  const reorder = useCommand(ReorderProfileFieldsDocument);
  if (read.state !== 'ready') return <NotReady of={read} />;
  return (
    <>
      <p className="soft">These fields are shown in the profiles of users. All users can see them.</p>
      <OrderedList
        label="Profile fields"
        entries={read.data.customProfileFields ?? []}
        onReorder={(ids) => void reorder.run({ input: { customProfileFieldIds: [...ids] } })}
        detailOf={({ type, hint }) => (hint === '' ? TYPES[type] : `${TYPES[type]}. ${hint}`)}
        empty="No profile fields."
      >
        {(field) => (
          <>
            <Button aria-label={`Edit ${field.name}`} onClick={() => openDialog(<FieldDialog field={field} />)}>
              Edit
            </Button>
            <Button aria-label={`Delete ${field.name}`} onClick={() => openDialog(<Deletion field={field} />)}>
              Delete
            </Button>
          </>
        )}
      </OrderedList>
      <Refusal>{reorder.refusal}</Refusal>
      <div>
        <Button kind="primary" onClick={() => openDialog(<FieldDialog />)}>
          Add a field
        </Button>
      </div>
    </>
  );
}

interface Props {
  /** Absent for a new field. */
  readonly field?: ProfileFieldRowFragment;
}

const FieldDialog = ({ field }: Props) => (
  <Dialog title={field === undefined ? 'Add a profile field' : `Edit ${field.name}`}>
    <FieldForm {...(field && { field })} />
  </Dialog>
);

function FieldForm({ field }: Props) {
  const close = useClose();
  const creation = useCommand(CreateProfileFieldDocument);
  const change = useCommand(UpdateProfileFieldDocument);
  const { refusal, isBusy } = field === undefined ? creation : change;
  const [type, setType] = useState<CustomProfileFieldType>(field?.type ?? 'SHORT_TEXT');
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const input = inputIn(new FormData(event.currentTarget), type, field);
    const isDone = await (field === undefined
      ? creation.run({ input: { ...input, type } })
      : change.run({ input: { ...input, customProfileFieldId: field.id } }));
    if (isDone) close();
  };
  const isMatched = type === 'SHORT_TEXT' || type === 'EXTERNAL_ACCOUNT';
  return (
    <form className="form" onSubmit={submit}>
      <TextField label="Name" name="name" required maxLength={40} defaultValue={field?.name} data-autofocus />
      {field === undefined && <Choice label="Type" options={TYPE_OPTIONS} value={type} onChoose={setType} />}
      <TextField label="Hint" name="hint" maxLength={80} defaultValue={field?.hint} />
      {type === 'DROPDOWN' && (
        <Field label="Options" hint="One per line.">
          <textarea
            className="input"
            name="options"
            rows={4}
            required
            defaultValue={field?.choices?.map(({ text }) => text).join('\n')}
          />
        </Field>
      )}
      {type === 'EXTERNAL_ACCOUNT' && (
        <TextField
          label="URL of an account"
          name="urlPattern"
          required
          defaultValue={field?.urlPattern ?? ''}
          hint="%(username)s is replaced with the name of the account."
        />
      )}
      <div>
        <Check label="Ask users to fill it in" name="required" defaultChecked={field?.required} />
        <Check
          label="Allow users to change their own value"
          name="editableByUser"
          defaultChecked={field?.editableByUser ?? true}
        />
        {type !== 'USER' && (
          <Check
            label="Show in the profile summary (at most two fields)"
            name="displayInProfileSummary"
            defaultChecked={field?.displayInProfileSummary}
          />
        )}
        {isMatched && (
          <Check
            label="Find users by this value"
            name="useForUserMatching"
            defaultChecked={field?.useForUserMatching}
          />
        )}
      </div>
      <Refusal>{refusal}</Refusal>
      <div className="form-actions">
        <Button onClick={close}>Cancel</Button>
        <Button kind="primary" type="submit" disabled={isBusy}>
          Save
        </Button>
      </div>
    </form>
  );
}

function inputIn(data: FormData, type: CustomProfileFieldType, field: ProfileFieldRowFragment | undefined) {
  const isOn = (name: string) => data.get(name) !== null;
  return {
    name: String(data.get('name')),
    hint: String(data.get('hint')),
    required: isOn('required'),
    editableByUser: isOn('editableByUser'),
    displayInProfileSummary: isOn('displayInProfileSummary'),
    useForUserMatching: isOn('useForUserMatching'),
    ...(type === 'DROPDOWN' && { data: { choices: choicesIn(String(data.get('options')), field?.choices ?? []) } }),
    ...(type === 'EXTERNAL_ACCOUNT' && { data: { urlPattern: String(data.get('urlPattern')) } }),
  };
}

type Choices = NonNullable<ProfileFieldRowFragment['choices']>;

/**
 * Returns the options in lines of text. An option that existed before keeps its key, because the values of users contain keys.
 * An option that was renamed keeps its key too if its line stayed in its place.
 */
function choicesIn(text: string, before: Choices) {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const keys = new Set<string>();
  const keep = (key: string | undefined) => {
    if (key === undefined || keys.has(key)) return undefined;
    keys.add(key);
    return key;
  };
  const known = lines.map((line) => keep(before.find((one) => one.text === line)?.key));
  const isSameLength = lines.length === before.length;
  const renamed = lines.map((_, index) => known[index] ?? (isSameLength ? keep(before[index]?.key) : undefined));
  const used = Math.max(-1, ...before.map(({ key }) => Number(key)).filter(Number.isInteger));
  const added = [...renamed.keys()].filter((index) => renamed[index] === undefined);
  return lines.map((line, index) => ({
    key: renamed[index] ?? String(used + 1 + added.indexOf(index)),
    text: line,
  }));
}

function Deletion({ field: { id, name } }: { readonly field: ProfileFieldRowFragment }) {
  const { run, refusal, isBusy } = useCommand(DeleteProfileFieldDocument);
  return (
    <Confirmation
      title={`Delete ${name}?`}
      action="Delete"
      refusal={refusal}
      isBusy={isBusy}
      onConfirm={() => run({ input: { customProfileFieldId: id } })}
    >
      This also deletes the values that users have entered.
    </Confirmation>
  );
}
