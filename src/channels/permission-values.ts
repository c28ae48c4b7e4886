import {
  type GroupSettings,
  type GroupSettingValues,
  isSameSetting,
  readGroupSettings,
} from '../access/permission-values.ts';
import {
  CHANNEL_PERMISSION_NAMES,
  CHANNEL_PERMISSIONS,
  type ChannelPermissionName,
  channelPermission,
  initialPermission,
} from '../access/permissions/channel-permissions.ts';
import type { SystemGroups } from '../access/system-groups.ts';
import type { Channel, Prisma } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';

/** Permissions of a channel as sent by a client. */
export type PermissionValues = GroupSettingValues<ChannelPermissionName>;
export type PermissionSettings = GroupSettings<ChannelPermissionName>;

/**
 * Converts a client's permissions of a channel to the stored form.
 *
 * @throws NotFoundError if a user or group does not exist, or if a user is deactivated.
 * @throws ConflictError if a group is deactivated.
 * @throws ValidationError if a role group cannot hold the permission.
 * @throws SystemGroupRequiredError if only a role group can hold the permission, and another holder was sent.
 * @throws TotalReachedError if a value has more users and groups than a permission can have.
 */
export function readPermissionValues(
  tx: Tx,
  organizationId: number,
  values: PermissionValues,
): Promise<PermissionSettings> {
  return readGroupSettings(tx, organizationId, CHANNEL_PERMISSIONS, values);
}

/**
 * Returns the value of the column `permissions` after `settings` are set in a channel. The value contains only permissions that
 * differ from their defaults.
 */
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
