import { defineError } from '../../platform/errors.ts';

/** An object that uses a group, with the names of the permissions that the group holds on the object. */
export type GroupObjection =
  | { readonly type: 'subgroup'; readonly supergroup_ids: readonly number[] }
  | { readonly type: 'channel'; readonly channel_id: number; readonly settings: readonly string[] }
  | { readonly type: 'user_group'; readonly group_id: number; readonly settings: readonly string[] }
  | { readonly type: 'realm'; readonly settings: readonly string[] };

/** The error for a group that cannot be deactivated, because it is a subgroup of other groups or holds permissions. */
export class CannotDeactivateGroupInUseError extends defineError(
  'CANNOT_DEACTIVATE_GROUP_IN_USE',
  (objections: readonly GroupObjection[]) => ({
    message: 'Cannot deactivate user group in use.',
    data: { objections },
    parameter: 'user_group_id',
  }),
) {}
