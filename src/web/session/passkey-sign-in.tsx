import { useState } from 'react';
import { useClient } from 'urql';
import { mutate } from '../api/mutate.ts';
import { passkeyProblem, requestPasskey } from '../base/passkeys.ts';
import { refusalIn } from '../base/refusals.ts';
import { BeginPasskeySignInDocument, CompletePasskeySignInDocument } from '../generated/graphql.ts';
import { Button } from '../ui/button.tsx';
import { Refusal } from '../ui/form.tsx';
import { renewSession } from './session.ts';

/** Button that signs in with a passkey alone. Absent if passkeys do not work on this page. */
export function PasskeySignIn() {
  const client = useClient();
  const [refusal, setRefusal] = useState<string>();
  if (passkeyProblem() !== undefined) return null;
  const signIn = async () => {
    setRefusal(undefined);
    const begun = await mutate(client, BeginPasskeySignInDocument, {});
    const begin = begun.data?.beginPasskeySignIn;
    if (begin?.__typename !== 'BeginPasskeySignInPayload' || begin.options == null) {
      return setRefusal(refusalIn(begun.data, begun.error));
    }
    const passkey = await requestPasskey(begin.options);
    if (passkey.response === undefined) return setRefusal(passkey.refusal);
    const { response } = passkey;
    const { data, error } = await mutate(client, CompletePasskeySignInDocument, { input: { response } });
    if (data?.completePasskeySignIn?.__typename === 'CompletePasskeySignInPayload') renewSession();
    else setRefusal(refusalIn(data, error));
  };
  return (
    <section aria-label="Passkey">
      <Button onClick={() => void signIn()}>Sign in with a passkey</Button>
      <Refusal>{refusal}</Refusal>
    </section>
  );
}
