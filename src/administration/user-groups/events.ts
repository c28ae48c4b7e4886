import { z } from 'zod';
import type { GroupPermissionName } from '../../access/permissions/group-permissions.ts';
import type { SystemGroups } from '../../access/permissions/system-groups.ts';
import { toWire, type WireUserGroup, wireUserGroup } from '../../access/permissions/wire.ts';
import { defineEvent } from '../../events/define.ts';
import type { EventView } from '../../events/view.ts';
import { tells } from '../../events/wire.ts';
import type { UserGroup } from '../../generated/prisma/client.ts';
import { isGuest } from '../../platform/roles.ts';

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

/** A group as its events keep it: what stands in itself. */
export interface GroupFacts extends Omit<WireUserGroup, 'members' | 'direct_subgroup_ids' | 'date_created'> {
  /** ISO 8601, to the millisecond; null for a role group. */
  readonly createdAt: string | null;
}

export const toFacts = (groups: SystemGroups, group: UserGroup): GroupFacts => {
  const { members: _, direct_subgroup_ids: _ids, date_created: _date, ...facts } = toWire(groups, group, NOBODY);
  return { ...facts, createdAt: group.createdAt?.toISOString() ?? null };
};

const NOBODY = { memberIds: [], subgroupIds: [] };

/** A group that an event is about, as far as the event knows it; to guests there is none, who see no groups. */
export interface KnownGroup {
  readonly group: GroupFacts | { readonly id: number } | null;
}

const known = (id: number, group: GroupFacts | undefined, { role }: EventView): KnownGroup => ({
  group: isGuest(role) ? null : (group ?? { id }),
});

interface AddedPayload {
  readonly group: WireUserGroup;
  readonly comes_back: boolean;
  /** Absent in events logged before they told it. */
  readonly facts?: GroupFacts;
}

/** @param comesBack Whether the group was deactivated: then it is new to those alone who did not know it. */
export const userGroupAdded = defineEvent(
  'user_group',
  'add',
  (group: WireUserGroup, facts: GroupFacts, { comesBack = false } = {}): AddedPayload => ({
    ...{ group, comes_back: comesBack },
    facts,
  }),
  {
    facts: ({ group, facts }, view) => known(group.id, facts, view),
    render: ({ group, comes_back }, { options }) =>
      comes_back && options.capabilities.include_deactivated_groups ? null : { type: 'user_group', op: 'add', group },
  },
);

/** The changed fields with their new values. */
export type WireGroupChanges = Partial<
  Pick<WireUserGroup, 'name' | 'description' | 'deactivated' | GroupPermissionName>
>;

interface UpdatedPayload {
  readonly group_id: number;
  readonly data: WireGroupChanges;
  readonly is_deactivated: boolean;
  /** As it is now; absent in events logged before they told it. */
  readonly facts?: GroupFacts;
}

/** One event for one act, that says what changed. Of a group that is deactivated, or comes or goes by this change. */
export const userGroupUpdated = defineEvent(
  'user_group',
  'update',
  ({ id, isDeactivated }: Subject, data: WireGroupChanges, facts: GroupFacts): UpdatedPayload => ({
    group_id: id,
    data,
    is_deactivated: isDeactivated || data.deactivated !== undefined,
    facts,
  }),
  {
    facts: ({ group_id, facts }, view) => known(group_id, facts, view),
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
      facts: ({ group_id, user_ids }, view): KnownGroup & { readonly userIds: readonly number[] } => ({
        ...known(group_id, undefined, view),
        userIds: isGuest(view.role) ? [] : user_ids,
      }),
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
      facts: ({ group_id, direct_subgroup_ids }, view): KnownGroup & { readonly subgroupIds: readonly number[] } => ({
        ...known(group_id, undefined, view),
        subgroupIds: isGuest(view.role) ? [] : direct_subgroup_ids,
      }),
      render: (payload, view) => {
        const { group_id, direct_subgroup_ids } = payload;
        return hides(payload, view) ? null : { type: 'user_group', op, group_id, direct_subgroup_ids };
      },
    },
  );

export const subgroupsAdded = defineSubgroupsEvent('add_subgroups');
export const subgroupsRemoved = defineSubgroupsEvent('remove_subgroups');

const EVERYONE = 'everyone';
const { members: _members, direct_subgroup_ids: _ids, ...groupFields } = wireUserGroup.shape;
tells(userGroupAdded, EVERYONE, { group: wireUserGroup });
tells(userGroupUpdated, EVERYONE, {
  group_id: z.int(),
  data: z.strictObject(groupFields).partial().describe('What changed, with its new value.'),
});
tells(userGroupRemoved, 'everyone whose client does not know `include_deactivated_groups`', { group_id: z.int() });
for (const event of [groupMembersAdded, groupMembersRemoved]) {
  tells(event, EVERYONE, { group_id: z.int(), user_ids: z.array(z.int()) });
}
for (const event of [subgroupsAdded, subgroupsRemoved]) {
  tells(event, EVERYONE, { group_id: z.int(), direct_subgroup_ids: z.array(z.int()) });
}
