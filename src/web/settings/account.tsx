import type { FormEvent } from 'react';
import { useClient } from 'urql';
import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import { OwnProfileDocument, UpdateSettingsDocument } from '../generated/graphql.ts';
import { signOut } from '../session/session.ts';
import { Button } from '../ui/button.tsx';
import { Check, FormSection, PasswordField, Refusal, TextField } from '../ui/form.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { notify } from '../ui/notices.tsx';
import { LinkedIdentities } from './linked-identities.tsx';
import { SecondFactor } from './second-factor.tsx';
import { Sessions } from './sessions.tsx';

/** Settings for the viewer's email address, password and sessions. */
export function Account() {
  const read = useData(OwnProfileDocument, {});
  const client = useClient();
  if (read.state !== 'ready') return <NotReady of={read} />;
  const { data } = read;
  if (!data.viewer) return null;
  return (
    <div className="form">
      <FormSection title="Email address">
        <EmailForm email={data.viewer.deliveryEmail ?? ''} isFixed={data.organization?.emailChangesDisabled === true} />
      </FormSection>
      <FormSection title="Password">
        <PasswordForm />
      </FormSection>
      <SecondFactor />
      <LinkedIdentities />
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
    const form = event.currentTarget;
    const data = new FormData(form);
    const password = String(data.get('password'));
    const input = { email: String(data.get('email')), ...(password !== '' && { oldPassword: password }) };
    if (!(await run({ input }))) return;
    form.reset();
    notify('A confirmation email was sent to the new address.');
  };
  return (
    <form className="form" onSubmit={submit} aria-label="Email">
      <TextField
        label="Email"
        name="email"
        type="email"
        required
        key={email}
        defaultValue={email}
        disabled={isFixed}
        hint="A new address takes effect when you open the link in the confirmation email."
      />
      <PasswordField disabled={isFixed} />
      <Refusal>{refusal}</Refusal>
      <div>
        <Button type="submit" disabled={isBusy || isFixed}>
          Change email
        </Button>
      </div>
    </form>
  );
}

function PasswordForm() {
  const { run, refusal, isBusy } = useCommand(UpdateSettingsDocument);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const data = new FormData(form);
    const passwords = { oldPassword: String(data.get('old')), newPassword: String(data.get('new')) };
    const input = { ...passwords, keepsApiKey: data.get('rotate') === null };
    if (!(await run({ input }))) return;
    form.reset();
    notify('Your password was changed.');
  };
  return (
    <form className="form" onSubmit={submit} aria-label="Password">
      <TextField label="Old password" name="old" type="password" autoComplete="current-password" />
      <TextField
        label="New password"
        name="new"
        type="password"
        autoComplete="new-password"
        required
        hint="Signs you out of all other browsers."
      />
      <Check label="Also replace the API key" name="rotate" defaultChecked />
      <Refusal>{refusal}</Refusal>
      <div>
        <Button type="submit" disabled={isBusy}>
          Change password
        </Button>
      </div>
    </form>
  );
}
