import { defineError } from '../../platform/errors.ts';

/** The viewer cannot be deactivated as the last user or the only owner. `entity` states which of the two applies. */
export class CannotDeactivateLastUserError extends defineError(
  'CANNOT_DEACTIVATE_LAST_USER',
  (entity: 'organization owner' | 'user') => ({
    message: `Cannot deactivate the only ${entity}.`,
    data: { is_last_owner: entity === 'organization owner', entity },
  }),
) {}
