import { type FormEvent, useEffect, useState } from 'react';
import { useMutation } from 'urql';
import { useData } from '../api/use-data.ts';
import { useStore } from '../base/store.ts';
import { SignInDocument, SignInPageDocument } from '../generated/graphql.ts';
import { endedBy } from '../live/engine.ts';
import { Button } from '../ui/button.tsx';
import { DemoPeople } from './demo-people.tsx';
import { ExternalMethods } from './external-methods.tsx';
import { ForgotPassword } from './forgot-password.tsx';
import { PasskeySignIn } from './passkey-sign-in.tsx';
import { type FirstStep, SecondStep } from './second-step.tsx';
import { leftProvider, renewSession } from './session.ts';
import './sign-in.css';
import { isStartRefused } from './start-address.ts';

const SIGNED_OUT =
  'You were signed out because your session was ended on another device or your password was changed. ' +
  'Sign in again to continue. Your drafts and unsent messages are kept in this tab.';
/** Messages about a session that ended while the page was open, by error code. */
const ENDED: Readonly<Record<string, string | undefined>> = {
  USER_DEACTIVATED:
    'You were signed out because your account was deactivated. Contact an administrator of the organization.',
  REALM_DEACTIVATED: 'You were signed out because the organization was deactivated.',
};

/** Links with which visitors create an account or an organization, where these are permitted. */
function OtherWays() {
  const read = useData(SignInPageDocument, {});
  const { acceptsSignUps = false, allowsOrganizationCreation = false } = read.data?.serverSettings ?? {};
  if (!acceptsSignUps && !allowsOrganizationCreation) return null;
  return (
    <p className="sign-in-more">
      {acceptsSignUps && <a href="/sign-up">Create an account</a>}
      {acceptsSignUps && allowsOrganizationCreation && ' · '}
      {allowsOrganizationCreation && <a href="/new-organization">Create an organization</a>}
    </p>
  );
}

/** Name and icon of the organization. Its space is reserved while it is loading. */
function OrganizationHead() {
  const { data } = useData(SignInPageDocument, {});
  const organization = data?.serverSettings.organization;
  useEffect(() => {
    document.title = organization ? `Sign in · ${organization.name}` : 'Sign in';
  }, [organization]);
  return (
    <header className="sign-in-head">
      {organization && (
        <>
          <img className="avatar" src={organization.icon} alt="" width={48} height={48} />
          <p>{organization.name}</p>
        </>
      )}
    </header>
  );
}

/** Offers the sign-out at the provider to a person who has signed out of the chat. */
function LeftProvider() {
  const provider = useStore(leftProvider);
  if (provider == null) return null;
  return (
    <p role="status" className="sign-in-note">
      You are signed out here, but may still be signed in at the provider of “{provider.name}”.{' '}
      <a href={provider.path}>Sign out of the provider</a>
    </p>
  );
}

/** Page that is shown to users who are not signed in. */
export function SignIn() {
  const isRefused = useStore(isStartRefused);
  const ended = useStore(endedBy);
  const [refusal, setRefusal] = useState<string>();
  const [isForgotten, setForgotten] = useState(false);
  const [first, setFirst] = useState<FirstStep>();
  const [{ fetching }, signIn] = useMutation(SignInDocument);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setRefusal(undefined);
    const form = new FormData(event.currentTarget);
    const input = { username: String(form.get('email')), password: String(form.get('password')) };
    const { data, error } = await signIn({ input });
    const result = data?.signIn;
    if (result?.__typename === 'SignInPayload') renewSession();
    else if (result?.__typename === 'SecondFactorRequiredError') setFirst(result);
    else if (result != null && 'message' in result) setRefusal(result.message);
    else setRefusal(error?.graphQLErrors[0]?.message ?? 'The server is not responding. Try again in a moment.');
  };
  const isFirst = first === undefined && !isForgotten;
  return (
    <main className="sign-in">
      <div className="sign-in-card">
        <OrganizationHead />
        {ended !== undefined && (
          <p role="alert" className="sign-in-note">
            {ENDED[ended] ?? SIGNED_OUT}
          </p>
        )}
        <LeftProvider />
        {isRefused && (
          <p role="alert" className="sign-in-error">
            This start address is not valid for this server. Open the address that the server printed when it started.
          </p>
        )}
        {first !== undefined ? (
          <SecondStep first={first} onBack={() => setFirst(undefined)} />
        ) : isForgotten ? (
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
        {isFirst && <PasskeySignIn />}
        {isFirst && <ExternalMethods />}
        {isFirst && <OtherWays />}
        {first === undefined && <DemoPeople />}
        <p className="sign-in-more">
          <a href="/developers">For developers</a>
        </p>
      </div>
    </main>
  );
}
