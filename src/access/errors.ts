import { defineError } from '../platform/errors.ts';

/** The error for credentials that are missing or cannot be parsed. */
export class UnauthorizedError extends defineError(
  'UNAUTHORIZED',
  (text?: string) => ({ message: text ?? 'Not logged in: API authentication required' }),
  { status: 401 },
) {}

/**
 * The error for credentials that match no account. It does not reveal whether the email address is unknown or the key is wrong.
 */
export class InvalidApiKeyError extends defineError('INVALID_API_KEY', () => ({ message: 'Invalid API key' }), {
  status: 401,
}) {}

/** The error for valid credentials of a deactivated account. */
export class UserDeactivatedError extends defineError(
  'USER_DEACTIVATED',
  () => ({ message: 'Account is deactivated' }),
  { status: 401 },
) {}

/** The error for valid credentials in a deactivated organization. */
export class OrganizationDeactivatedError extends defineError(
  'REALM_DEACTIVATED',
  () => ({ message: 'This organization has been deactivated' }),
  { status: 401 },
) {}
