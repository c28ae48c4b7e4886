import { type FormEvent, useState } from 'react';
import { useClient } from 'urql';
import { mutate } from '../api/mutate.ts';
import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import { NOT_RETURNED, refusalIn } from '../base/refusals.ts';
import {
  BeginSecondFactorDocument,
  ConfirmSecondFactorDocument,
  RemoveSecondFactorDocument,
  ReplaceRecoveryCodesDocument,
  SecondFactorDocument,
} from '../generated/graphql.ts';
import { Button } from '../ui/button.tsx';
import { useClock } from '../ui/clock.ts';
import { Dialog, openDialog, useClose } from '../ui/dialog.tsx';
import { Refusal } from '../ui/form.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { notify } from '../ui/notices.tsx';
import { AppSecret, CodeField, RecoveryCodes } from '../ui/second-factor-parts.tsx';
import { FactorProofForm, type Proof } from './factor-proof.tsx';
import { Passkeys } from './passkeys.tsx';

/** The viewer's second factors, with buttons that add and remove them. */
export function SecondFactor() {
  const read = useData(SecondFactorDocument, {}, { requestPolicy: 'cache-and-network' });
  const { moment } = useClock();
  const factor = read.data?.ownSecondFactor;
  const reload = () => {
    if (read.state === 'ready') read.reload();
  };
  const count = (factor?.passkeys.length ?? 0) + (factor?.addedAt == null ? 0 : 1);
  const canRemove = factor?.isRequired !== true || count > 1;
  const proof = { hasPasskeys: (factor?.passkeys.length ?? 0) > 0 };
  const open = (title: string, content: React.ReactNode) => openDialog(<Dialog title={title}>{content}</Dialog>);
  return (
    <section className="form-section" aria-labelledby="second-factor-title">
      <h3 id="second-factor-title">Second factor</h3>
      <NotReady of={read} />
      {factor && (
        <>
          {count === 0 && (
            <p className="soft">
              {factor.isRequired
                ? 'Your organization requires a second factor. If you do not add one now, you must add it when you next sign in.'
                : 'With a second factor, a sign-in with your password also needs a passkey or a code from an authenticator app.'}
            </p>
          )}
          <Passkeys passkeys={factor.passkeys} hasFactor={count > 0} canRemove={canRemove} onChange={reload} />
          {factor.addedAt == null ? (
            <div>
              <Button onClick={() => open('Add a second factor', <Enrollment {...proof} onDone={reload} />)}>
                Add an authenticator app
              </Button>
            </div>
          ) : (
            <div className="row">
              <p className="row-body">{`Authenticator app, added ${moment(factor.addedAt)}.`}</p>
              {canRemove && (
                <Button
                  aria-label="Remove the authenticator app"
                  onClick={() =>
                    open('Remove the authenticator app?', <Removal isLast={count === 1} {...proof} onDone={reload} />)
                  }
                >
                  Remove
                </Button>
              )}
            </div>
          )}
          {count > 0 && (
            <div className="row">
              <p className="row-body">{`Recovery codes left: ${factor.recoveryCodesLeft}`}</p>
              <Button onClick={() => open('Replace the recovery codes?', <Replacement {...proof} onDone={reload} />)}>
                Replace recovery codes
              </Button>
            </div>
          )}
        </>
      )}
    </section>
  );
}

interface Props {
  readonly onDone: () => void;
}

interface ProofProps extends Props {
  /** Whether the user has passkeys, one of which can be used instead of a code. */
  readonly hasPasskeys: boolean;
}

/** Adds an authenticator app. Any other second factors are passkeys. */
function Enrollment({ hasPasskeys, onDone }: ProofProps) {
  const client = useClient();
  const close = useClose();
  const [app, setApp] = useState<{ readonly secret: string; readonly uri: string }>();
  const [codes, setCodes] = useState<readonly string[] | null>();
  const [refusal, setRefusal] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  if (codes !== undefined) return <RecoveryCodes codes={codes} onDone={close} />;
  const begin = async (proof: Partial<Proof>) => {
    setBusy(true);
    const { data, error } = await mutate(client, BeginSecondFactorDocument, { input: proof });
    setBusy(false);
    setRefusal(refusalIn(data ?? undefined, error));
    const result = data?.beginSecondFactor;
    if (result?.__typename !== 'BeginSecondFactorPayload') return;
    const { secret, uri } = result;
    if (secret != null && uri != null) setApp({ secret, uri });
    else setRefusal(NOT_RETURNED.appSecret);
  };
  const confirm = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const code = String(new FormData(event.currentTarget).get('code'));
    const { data, error } = await mutate(client, ConfirmSecondFactorDocument, { input: { code } });
    setRefusal(refusalIn(data ?? undefined, error));
    const result = data?.confirmSecondFactor;
    if (result?.__typename !== 'ConfirmSecondFactorPayload') return;
    onDone();
    // Recovery codes are created only with the first factor.
    if (!hasPasskeys) setCodes(result.recoveryCodes ?? null);
    else {
      notify('The authenticator app was added.');
      close();
    }
  };
  return app === undefined ? (
    <FactorProofForm
      {...{ hasPasskeys, refusal, isBusy, ...(!hasPasskeys && { onPassword: begin }) }}
      label="Add a second factor"
      action="Continue"
      onProof={begin}
    />
  ) : (
    <form className="form" onSubmit={confirm} aria-label="Confirm the authenticator app">
      <AppSecret {...app} />
      <CodeField />
      <Refusal>{refusal}</Refusal>
      <div className="form-actions">
        <Button kind="primary" type="submit">
          Confirm
        </Button>
      </div>
    </form>
  );
}

function Replacement({ hasPasskeys, onDone }: ProofProps) {
  const close = useClose();
  const [codes, setCodes] = useState<readonly string[] | null>();
  const { run, refusal, isBusy } = useCommand(ReplaceRecoveryCodesDocument, ({ replaceRecoveryCodes: result }) => {
    if (result?.__typename === 'ReplaceRecoveryCodesPayload') setCodes(result.recoveryCodes ?? null);
  });
  if (codes !== undefined) return <RecoveryCodes codes={codes} onDone={close} />;
  return (
    <FactorProofForm
      {...{ hasPasskeys, refusal, isBusy }}
      label="Replace the recovery codes"
      action="Replace"
      onProof={async (proof) => {
        if (await run({ input: proof })) onDone();
      }}
    >
      <p>Your current recovery codes stop working.</p>
    </FactorProofForm>
  );
}

function Removal({ isLast, hasPasskeys, onDone }: ProofProps & { readonly isLast: boolean }) {
  const close = useClose();
  const { run, refusal, isBusy } = useCommand(RemoveSecondFactorDocument);
  return (
    <FactorProofForm
      {...{ hasPasskeys, refusal, isBusy }}
      label="Remove the second factor"
      action="Remove"
      onProof={async (proof) => {
        if (!(await run({ input: proof }))) return;
        notify('The authenticator app was removed.');
        onDone();
        close();
      }}
    >
      {isLast && <p>You can then sign in with your password alone.</p>}
    </FactorProofForm>
  );
}
