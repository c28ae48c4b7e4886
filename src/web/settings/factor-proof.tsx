import { type FormEvent, type ReactNode, useRef, useState } from 'react';
import { useClient } from 'urql';
import { mutate } from '../api/mutate.ts';
import { passkeyProblem, requestPasskey } from '../base/passkeys.ts';
import { refusalIn } from '../base/refusals.ts';
import { BeginPasskeyProofDocument, type FactorProofInput } from '../generated/graphql.ts';
import { Button } from '../ui/button.tsx';
import { PasswordField, passwordIn, Refusal } from '../ui/form.tsx';
import { CodeField } from '../ui/second-factor-parts.tsx';

/** Proof with the second factor and, if it was entered, the password. */
export interface Proof {
  readonly proof: FactorProofInput;
  readonly currentPassword?: string;
}

interface Props {
  /** Name of the form for screen readers. */
  readonly label: string;
  /** Label of the button that sends the code. */
  readonly action: string;
  /** Whether the user has passkeys, one of which can be used instead of a code. */
  readonly hasPasskeys: boolean;
  readonly refusal: string | undefined;
  readonly isBusy: boolean;
  /** @param fields Values of the form, with those of `children`. */
  readonly onProof: (proof: Proof, fields: FormData) => Promise<void>;
  /** Called instead of `onProof` for a user without a second factor. The form then has no field for a code. */
  readonly onPassword?: (password: Omit<Proof, 'proof'>, fields: FormData) => Promise<void>;
  /** The consequences of the change, and further fields. */
  readonly children?: ReactNode;
}

/** Form for a change that needs the second factor of a user who has one: a code, or the use of a passkey. */
export function FactorProofForm(props: Props) {
  const { label, action, hasPasskeys, refusal, isBusy, onProof, onPassword, children } = props;
  const client = useClient();
  const form = useRef<HTMLFormElement>(null);
  const [ownRefusal, setOwnRefusal] = useState<string>();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    setOwnRefusal(undefined);
    const password = passwordIn(fields);
    if (onPassword !== undefined) return onPassword(password, fields);
    await onProof({ proof: { code: String(fields.get('code')) }, ...password }, fields);
  };
  const applyPasskey = async () => {
    if (form.current === null) return;
    const fields = new FormData(form.current);
    const { data, error } = await mutate(client, BeginPasskeyProofDocument, {});
    const begun = data?.beginPasskeyProof;
    if (begun?.__typename !== 'BeginPasskeyProofPayload' || begun.options == null) {
      return setOwnRefusal(refusalIn(data, error));
    }
    const passkey = await requestPasskey(begun.options);
    setOwnRefusal(passkey.refusal);
    if (passkey.response === undefined) return;
    await onProof({ proof: { passkey: passkey.response }, ...passwordIn(fields) }, fields);
  };
  return (
    <form className="form" ref={form} onSubmit={submit} aria-label={label}>
      {children}
      {onPassword === undefined && <CodeField label="Code, or a recovery code" />}
      <PasswordField />
      <Refusal>{ownRefusal ?? refusal}</Refusal>
      <div className="form-actions">
        {onPassword === undefined && hasPasskeys && passkeyProblem() === undefined && (
          <Button disabled={isBusy} onClick={() => void applyPasskey()}>
            Use a passkey instead
          </Button>
        )}
        <Button kind="primary" type="submit" disabled={isBusy}>
          {action}
        </Button>
      </div>
    </form>
  );
}
