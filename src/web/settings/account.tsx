import type { FormEvent } from 'react';
import { useClient, useQuery } from 'urql';
import { useCommand } from '../api/use-command.ts';
import { OwnProfileDocument, UpdateSettingsDocument } from '../generated/graphql.ts';
import { signOut } from '../session/session.ts';
import { Button } from '../ui/button.tsx';
import { Refusal, TextField } from '../ui/form.tsx';
import { notify } from '../ui/notices.tsx';
import { Sessions } from './sessions.tsx';

/** How the viewer signs in, and where they are signed in. */
export function Account() {
  const [{ data }] = useQuery({ query: OwnProfileDocument });
  const client = useClient();
  if (!data?.viewer) return null;
  return (
    <div className="form">
      <EmailForm email={data.viewer.deliveryEmail ?? ''} isFixed={data.organization?.emailChangesDisabled === true} />
      <PasswordForm />
      <Sessions />
      <div>
        <Button onClick={() => void signOut(client)}>Sign out of this browser</Button>
      </div>
    </div>
  );
}

function EmailForm({ email, isFixed }: { readonly email: string; readonly isFixed: boolean }) {
  const { run, refusal, isBusy } = useCommand(UpdateSettingsDocument);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const wanted = String(new FormData(event.currentTarget).get('email'));
    if (await run({ input: { email: wanted } })) notify('A mail to the new address confirms it.');
  };
  return (
    <form className="form" onSubmit={submit}>
      <div className="field-and-button">
        <TextField
          label="Email"
          name="email"
          type="email"
          required
          key={email}
          defaultValue={email}
          disabled={isFixed}
          hint="A new address counts once you follow the link in the mail to it."
        />
        <Button type="submit" disabled={isBusy || isFixed}>
          Change
        </Button>
      </div>
      <Refusal>{refusal}</Refusal>
    </form>
  );
}

function PasswordForm() {
  const { run, refusal, isBusy } = useCommand(UpdateSettingsDocument);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const data = new FormData(form);
    const input = { oldPassword: String(data.get('old')), newPassword: String(data.get('new')) };
    if (!(await run({ input }))) return;
    form.reset();
    notify('The password is changed.');
  };
  return (
    <form className="form" onSubmit={submit} aria-label="Password">
      <fieldset className="group-of-fields">
        <legend>Password</legend>
        <TextField label="Old password" name="old" type="password" autoComplete="current-password" />
        <TextField
          label="New password"
          name="new"
          type="password"
          autoComplete="new-password"
          required
          hint="Signs you out of all other browsers."
        />
      </fieldset>
      <Refusal>{refusal}</Refusal>
      <div>
        <Button type="submit" disabled={isBusy}>
          Change password
        </Button>
      </div>
    </form>
  );
}
