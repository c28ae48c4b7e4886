import {
  CHANNEL_PERMISSION_NAMES,
  CHANNEL_PERMISSIONS,
  type ChannelPermissionName,
  channelPermission,
  initialPermission,
} from '../access/permissions/channel-permissions.ts';
import {
  type GroupSettings,
  type GroupSettingValues,
  isSameSetting,
  readGroupSettings,
} from '../access/permissions/permission-values.ts';
import type { SystemGroups } from '../access/permissions/system-groups.ts';
import type { Channel, Prisma } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';

/** Permissions of a channel as clients give them. */
export type PermissionValues = GroupSettingValues<ChannelPermissionName>;
export type PermissionSettings = GroupSettings<ChannelPermissionName>;

/**
 * Permissions of a channel as they are stored, from what a client gave.
 *
 * @throws BadRequestError for a user or group that is not there or deactivated, and for a role group that may not hold
 *   the permission.
 */
export function readPermissionValues(tx: Tx, realmId: number, values: PermissionValues): Promise<PermissionSettings> {
  return readGroupSettings(tx, realmId, CHANNEL_PERMISSIONS, values);
}

/** The column's value after `settings` are set in a channel: only what differs from the defaults. */
export function toStoredPermissions(
  groups: SystemGroups,
  channel: Pick<Channel, 'permissions' | 'creatorId'>,
  settings: PermissionSettings,
): Prisma.InputJsonObject {
  const stored = CHANNEL_PERMISSION_NAMES.flatMap((name) => {
    const setting = settings[name] ?? channelPermission(groups, channel, name);
    if (isSameSetting(setting, initialPermission(groups, channel.creatorId, name))) return [];
    return [[name, { members: setting.members, groups: setting.groups }] as const];
  });
  return Object.fromEntries(stored);
}
