import { defineError } from '../../platform/errors.ts';
import { BROWSER_LOGIN_PATH } from '../identity-providers.ts';

/** The error for a user name and a password that match no account. */
export class AuthenticationFailedError extends defineError(
  'AUTHENTICATION_FAILED',
  () => ({ message: 'Your username or password is incorrect' }),
  { status: 401 },
) {}

/** The error for an action that requires proof of identity, if the user signed in to the session more than ten minutes ago. */
export class PasswordRequiredError extends defineError(
  'PASSWORD_REQUIRED',
  /** @param parameter Name of the parameter for the current password, if the request has one. */
  (parameter?: string) => ({ message: 'Give your current password, or sign in again', parameter }),
  { status: 403 },
) {}

/** The error for a correct password of an account that needs a second factor, at an endpoint that returns API keys. */
export class PasswordAuthDisabledError extends defineError(
  'PASSWORD_AUTH_DISABLED',
  () => ({
    message: 'This account needs a second factor. Sign in through the browser.',
    data: { login_url: BROWSER_LOGIN_PATH },
  }),
  { status: 401 },
) {}

const messageFor = (passkeyOptions: string | null): string =>
  passkeyOptions === null
    ? 'Enter the code of your authenticator app, or a recovery code.'
    : 'Use a passkey, or enter the code of your authenticator app or a recovery code.';

/** The error for a correct password of an account that needs a second factor, if a browser signs in. */
export class SecondFactorRequiredError extends defineError(
  'SECOND_FACTOR_REQUIRED',
  /**
   * @param challenge Token with which the sign-in continues.
   * @param mustEnroll Whether the person has no second factor yet, and must add one.
   * @param passkeyOptions Options with which the browser uses a passkey, as JSON text. Null if the person has none.
   */
  (challenge: string, mustEnroll: boolean, passkeyOptions: string | null) => ({
    message: mustEnroll ? 'Add a second factor to sign in.' : messageFor(passkeyOptions),
    data: { challenge, must_enroll: mustEnroll, ...(passkeyOptions !== null && { passkey_options: passkeyOptions }) },
  }),
  { status: 403 },
) {}
