import type { Tx } from '../db/client.ts';
import { BadRequestError } from '../errors.ts';
import type { Channel, Prisma } from '../generated/prisma/client.ts';
import type { GroupSetting, WireGroupSetting } from '../user-groups/permissions.ts';
import { roleGroup } from '../user-groups/permissions.ts';
import { type SystemGroups, systemGroups } from '../user-groups/system-groups.ts';
import { isRowId } from './access.ts';
import {
  CHANNEL_PERMISSIONS,
  type ChannelPermissionName,
  channelPermission,
  initialPermission,
} from './permissions.ts';

/** Permissions as clients give them: a group's id, or users and groups. */
export type PermissionValues = Partial<Record<ChannelPermissionName, WireGroupSetting>>;
export type PermissionSettings = Partial<Record<ChannelPermissionName, GroupSetting>>;

/**
 * Permissions as they are stored, from what a client gave: in order, each id once, nobody at all as role:nobody.
 *
 * @throws BadRequestError for a user or group that is not there or deactivated, and for a role group that may not hold
 *   the permission.
 * @see endpoints companion C.3
 */
export async function readPermissionValues(
  tx: Tx,
  realmId: number,
  values: PermissionValues,
): Promise<PermissionSettings> {
  const groups = await systemGroups(tx, realmId);
  const settings = Object.entries(values).map(
    ([name, value]) => [name as ChannelPermissionName, canonical(groups, value)] as const,
  );
  await requireUsers(tx, realmId, new Set(settings.flatMap(([, { members }]) => members)));
  const ids = new Set(settings.flatMap(([, setting]) => setting.groups));
  await requireGroups(tx, realmId, new Set([...ids].filter((id) => groups.name(id) === undefined)));
  for (const [name, setting] of settings) requireAllowed(groups, name, setting);
  return Object.fromEntries(settings);
}

/** What a client gave, in the stored form. */
export function canonical(groups: SystemGroups, value: WireGroupSetting): GroupSetting {
  const { direct_members: members, direct_subgroups: ids } =
    typeof value === 'number' ? { direct_members: [], direct_subgroups: [value] } : value;
  if (members.length === 0 && ids.length === 0) return roleGroup(groups, 'role:nobody');
  return { members: inOrder(members), groups: inOrder(ids) };
}

const inOrder = (ids: readonly number[]) => [...new Set(ids)].sort((a, b) => a - b);

async function requireUsers(tx: Tx, realmId: number, ids: ReadonlySet<number>): Promise<void> {
  if (ids.size === 0) return;
  const rows = await tx.$queryRaw<{ id: number }[]>`
    SELECT id FROM user_account WHERE realm_id = ${realmId} AND is_active AND id = ANY(${[...ids].filter(isRowId)})`;
  const known = new Set(rows.map(({ id }) => id));
  for (const id of ids) if (!known.has(id)) throw new BadRequestError(`Invalid user ID: ${id}`);
}

async function requireGroups(tx: Tx, realmId: number, ids: ReadonlySet<number>): Promise<void> {
  if (ids.size === 0) return;
  const rows = await tx.$queryRaw<{ id: number; deactivated: boolean }[]>`
    SELECT id, deactivated_at IS NOT NULL AS deactivated FROM user_group
    WHERE realm_id = ${realmId} AND id = ANY(${[...ids].filter(isRowId)})`;
  if (rows.length < ids.size) throw new BadRequestError('Invalid user group');
  if (rows.some(({ deactivated }) => deactivated)) throw new BadRequestError('User group is deactivated.');
}

function requireAllowed(groups: SystemGroups, name: ChannelPermissionName, { groups: ids }: GroupSetting): void {
  const refused = CHANNEL_PERMISSIONS[name].everyone ? ['role:internet'] : ['role:internet', 'role:everyone'];
  const group = ids.map((id) => groups.name(id) ?? '').find((known) => refused.includes(known));
  if (group !== undefined) throw new BadRequestError(`'${name}' setting cannot be set to '${group}' group.`);
}

/** Whether both name the same users and groups; both in the stored form. */
export function isSameSetting(a: GroupSetting, b: GroupSetting): boolean {
  return a.members.join() === b.members.join() && a.groups.join() === b.groups.join();
}

/** The column's value after `settings` are set in a channel: only what differs from the defaults. */
export function toStoredPermissions(
  groups: SystemGroups,
  channel: Pick<Channel, 'permissions' | 'creatorId'>,
  settings: PermissionSettings,
): Prisma.InputJsonObject {
  const names = Object.keys(CHANNEL_PERMISSIONS) as ChannelPermissionName[];
  const stored = names.flatMap((name) => {
    const setting = settings[name] ?? channelPermission(groups, channel, name);
    if (isSameSetting(setting, initialPermission(groups, channel.creatorId, name))) return [];
    return [[name, { members: setting.members, groups: setting.groups }] as const];
  });
  return Object.fromEntries(stored);
}
