import { type FormEvent, useState } from 'react';
import { useMutation } from 'urql';
import { useStore } from '../base/store.ts';
import { SignInDocument } from '../generated/graphql.ts';
import { endedBy } from '../live/engine.ts';
import { Button } from '../ui/button.tsx';
import { DemoPeople } from './demo-people.tsx';
import { ForgotPassword } from './forgot-password.tsx';
import { renewSession } from './session.ts';
import './sign-in.css';
import { isStartRefused } from './start-address.ts';

const SIGNED_OUT =
  'You were signed out because the session was ended on another device or your password was changed. ' +
  'Sign in again to continue. Your drafts and unsent messages are kept in this tab.';
/** Messages about a session that ended while the page was open, by error code. */
const ENDED: Readonly<Record<string, string | undefined>> = {
  USER_DEACTIVATED:
    'You were signed out because your account was deactivated. Contact an administrator of the organization.',
  REALM_DEACTIVATED: 'You were signed out because the organization was deactivated.',
};

/** Page that is shown to users who are not signed in. */
export function SignIn() {
  const isRefused = useStore(isStartRefused);
  const ended = useStore(endedBy);
  const [refusal, setRefusal] = useState<string>();
  const [isForgotten, setForgotten] = useState(false);
  const [{ fetching }, signIn] = useMutation(SignInDocument);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setRefusal(undefined);
    const form = new FormData(event.currentTarget);
    const input = { username: String(form.get('email')), password: String(form.get('password')) };
    const { data, error } = await signIn({ input });
    const result = data?.signIn;
    if (result?.__typename === 'SignInPayload') renewSession();
    else if (result != null && 'message' in result) setRefusal(result.message);
    else setRefusal(error?.graphQLErrors[0]?.message ?? 'The service does not respond. Try again in a moment.');
  };
  return (
    <main className="sign-in">
      <div className="sign-in-card">
        {ended !== undefined && (
          <p role="alert" className="sign-in-note">
            {ENDED[ended] ?? SIGNED_OUT}
          </p>
        )}
        {isRefused && (
          <p role="alert" className="sign-in-error">
            This start address is not valid for this server. Open the address that the server printed when it started.
          </p>
        )}
        {isForgotten ? (
          <ForgotPassword onBack={() => setForgotten(false)} />
        ) : (
          <form onSubmit={submit}>
            <h1>Sign in</h1>
            <label className="field">
              <span>Email</span>
              <input className="input" name="email" type="email" autoComplete="username" required />
            </label>
            <label className="field">
              <span>Password</span>
              <input className="input" name="password" type="password" autoComplete="current-password" required />
            </label>
            {refusal !== undefined && (
              <p role="alert" className="sign-in-error">
                {refusal}
              </p>
            )}
            <Button kind="primary" type="submit" disabled={fetching}>
              Sign in
            </Button>
            <Button kind="quiet" onClick={() => setForgotten(true)}>
              Forgot password?
            </Button>
          </form>
        )}
        <DemoPeople />
        <p className="sign-in-more">
          <a href="/developers">For developers</a>
        </p>
      </div>
    </main>
  );
}
