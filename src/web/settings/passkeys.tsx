import { type FormEvent, useState } from 'react';
import { useClient } from 'urql';
import { mutate } from '../api/mutate.ts';
import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import { createPasskey, passkeyProblem } from '../base/passkeys.ts';
import { refusalIn } from '../base/refusals.ts';
import {
  AddPasskeyDocument,
  BeginPasskeyDocument,
  type PasskeyLineFragment,
  RemovePasskeyDocument,
  RenamePasskeyDocument,
  SecondFactorDocument,
} from '../generated/graphql.ts';
import { Button } from '../ui/button.tsx';
import { useClock } from '../ui/clock.ts';
import { Dialog, openDialog, useClose } from '../ui/dialog.tsx';
import { Refusal, TextField } from '../ui/form.tsx';
import { notify } from '../ui/notices.tsx';
import { RecoveryCodes } from '../ui/second-factor-parts.tsx';
import { FactorProofForm, type Proof } from './factor-proof.tsx';

interface Props {
  readonly passkeys: readonly PasskeyLineFragment[];
  /** Whether the user has a second factor: a passkey or an authenticator app. */
  readonly hasFactor: boolean;
  /** Whether the user can remove a passkey: not the last second factor if one is required. */
  readonly canRemove: boolean;
  readonly onChange: () => void;
}

/** The viewer's passkeys, with buttons that add, rename and remove them. */
export function Passkeys({ passkeys, hasFactor, canRemove, onChange }: Props) {
  const problem = passkeyProblem();
  const { data } = useData(SecondFactorDocument, {});
  const max = data?.serverSettings.totals.maxPasskeys ?? 0;
  const open = (title: string, content: React.ReactNode) => openDialog(<Dialog title={title}>{content}</Dialog>);
  return (
    <>
      {passkeys.length > 0 && (
        <ul className="plain-list" aria-label="Passkeys">
          {passkeys.map((passkey) => (
            <PasskeyRow key={passkey.credentialId} passkey={passkey} canRemove={canRemove} onChange={onChange} />
          ))}
        </ul>
      )}
      {problem !== undefined && <p className="soft">{problem}</p>}
      {problem === undefined && passkeys.length < max && (
        <div>
          <Button
            onClick={() =>
              open('Add a passkey', <Addition {...{ hasFactor }} hasPasskeys={passkeys.length > 0} onDone={onChange} />)
            }
          >
            Add a passkey
          </Button>
        </div>
      )}
    </>
  );
}

interface RowProps extends Pick<Props, 'canRemove' | 'onChange'> {
  readonly passkey: PasskeyLineFragment;
}

function PasskeyRow({ passkey, canRemove, onChange }: RowProps) {
  const { moment } = useClock();
  const { name, createdAt, lastUsedAt, isBackedUp } = passkey;
  const open = (title: string, content: React.ReactNode) => openDialog(<Dialog title={title}>{content}</Dialog>);
  return (
    <li className="row">
      <div className="row-body">
        <strong>
          <bdi>{name}</bdi>
        </strong>
        <p className="soft">
          {`Passkey, added ${moment(createdAt)}. `}
          {lastUsedAt == null ? 'Never used.' : `Last used ${moment(lastUsedAt)}.`}
          {!isBackedUp && ' On one device only.'}
        </p>
      </div>
      <div className="row-actions">
        <Button
          aria-label={`Rename ${name}`}
          onClick={() => open(`Rename ${name}`, <Renaming passkey={passkey} onDone={onChange} />)}
        >
          Rename
        </Button>
        {canRemove && (
          <Button
            aria-label={`Remove ${name}`}
            onClick={() => open(`Remove ${name}?`, <Removal passkey={passkey} onDone={onChange} />)}
          >
            Remove
          </Button>
        )}
      </div>
    </li>
  );
}

interface FormProps {
  readonly onDone: () => void;
}

interface AdditionProps extends FormProps, Pick<Props, 'hasFactor'> {
  readonly hasPasskeys: boolean;
}

function Addition({ hasFactor, hasPasskeys, onDone }: AdditionProps) {
  const client = useClient();
  const close = useClose();
  const [codes, setCodes] = useState<readonly string[]>();
  const [refusal, setRefusal] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  if (codes !== undefined) return <RecoveryCodes codes={codes} onDone={close} />;
  const add = async (proof: Partial<Proof>, fields: FormData) => {
    const begun = await mutate(client, BeginPasskeyDocument, { input: proof });
    const begin = begun.data?.beginPasskey;
    if (begin?.__typename !== 'BeginPasskeyPayload' || begin.options == null) return refusalIn(begun.data, begun.error);
    const passkey = await createPasskey(begin.options);
    if (passkey.response === undefined) return passkey.refusal;
    const input = { name: String(fields.get('name')), response: passkey.response };
    const { data, error } = await mutate(client, AddPasskeyDocument, { input });
    const result = data?.addPasskey;
    if (result?.__typename !== 'AddPasskeyPayload') return refusalIn(data, error);
    onDone();
    if (result.recoveryCodes != null) setCodes(result.recoveryCodes);
    else {
      notify('The passkey was added.');
      close();
    }
    return undefined;
  };
  const submit = async (proof: Partial<Proof>, fields: FormData) => {
    setRefusal(undefined);
    setBusy(true);
    setRefusal(await add(proof, fields));
    setBusy(false);
  };
  return (
    <FactorProofForm
      {...{ hasPasskeys, refusal, isBusy, ...(!hasFactor && { onPassword: submit }) }}
      label="Add a passkey"
      action="Continue"
      onProof={submit}
    >
      <p>
        A passkey is stored on this device, on a security key or in a password manager. You can use it to sign in
        without your password.
      </p>
      <TextField label="Name" name="name" required maxLength={100} defaultValue="Passkey" data-autofocus />
    </FactorProofForm>
  );
}

interface PasskeyFormProps extends FormProps {
  readonly passkey: PasskeyLineFragment;
}

function Renaming({ passkey: { credentialId, name: before }, onDone }: PasskeyFormProps) {
  const close = useClose();
  const { run, refusal, isBusy } = useCommand(RenamePasskeyDocument);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget).get('name'));
    if (!(await run({ input: { credentialId, name } }))) return;
    onDone();
    close();
  };
  return (
    <form className="form" onSubmit={submit} aria-label="Rename a passkey">
      <TextField label="Name" name="name" required maxLength={100} defaultValue={before} data-autofocus />
      <Refusal>{refusal}</Refusal>
      <div className="form-actions">
        <Button kind="primary" type="submit" disabled={isBusy}>
          Rename
        </Button>
      </div>
    </form>
  );
}

function Removal({ passkey: { credentialId }, onDone }: PasskeyFormProps) {
  const close = useClose();
  const { run, refusal, isBusy } = useCommand(RemovePasskeyDocument);
  return (
    <FactorProofForm
      label="Remove the passkey"
      action="Remove"
      hasPasskeys
      refusal={refusal}
      isBusy={isBusy}
      onProof={async (proof) => {
        if (!(await run({ input: { credentialId, ...proof } }))) return;
        notify('The passkey was removed.');
        onDone();
        close();
      }}
    >
      <p>Delete the passkey in the password manager or on the device as well.</p>
    </FactorProofForm>
  );
}
