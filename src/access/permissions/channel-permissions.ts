import type { Channel } from '../../generated/prisma/client.ts';
import type { SystemGroupName, SystemGroups } from '../system-groups.ts';
import { type GroupSetting, roleGroup } from '../system-groups.ts';

interface ChannelPermission {
  /** The holder of the permission in a new channel: a role group, or only the channel's creator. */
  readonly initial: SystemGroupName | 'creator';
  /** Whether `role:everyone`, the role group of all users including guests, can hold the permission. */
  readonly everyone: boolean;
}

/** Every permission of a channel, by its wire name. Each can be left without a holder. */
export const CHANNEL_PERMISSIONS = {
  can_add_subscribers_group: { initial: 'role:nobody', everyone: false },
  can_administer_channel_group: { initial: 'creator', everyone: false },
  can_create_topic_group: { initial: 'role:everyone', everyone: true },
  can_delete_any_message_group: { initial: 'role:nobody', everyone: true },
  can_delete_own_message_group: { initial: 'role:nobody', everyone: true },
  can_move_messages_out_of_channel_group: { initial: 'role:nobody', everyone: true },
  can_move_messages_within_channel_group: { initial: 'role:nobody', everyone: true },
  can_remove_subscribers_group: { initial: 'role:administrators', everyone: true },
  can_resolve_topics_group: { initial: 'role:nobody', everyone: true },
  can_send_message_group: { initial: 'role:everyone', everyone: true },
  can_subscribe_group: { initial: 'role:nobody', everyone: false },
} as const satisfies Record<string, ChannelPermission>;

export type ChannelPermissionName = keyof typeof CHANNEL_PERMISSIONS;
export const CHANNEL_PERMISSION_NAMES = Object.keys(CHANNEL_PERMISSIONS) as readonly ChannelPermissionName[];

/** Permissions whose holders see the channel, even if it is private. */
export const METADATA_PERMISSIONS = [
  'can_add_subscribers_group',
  'can_administer_channel_group',
  'can_subscribe_group',
] as const;
/** Permissions whose holders can read the channel, even if it is private. */
export const CONTENT_PERMISSIONS = ['can_add_subscribers_group', 'can_subscribe_group'] as const;

export type ChannelPermissions = Pick<Channel, 'permissions' | 'creatorId'>;

/** Returns the holders of the permission in the channel: the stored value, or the default. */
export function channelPermission(
  groups: SystemGroups,
  channel: ChannelPermissions,
  name: ChannelPermissionName,
): GroupSetting {
  // The database holds an object in this column.
  const set = (channel.permissions as Readonly<Record<string, unknown>>)[name] as GroupSetting | undefined;
  return set ?? initialPermission(groups, channel.creatorId, name);
}

/** Returns the holders of the permission in a new channel. */
export function initialPermission(
  groups: SystemGroups,
  creatorId: number | null,
  name: ChannelPermissionName,
): GroupSetting {
  const { initial } = CHANNEL_PERMISSIONS[name];
  if (initial !== 'creator') return roleGroup(groups, initial);
  return creatorId === null ? roleGroup(groups, 'role:nobody') : { members: [creatorId], groups: [] };
}
