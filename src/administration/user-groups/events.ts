import { z } from 'zod';
import type { GroupPermissionName } from '../../access/permissions/group-permissions.ts';
import { toWire, type WireUserGroup, wireUserGroup } from '../../access/permissions/wire.ts';
import type { SystemGroups } from '../../access/system-groups.ts';
import { type AuditAction, auditChanges } from '../../events/audit.ts';
import { defineEvent } from '../../events/define.ts';
import type { EventView } from '../../events/view.ts';
import { documentEvent } from '../../events/wire.ts';
import type { UserGroup } from '../../generated/prisma/client.ts';
import { isGuest } from '../../platform/roles.ts';

// All events about groups are sent to all users of the organization. Clients without the capability
// `include_deactivated_groups` cannot handle deactivated groups. If a group is deactivated, these clients receive its removal.
// They receive no events about the group while it is deactivated, and its addition when it is reactivated.

/**
 * The id of the group that an event is about, and whether the group was deactivated before the change. Some clients do not
 * receive events about deactivated groups.
 */
export interface Subject {
  readonly id: number;
  readonly isDeactivated: boolean;
}

const hides = ({ is_deactivated }: { readonly is_deactivated: boolean }, { options }: EventView): boolean =>
  is_deactivated && !options.capabilities.include_deactivated_groups;

/** A group in the payload of its events, without members and subgroups. */
export interface GroupSnapshot extends Omit<WireUserGroup, 'members' | 'direct_subgroup_ids' | 'date_created'> {
  /** Creation time in ISO 8601 with milliseconds. Null for a role group. */
  readonly createdAt: string | null;
}

export const toSnapshot = (groups: SystemGroups, group: UserGroup): GroupSnapshot => {
  const { members: _, direct_subgroup_ids: _ids, date_created: _date, ...facts } = toWire(groups, group, NOBODY);
  return { ...facts, createdAt: group.createdAt?.toISOString() ?? null };
};

const NOBODY = { memberIds: [], subgroupIds: [] };

/**
 * The group in an event: its snapshot, or only its id if the event does not contain the snapshot. Null for guests, who cannot
 * see groups.
 */
export interface GroupEventData {
  readonly group: GroupSnapshot | { readonly id: number } | null;
}

const known = (id: number, group: GroupSnapshot | undefined, { role }: EventView): GroupEventData => ({
  group: isGuest(role) ? null : (group ?? { id }),
});

interface AddedPayload {
  readonly group: WireUserGroup;
  readonly comes_back: boolean;
  /** Snapshot of the group, for its GraphQL fields. Absent in events of previous versions. */
  readonly facts?: GroupSnapshot;
}

/**
 * Event that a group was created or reactivated.
 *
 * @param comesBack Whether the group was reactivated. If so, only clients without `include_deactivated_groups` receive the
 *   event.
 */
export const userGroupAdded = defineEvent(
  'user_group',
  'add',
  (group: WireUserGroup, facts: GroupSnapshot, { comesBack = false } = {}): AddedPayload => ({
    ...{ group, comes_back: comesBack },
    facts,
  }),
  {
    audit: ({ id, name, members, direct_subgroup_ids }, _facts, { comesBack = false } = {}) =>
      comesBack
        ? undefined
        : {
            ...{ action: 'group_created', objectType: 'user_group', objectId: id, objectName: name },
            changes: { members: { new: members }, direct_subgroup_ids: { new: direct_subgroup_ids } },
          },
    facts: ({ group, facts }, view) => known(group.id, facts, view),
    render: ({ group, comes_back }, { options }) =>
      comes_back && options.capabilities.include_deactivated_groups ? null : { type: 'user_group', op: 'add', group },
  },
);

/** The changed fields of a group, with their new values. */
export type WireGroupChanges = Partial<
  Pick<WireUserGroup, 'name' | 'description' | 'deactivated' | GroupPermissionName>
>;

interface UpdatedPayload {
  readonly group_id: number;
  readonly data: WireGroupChanges;
  readonly is_deactivated: boolean;
  /** Snapshot of the group after the change. Absent in events of previous versions. */
  readonly facts?: GroupSnapshot;
}

function updateActionOf({ deactivated }: WireGroupChanges): AuditAction {
  if (deactivated === undefined) return 'group_changed';
  return deactivated ? 'group_deactivated' : 'group_reactivated';
}

/**
 * Event that a group changed, with all changed fields. If the group is deactivated, or the change deactivates or reactivates
 * it, clients without `include_deactivated_groups` do not receive the event.
 *
 * @param _before The group before the change, for the audit log.
 */
export const userGroupUpdated = defineEvent(
  'user_group',
  'update',
  (
    { id, isDeactivated }: Subject,
    data: WireGroupChanges,
    facts: GroupSnapshot,
    _before: GroupSnapshot,
  ): UpdatedPayload => ({
    group_id: id,
    data,
    is_deactivated: isDeactivated || data.deactivated !== undefined,
    facts,
  }),
  {
    audit: ({ id }, data, _facts, before) => ({
      action: updateActionOf(data),
      ...{ objectType: 'user_group', objectId: id, objectName: before.name },
      changes: auditChanges(before, data),
    }),
    facts: ({ group_id, facts }, view) => known(group_id, facts, view),
    render: (payload, view) => {
      const { group_id, data } = payload;
      return hides(payload, view) ? null : { type: 'user_group', op: 'update', group_id, data };
    },
  },
);

/** Event that a group was deactivated. Recipients: clients without `include_deactivated_groups`. */
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
      facts: ({ group_id, user_ids }, view): GroupEventData & { readonly userIds: readonly number[] } => ({
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
      facts: (
        { group_id, direct_subgroup_ids },
        view,
      ): GroupEventData & { readonly subgroupIds: readonly number[] } => ({
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

const EVERYONE = 'all users of the organization';
const { members: _members, direct_subgroup_ids: _ids, ...groupFields } = wireUserGroup.shape;
documentEvent(userGroupAdded, EVERYONE, { group: wireUserGroup });
documentEvent(userGroupUpdated, EVERYONE, {
  group_id: z.int(),
  data: z.strictObject(groupFields).partial().describe('Changed fields with their new values.'),
});
documentEvent(
  userGroupRemoved,
  'all users of the organization, at clients without the capability `include_deactivated_groups`',
  { group_id: z.int() },
);
for (const event of [groupMembersAdded, groupMembersRemoved]) {
  documentEvent(event, EVERYONE, { group_id: z.int(), user_ids: z.array(z.int()) });
}
for (const event of [subgroupsAdded, subgroupsRemoved]) {
  documentEvent(event, EVERYONE, { group_id: z.int(), direct_subgroup_ids: z.array(z.int()) });
}
