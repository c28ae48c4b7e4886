import { defineError } from '../../platform/errors.ts';

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
