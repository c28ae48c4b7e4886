import { type FormEvent, useState } from 'react';
import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import { OwnProfileDocument, UpdateProfileDataDocument, UpdateSettingsDocument } from '../generated/graphql.ts';
import { PersonButton } from '../people/open-person.tsx';
import { Button } from '../ui/button.tsx';
import { Refusal, TextField } from '../ui/form.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { notify } from '../ui/notices.tsx';
import { AvatarField } from './avatar-field.tsx';
import { ProfileField, type ProfileInput, valueIn } from './profile-field.tsx';

/**
 * Settings for the image, name and profile fields of the viewer. Events keep the data up to date. After a change, the data is
 * not read again, because a response that predates the change could arrive after the event.
 */
export function Profile() {
  const read = useData(OwnProfileDocument, {});
  if (read.state !== 'ready') return <NotReady of={read} />;
  const { data } = read;
  const { viewer } = data;
  if (!viewer) return null;
  return (
    <div className="form">
      <AvatarField viewer={viewer} isFixed={data.organization?.avatarChangesDisabled === true} />
      <NameForm name={viewer.fullName} isFixed={data.organization?.nameChangesDisabled === true} />
      <FieldsForm key={viewer.id} fields={data.customProfileFields ?? []} values={viewer.profileData} />
      <p>
        <PersonButton userId={viewer.id} className="link-button">
          Preview profile
        </PersonButton>
      </p>
    </div>
  );
}

function NameForm({ name, isFixed }: { readonly name: string; readonly isFixed: boolean }) {
  const { run, refusal, isBusy } = useCommand(UpdateSettingsDocument);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const fullName = String(new FormData(event.currentTarget).get('name'));
    if (await run({ input: { fullName } })) notify('Saved.');
  };
  return (
    <form className="form" onSubmit={submit}>
      <div className="field-and-button">
        <TextField
          label="Name"
          name="name"
          key={name}
          defaultValue={name}
          required
          maxLength={100}
          disabled={isFixed}
        />
        <Button type="submit" disabled={isBusy || isFixed}>
          Save name
        </Button>
      </div>
      <Refusal>{refusal}</Refusal>
    </form>
  );
}

interface FieldsProps {
  readonly fields: readonly ProfileInput[];
  readonly values: Parameters<typeof valueIn>[0];
}

function FieldsForm({ fields, values }: FieldsProps) {
  const { run, refusal, isBusy } = useCommand(UpdateProfileDataDocument);
  const [edited, setEdited] = useState<ReadonlyMap<string, string | readonly string[]>>(new Map());
  if (fields.length === 0) return <p className="soft">The organization has no custom profile fields.</p>;
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const sent = [...edited].map(([fieldId, value]) => ({
      fieldId,
      content: typeof value === 'string' ? { text: value.trim() } : { userIds: [...value] },
    }));
    if (!(await run({ input: { values: sent } }))) return;
    setEdited(new Map());
    notify('Saved.');
  };
  return (
    <form className="form" onSubmit={submit}>
      {fields.map((field) => (
        <ProfileField
          key={field.id}
          field={field}
          value={edited.get(field.id) ?? valueIn(values, field)}
          people={values.find((one) => one.field.id === field.id)?.users ?? []}
          onChange={(value) => setEdited(new Map(edited).set(field.id, value))}
        />
      ))}
      <Refusal>{refusal}</Refusal>
      <div className="form-actions">
        <Button kind="primary" type="submit" disabled={isBusy || edited.size === 0}>
          Save profile
        </Button>
      </div>
    </form>
  );
}
