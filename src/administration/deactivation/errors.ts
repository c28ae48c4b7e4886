import { defineError } from '../../platform/errors.ts';

/**
 * The error for a viewer who cannot be deactivated. `entity` is "user" for the only active user, and "organization owner" for
 * the only owner.
 */
export class CannotDeactivateLastUserError extends defineError(
  'CANNOT_DEACTIVATE_LAST_USER',
  (entity: 'organization owner' | 'user') => ({
    message: `Cannot deactivate the only ${entity}.`,
    data: { is_last_owner: entity === 'organization owner', entity },
  }),
) {}
