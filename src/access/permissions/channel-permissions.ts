import type { Channel } from '../../generated/prisma/client.ts';
import type { SystemGroupName, SystemGroups } from './system-groups.ts';
import { type GroupSetting, roleGroup } from './system-groups.ts';

interface ChannelPermission {
  /** Who holds it in a new channel: a role group, or the channel's creator alone. */
  readonly initial: SystemGroupName | 'creator';
  /** Whether it may be given to everyone, guests included. */
  readonly everyone: boolean;
}

/** Every permission of a channel, by its wire name; all may be given to nobody. */
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

/** Those who hold one of these see the channel, although it is private. */
export const METADATA_PERMISSIONS = [
  'can_add_subscribers_group',
  'can_administer_channel_group',
  'can_subscribe_group',
] as const;
/** Those who hold one of these may read the channel, although it is private. */
export const CONTENT_PERMISSIONS = ['can_add_subscribers_group', 'can_subscribe_group'] as const;

export type ChannelPermissions = Pick<Channel, 'permissions' | 'creatorId'>;

/** Who holds the permission in the channel: what is set, or the default. */
export function channelPermission(
  groups: SystemGroups,
  channel: ChannelPermissions,
  name: ChannelPermissionName,
): GroupSetting {
  // The database holds an object in this column.
  const set = (channel.permissions as Readonly<Record<string, unknown>>)[name] as GroupSetting | undefined;
  return set ?? initialPermission(groups, channel.creatorId, name);
}

/** Who holds the permission in a new channel. */
export function initialPermission(
  groups: SystemGroups,
  creatorId: number | null,
  name: ChannelPermissionName,
): GroupSetting {
  const { initial } = CHANNEL_PERMISSIONS[name];
  if (initial !== 'creator') return roleGroup(groups, initial);
  return creatorId === null ? roleGroup(groups, 'role:nobody') : { members: [creatorId], groups: [] };
}
