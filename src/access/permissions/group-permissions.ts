import type { Prisma, UserGroup } from '../../generated/prisma/client.ts';
import { type GroupRule, type GroupSettings, isSameSetting } from '../permission-values.ts';
import type { SystemGroupName, SystemGroups } from '../system-groups.ts';
import { type GroupSetting, roleGroup, toWireGroupSetting, type WireGroupSetting } from '../system-groups.ts';
import { isInGroup } from './membership.ts';
import { type ChannelActor, mayInOrganization } from './require.ts';

interface GroupPermission extends GroupRule {
  /** The holder of the permission in a new group: a role group, or only the group's creator. */
  readonly initial: SystemGroupName | 'creator';
}

/** Every permission of a group, by its wire name. Each can be left without a holder. */
export const GROUP_PERMISSIONS = {
  can_add_members_group: { initial: 'creator', everyone: false },
  can_join_group: { initial: 'role:nobody', everyone: false },
  can_leave_group: { initial: 'role:everyone', everyone: true },
  can_manage_group: { initial: 'creator', everyone: false },
  can_mention_group: { initial: 'role:everyone', everyone: true },
  can_remove_members_group: { initial: 'role:nobody', everyone: false },
} as const satisfies Record<string, GroupPermission>;

export type GroupPermissionName = keyof typeof GROUP_PERMISSIONS;
export const GROUP_PERMISSION_NAMES = Object.keys(GROUP_PERMISSIONS) as readonly GroupPermissionName[];

/** The fields of a group that determine its permissions. */
export type Governed = Pick<UserGroup, 'permissions' | 'creatorId' | 'isSystem'>;

/**
 * Returns the holders of the permission in the group: the stored value, or the default. In role groups, no user holds a
 * permission.
 */
export function groupPermission(groups: SystemGroups, group: Governed, name: GroupPermissionName): GroupSetting {
  if (group.isSystem) return roleGroup(groups, 'role:nobody');
  // The database holds an object in this column.
  const set = (group.permissions as Readonly<Record<string, unknown>>)[name] as GroupSetting | undefined;
  return set ?? initialPermission(groups, group.creatorId, name);
}

function initialPermission(groups: SystemGroups, creatorId: number | null, name: GroupPermissionName): GroupSetting {
  const { initial } = GROUP_PERMISSIONS[name];
  if (initial !== 'creator') return roleGroup(groups, initial);
  return creatorId === null ? roleGroup(groups, 'role:nobody') : { members: [creatorId], groups: [] };
}

/** Returns all permissions of a group, in the wire format. */
export function wirePermissions(groups: SystemGroups, group: Governed): Record<GroupPermissionName, WireGroupSetting> {
  const entries = GROUP_PERMISSION_NAMES.map((name) => [
    name,
    toWireGroupSetting(groups, groupPermission(groups, group, name)),
  ]);
  return Object.fromEntries(entries) as Record<GroupPermissionName, WireGroupSetting>;
}

/** Returns the permissions to store after `settings` are applied to a group: only those that differ from the defaults. */
export function toStoredPermissions(
  groups: SystemGroups,
  group: Governed,
  settings: GroupSettings<GroupPermissionName>,
): Prisma.InputJsonObject {
  const stored = GROUP_PERMISSION_NAMES.flatMap((name) => {
    const setting = settings[name] ?? groupPermission(groups, group, name);
    if (isSameSetting(setting, initialPermission(groups, group.creatorId, name))) return [];
    return [[name, { members: setting.members, groups: setting.groups }] as const];
  });
  return Object.fromEntries(stored);
}

/** Returns whether the user holds the permission in the group. */
export function holdsInGroup(
  { person, groups, now }: ChannelActor,
  group: Governed,
  name: GroupPermissionName,
): boolean {
  const { everyone: guests } = GROUP_PERMISSIONS[name];
  return isInGroup(groups, person, groupPermission(groups, group, name), now, { guests });
}

/** Returns whether the user can change everything about the group. False for role groups. */
export const managesGroup = (actor: ChannelActor, group: Governed): boolean =>
  !group.isSystem &&
  (mayInOrganization(actor, 'can_manage_all_groups') || holdsInGroup(actor, group, 'can_manage_group'));
