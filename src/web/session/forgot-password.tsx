import { type FormEvent, useState } from 'react';
import { useMutation } from 'urql';
import { useData } from '../api/use-data.ts';
import { refusalIn } from '../base/refusals.ts';
import { RequestPasswordResetDocument, SendsEmailDocument } from '../generated/graphql.ts';
import { Button } from '../ui/button.tsx';
import { Refusal, TextField } from '../ui/form.tsx';

/** Form that requests an email with a link to a new password. @param onBack Shows the sign-in form again. */
export function ForgotPassword({ onBack }: { readonly onBack: () => void }) {
  const read = useData(SendsEmailDocument, {});
  const [sentTo, setSentTo] = useState<string>();
  const [refusal, setRefusal] = useState<string>();
  const [{ fetching }, request] = useMutation(RequestPasswordResetDocument);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setRefusal(undefined);
    const email = String(new FormData(event.currentTarget).get('email')).trim();
    const { data, error } = await request({ input: { email } });
    const said = refusalIn(data ?? undefined, error);
    if (said === undefined) setSentTo(email);
    else setRefusal(said);
  };
  const back = <Button onClick={onBack}>Back to sign-in</Button>;
  if (read.data?.serverSettings.sendsEmail === false) {
    return (
      <section aria-label="Forgot password">
        <h1>Forgot password</h1>
        <p>
          This server cannot send email. Contact an administrator of your organization. The operator of the server can
          create a link with which you can set a new password.
        </p>
        {back}
      </section>
    );
  }
  if (sentTo !== undefined) {
    return (
      <section aria-label="Forgot password">
        <h1>Check your email</h1>
        <p role="status">
          If there is an account for {sentTo}, we have sent a link to that address. It is valid for one hour.
        </p>
        {back}
      </section>
    );
  }
  return (
    <form onSubmit={submit} aria-label="Forgot password">
      <h1>Forgot password</h1>
      <p>Enter your email address to get a link for choosing a new password.</p>
      <TextField label="Email" name="email" type="email" autoComplete="username" required />
      <Refusal>{refusal}</Refusal>
      <Button kind="primary" type="submit" disabled={fetching}>
        Send link
      </Button>
      {back}
    </form>
  );
}
