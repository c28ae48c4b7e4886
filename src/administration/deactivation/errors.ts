import { defineError } from '../../platform/errors.ts';

/** The viewer cannot go: nobody would be left, or no owner: `entity` is what they are the last one of. */
export class CannotDeactivateLastUserError extends defineError(
  'CANNOT_DEACTIVATE_LAST_USER',
  (entity: 'organization owner' | 'user') => ({
    message: `Cannot deactivate the only ${entity}.`,
    data: { is_last_owner: entity === 'organization owner', entity },
  }),
) {}
