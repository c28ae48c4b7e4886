import { defineError } from '../../platform/errors.ts';

/**
 * The error if the viewer cannot be deactivated: `entity` is "user" for the last user, "organization owner" for the last owner.
 */
export class CannotDeactivateLastUserError extends defineError(
  'CANNOT_DEACTIVATE_LAST_USER',
  (entity: 'organization owner' | 'user') => ({
    message: `Cannot deactivate the only ${entity}.`,
    data: { is_last_owner: entity === 'organization owner', entity },
  }),
) {}
