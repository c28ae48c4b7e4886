import { NOT_RETURNED } from '../base/refusals.ts';
import { Button } from './button.tsx';
import { Refusal, TextField } from './form.tsx';
import { QrCode } from './qr-code.tsx';

/** The secret that a person adds to an authenticator app, as a QR code and as text. */
export function AppSecret({ secret, uri }: { readonly secret: string; readonly uri: string }) {
  return (
    <>
      <p>
        Scan this QR code with an authenticator app, or enter the secret in the app. Then enter the code that the app
        shows.
      </p>
      <QrCode text={uri} label="QR code for the authenticator app" />
      <TextField label="Secret" readOnly value={secret} onFocus={(event) => event.currentTarget.select()} />
    </>
  );
}

/** Field for a code of an authenticator app. */
export function CodeField({ label = 'Code' }: { readonly label?: string }) {
  return <TextField label={label} name="code" inputMode="text" autoComplete="one-time-code" required data-autofocus />;
}

interface RecoveryCodesProps {
  /** Null if the service did not return them. */
  readonly codes: readonly string[] | null;
  readonly onDone: () => void;
}

/** Recovery codes, which are shown only once. */
export function RecoveryCodes({ codes, onDone }: RecoveryCodesProps) {
  if (codes === null || codes.length === 0) {
    return (
      <section aria-label="Recovery codes">
        <Refusal>{NOT_RETURNED.recoveryCodes}</Refusal>
        <Button onClick={onDone}>Continue</Button>
      </section>
    );
  }
  return (
    <section aria-label="Recovery codes">
      <p>
        Keep these recovery codes in a safe place. Each can be used once to sign in without the second factor. They are
        not shown again.
      </p>
      <pre className="recovery-codes">{codes.join('\n')}</pre>
      <Button kind="primary" onClick={onDone}>
        I have saved the codes
      </Button>
    </section>
  );
}
