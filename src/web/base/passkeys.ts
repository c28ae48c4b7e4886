/** Result of a request to the browser: its response as JSON text, or the reason why there is none. */
export type PasskeyResult =
  | { readonly response: string; readonly refusal?: undefined }
  | { readonly response?: undefined; readonly refusal: string };

const WRONG_ADDRESS = 'Passkeys do not work at this address. They need HTTPS and a host name, or localhost.';
const UNSUPPORTED = 'This browser does not support passkeys. Use another browser, or update it.';

/** Messages to the user about errors of the browser, by name. */
const REASONS: Readonly<Record<string, string>> = {
  NotAllowedError: 'The request was cancelled or timed out. Try again.',
  AbortError: 'The request was cancelled. Try again.',
  InvalidStateError: 'This device or security key already has a passkey for your account.',
  NotSupportedError: 'This device or security key does not support this kind of passkey.',
  SecurityError: WRONG_ADDRESS,
};

/** Returns the reason why passkeys do not work on this page. Undefined if they work. */
export function passkeyProblem(): string | undefined {
  // Browsers refuse passkeys for IP addresses.
  if (!window.isSecureContext || /^[\d.]+$|^\[/.test(window.location.hostname)) return WRONG_ADDRESS;
  const isSupported = 'PublicKeyCredential' in window && 'parseCreationOptionsFromJSON' in PublicKeyCredential;
  return isSupported ? undefined : UNSUPPORTED;
}

/** Asks the user to create a passkey. @param options Options of the service, as JSON text. */
export const createPasskey = (options: string): Promise<PasskeyResult> =>
  asking(() =>
    navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(JSON.parse(options)) }),
  );

/** Asks the user for a passkey. @param options Options of the service, as JSON text. */
export const requestPasskey = (options: string): Promise<PasskeyResult> =>
  asking(() =>
    navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(JSON.parse(options)) }),
  );

async function asking(ask: () => Promise<Credential | null>): Promise<PasskeyResult> {
  const refusal = passkeyProblem();
  if (refusal !== undefined) return { refusal };
  try {
    const credential = await ask();
    return credential === null ? { refusal: UNSUPPORTED } : { response: JSON.stringify(credential) };
  } catch (error) {
    return { refusal: (error instanceof Error ? REASONS[error.name] : undefined) ?? UNSUPPORTED };
  }
}
