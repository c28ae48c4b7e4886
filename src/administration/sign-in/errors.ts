import { defineError } from '../../platform/errors.ts';

/** User name and password fit no account. */
export class AuthenticationFailedError extends defineError(
  'AUTHENTICATION_FAILED',
  () => ({ message: 'Your username or password is incorrect' }),
  { status: 401 },
) {}
