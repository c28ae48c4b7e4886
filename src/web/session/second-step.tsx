import { type FormEvent, useEffect, useState } from 'react';
import { useMutation } from 'urql';
import { createPasskey, type PasskeyResult, passkeyProblem, requestPasskey } from '../base/passkeys.ts';
import { NOT_RETURNED, refusalIn } from '../base/refusals.ts';
import {
  BeginPasskeyAtSignInDocument,
  BeginSecondFactorAtSignInDocument,
  CompleteSignInDocument,
  type FactorProofInput,
} from '../generated/graphql.ts';
import { Button } from '../ui/button.tsx';
import { Refusal } from '../ui/form.tsx';
import { AppSecret, CodeField, RecoveryCodes } from '../ui/second-factor-parts.tsx';
import { renewSession } from './session.ts';

/** The result of the first step of a sign-in. */
export interface FirstStep {
  readonly challenge: string;
  /** Whether the person must add a second factor. */
  readonly mustEnroll: boolean;
  /** Options with which the browser uses a passkey. Absent if the person has none. */
  readonly passkeyOptions?: string | null;
}

/** Second step of a sign-in: a passkey, or the code of an authenticator app. A person without a second factor adds one here. */
export function SecondStep({ first, onBack }: { readonly first: FirstStep; readonly onBack: () => void }) {
  const { challenge, mustEnroll, passkeyOptions } = first;
  const [refusal, setRefusal] = useState<string>();
  const [codes, setCodes] = useState<readonly string[] | null>();
  const [app, setApp] = useState<{ readonly secret: string; readonly uri: string }>();
  const [{ fetching }, complete] = useMutation(CompleteSignInDocument);
  const [, begin] = useMutation(BeginSecondFactorAtSignInDocument);
  const [, beginPasskey] = useMutation(BeginPasskeyAtSignInDocument);
  useEffect(() => {
    if (!mustEnroll) return;
    void begin({ input: { challenge } }).then(({ data, error }) => {
      setRefusal(refusalIn(data ?? undefined, error));
      const result = data?.beginSecondFactorAtSignIn;
      if (result?.__typename !== 'BeginSecondFactorAtSignInPayload') return;
      const { secret, uri } = result;
      if (secret != null && uri != null) setApp({ secret, uri });
      else setRefusal(NOT_RETURNED.appSecret);
    });
  }, [mustEnroll, challenge, begin]);
  if (codes !== undefined) return <RecoveryCodes codes={codes} onDone={renewSession} />;
  const finish = async (proof: FactorProofInput) => {
    const { data, error } = await complete({ input: { challenge, proof } });
    const result = data?.completeSignIn;
    if (result?.__typename !== 'CompleteSignInPayload') setRefusal(refusalIn(data ?? undefined, error));
    else if (mustEnroll) setCodes(result.recoveryCodes ?? null);
    else renewSession();
  };
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setRefusal(undefined);
    await finish({ code: String(new FormData(event.currentTarget).get('code')) });
  };
  const finishWith = async (asked: Promise<PasskeyResult>) => {
    const passkey = await asked;
    setRefusal(passkey.refusal);
    if (passkey.response !== undefined) await finish({ passkey: passkey.response });
  };
  const addPasskey = async () => {
    const { data, error } = await beginPasskey({ input: { challenge } });
    const result = data?.beginPasskeyAtSignIn;
    if (result?.__typename !== 'BeginPasskeyAtSignInPayload' || result.options == null) {
      setRefusal(refusalIn(data ?? undefined, error));
    } else {
      await finishWith(createPasskey(result.options));
    }
  };
  return (
    <form onSubmit={submit} aria-label="Second step">
      <h1>
        {mustEnroll ? 'Add a second factor' : passkeyOptions != null ? 'Use your second factor' : 'Enter your code'}
      </h1>
      {mustEnroll ? (
        <>
          <p>Your organization requires a second factor.</p>
          {passkeyProblem() === undefined && (
            <>
              <Button onClick={() => void addPasskey()}>Add a passkey</Button>
              <p>Or add an authenticator app.</p>
            </>
          )}
          {app !== undefined && <AppSecret {...app} />}
        </>
      ) : (
        <>
          {passkeyOptions != null && (
            <Button kind="primary" onClick={() => void finishWith(requestPasskey(passkeyOptions))}>
              Use a passkey
            </Button>
          )}
          <p>{`${passkeyOptions != null ? 'Or enter' : 'Enter'} the code that your authenticator app shows, or one of your recovery codes.`}</p>
        </>
      )}
      <CodeField />
      <Refusal>{refusal}</Refusal>
      <Button kind={passkeyOptions != null ? 'plain' : 'primary'} type="submit" disabled={fetching}>
        Sign in
      </Button>
      <Button kind="quiet" onClick={onBack}>
        Back
      </Button>
    </form>
  );
}
