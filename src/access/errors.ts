import { defineError } from '../platform/errors.ts';

/** No credentials, or none that can be read. */
export class UnauthorizedError extends defineError(
  'UNAUTHORIZED',
  (text?: string) => ({ message: text ?? 'Not logged in: API authentication required' }),
  { status: 401 },
) {}

/** Credentials that fit no account: one answer for an unknown address and a wrong key. */
export class InvalidApiKeyError extends defineError('INVALID_API_KEY', () => ({ message: 'Invalid API key' }), {
  status: 401,
}) {}

/** The right credentials of an account that is deactivated. */
export class UserDeactivatedError extends defineError(
  'USER_DEACTIVATED',
  () => ({ message: 'Account is deactivated' }),
  { status: 401 },
) {}

/** The right credentials in an organisation that is deactivated. */
export class RealmDeactivatedError extends defineError(
  'REALM_DEACTIVATED',
  () => ({ message: 'This organization has been deactivated' }),
  { status: 401 },
) {}
