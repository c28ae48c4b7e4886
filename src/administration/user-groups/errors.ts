import { defineError } from '../../platform/errors.ts';

/** What uses a group, with the names of the permissions it holds there. */
export type GroupObjection =
  | { readonly type: 'subgroup'; readonly supergroup_ids: readonly number[] }
  | { readonly type: 'channel'; readonly channel_id: number; readonly settings: readonly string[] }
  | { readonly type: 'user_group'; readonly group_id: number; readonly settings: readonly string[] }
  | { readonly type: 'realm'; readonly settings: readonly string[] };

/** The group is within others, or holds permissions. */
export class CannotDeactivateGroupInUseError extends defineError(
  'CANNOT_DEACTIVATE_GROUP_IN_USE',
  (objections: readonly GroupObjection[]) => ({
    message: 'Cannot deactivate user group in use.',
    data: { objections },
  }),
) {}
