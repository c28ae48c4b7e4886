import type { GroupPermissionName } from '../../access/permissions/group-permissions.ts';
import type { WireUserGroup } from '../../access/permissions/wire.ts';
import { defineEvent } from '../../events/define.ts';
import type { EventView } from '../../events/view.ts';

// All go to everyone of the organisation. A client without the capability `include_deactivated_groups` knows no
// deactivated group: to it a group is removed when it is deactivated, added when it comes back, and nothing is heard of
// it in between.

/** What an event needs to know of the group it is about. */
export interface Subject {
  readonly id: number;
  readonly isDeactivated: boolean;
}

const hides = ({ is_deactivated }: { readonly is_deactivated: boolean }, { options }: EventView): boolean =>
  is_deactivated && !options.capabilities.include_deactivated_groups;

/** @param comesBack Whether the group was deactivated: then it is new to those alone who did not know it. */
export const userGroupAdded = defineEvent(
  'user_group',
  'add',
  (group: WireUserGroup, { comesBack = false } = {}) => ({ group, comes_back: comesBack }),
  {
    render: ({ group, comes_back }, { options }) =>
      comes_back && options.capabilities.include_deactivated_groups ? null : { type: 'user_group', op: 'add', group },
  },
);

/** The changed fields with their new values. */
export type WireGroupChanges = Partial<
  Pick<WireUserGroup, 'name' | 'description' | 'deactivated' | GroupPermissionName>
>;

/** One event for one act, with only what changed. Of a group that is deactivated, or comes or goes by this change. */
export const userGroupUpdated = defineEvent(
  'user_group',
  'update',
  ({ id, isDeactivated }: Subject, data: WireGroupChanges) => ({
    group_id: id,
    data,
    is_deactivated: isDeactivated || data.deactivated !== undefined,
  }),
  {
    render: (payload, view) => {
      const { group_id, data } = payload;
      return hides(payload, view) ? null : { type: 'user_group', op: 'update', group_id, data };
    },
  },
);

/** For those who know no deactivated groups. */
export const userGroupRemoved = defineEvent('user_group', 'remove', (groupId: number) => ({ group_id: groupId }), {
  render: ({ group_id }, { options }) =>
    options.capabilities.include_deactivated_groups ? null : { type: 'user_group', op: 'remove', group_id },
});

const defineMembersEvent = (op: 'add_members' | 'remove_members') =>
  defineEvent(
    'user_group',
    op,
    ({ id, isDeactivated }: Subject, userIds: readonly number[]) => ({
      group_id: id,
      user_ids: userIds,
      is_deactivated: isDeactivated,
    }),
    {
      render: (payload, view) => {
        const { group_id, user_ids } = payload;
        return hides(payload, view) ? null : { type: 'user_group', op, group_id, user_ids };
      },
    },
  );

export const groupMembersAdded = defineMembersEvent('add_members');
export const groupMembersRemoved = defineMembersEvent('remove_members');

const defineSubgroupsEvent = (op: 'add_subgroups' | 'remove_subgroups') =>
  defineEvent(
    'user_group',
    op,
    ({ id, isDeactivated }: Subject, subgroupIds: readonly number[]) => ({
      group_id: id,
      direct_subgroup_ids: subgroupIds,
      is_deactivated: isDeactivated,
    }),
    {
      render: (payload, view) => {
        const { group_id, direct_subgroup_ids } = payload;
        return hides(payload, view) ? null : { type: 'user_group', op, group_id, direct_subgroup_ids };
      },
    },
  );

export const subgroupsAdded = defineSubgroupsEvent('add_subgroups');
export const subgroupsRemoved = defineSubgroupsEvent('remove_subgroups');
