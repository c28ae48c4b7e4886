import { z } from 'zod';
import {
  CHANNEL_PERMISSION_NAMES,
  type ChannelPermissionName,
  channelPermission,
} from '../access/permissions/channel-permissions.ts';
import { groupSetting, permissionFields } from '../access/permissions/wire.ts';
import type { SystemGroupName, SystemGroups } from '../access/system-groups.ts';
import { type GroupSetting, toWireGroupSetting, type WireGroupSetting } from '../access/system-groups.ts';
import { userSetting } from '../access/user-settings.ts';
import type { Channel, Subscription, User } from '../generated/prisma/client.ts';
import type { Wire } from '../platform/wire.ts';
import type { ChannelActivity } from './activity.ts';
import { TOPICS_POLICIES, type TopicsPolicy } from './settings.ts';

/** Data that a channel object needs besides the channel's row. */
interface Surroundings {
  readonly groups: SystemGroups;
  /** Number of subscribers, without deactivated users. */
  readonly subscriberCount: number;
  readonly activity: ChannelActivity;
}

/** The data of a channel that does not depend on the user who sees it. */
export const wireChannel = z
  .object({
    stream_id: z.int(),
    name: z.string(),
    description: z.string(),
    rendered_description: z.string(),
    date_created: z.int().describe('UNIX seconds.'),
    creator_id: z.int().nullable(),
    invite_only: z.boolean(),
    is_web_public: z.boolean(),
    history_public_to_subscribers: z.boolean(),
    is_archived: z.boolean(),
    message_retention_days: z.int().nullable(),
    topics_policy: z.enum(TOPICS_POLICIES),
    first_message_id: z.int().nullable(),
    folder_id: z.int().nullable(),
    is_recently_active: z.boolean(),
    stream_weekly_traffic: z.int().nullable(),
    subscriber_count: z.int(),
    stream_post_policy: z.int(),
    is_announcement_only: z.boolean(),
    ...permissionFields(CHANNEL_PERMISSION_NAMES, groupSetting),
  })
  .meta({ id: 'Channel' });
export type WireChannel = Wire<typeof wireChannel>;

/** A channel in the payload of events that make it visible. */
export interface ChannelSnapshot extends WireChannel {
  /** Columns of the row that `WireChannel` does not contain. Absent in events of previous versions. */
  readonly row?: { readonly createdAt: string; readonly isDefault: boolean };
}

export const toSnapshot = (channel: Channel, wire: WireChannel): ChannelSnapshot => ({
  ...wire,
  row: { createdAt: channel.createdAt.toISOString(), isDefault: channel.isDefault },
});

/** Returns the fields of a channel that clients receive. */
export const wireOf = ({ row: _, ...channel }: ChannelSnapshot): WireChannel => channel;

export function toWireChannel(channel: Channel, { groups, subscriberCount, activity }: Surroundings): WireChannel {
  const postPolicy = postPolicyOf(groups, channelPermission(groups, channel, 'can_send_message_group'));
  return {
    stream_id: channel.id,
    name: channel.name,
    description: channel.description,
    rendered_description: channel.renderedDescription,
    date_created: toUnix(channel.createdAt),
    creator_id: channel.creatorId,
    invite_only: channel.inviteOnly,
    is_web_public: channel.isWebPublic,
    history_public_to_subscribers: channel.historyPublicToSubscribers,
    is_archived: channel.isArchived,
    message_retention_days: channel.messageRetentionDays,
    topics_policy: channel.topicsPolicy as TopicsPolicy,
    first_message_id: activity.firstMessageId,
    folder_id: channel.folderId,
    is_recently_active: activity.isRecentlyActive,
    stream_weekly_traffic: activity.weeklyTraffic,
    subscriber_count: subscriberCount,
    stream_post_policy: postPolicy,
    is_announcement_only: postPolicy === ADMINISTRATORS_POST,
    ...toWirePermissions(groups, channel),
  };
}

function toWirePermissions(groups: SystemGroups, channel: Channel): Record<ChannelPermissionName, WireGroupSetting> {
  return Object.fromEntries(
    CHANNEL_PERMISSION_NAMES.map((name) => [
      name,
      toWireGroupSetting(groups, channelPermission(groups, channel, name)),
    ]),
  ) as Record<ChannelPermissionName, WireGroupSetting>;
}

// Values of a channel's `stream_post_policy`: the users who can post.
const EVERYONE_POSTS = 1;
const ADMINISTRATORS_POST = 2;
const FULL_MEMBERS_POST = 3;
const MODERATORS_POST = 4;
const POST_POLICIES: Partial<Record<SystemGroupName, number>> = {
  'role:administrators': ADMINISTRATORS_POST,
  'role:fullmembers': FULL_MEMBERS_POST,
  'role:moderators': MODERATORS_POST,
};

/**
 * Returns the value of `stream_post_policy`: the users who can post, as a number for old clients. A setting without an
 * equivalent becomes 1 (all users).
 */
export function postPolicyOf(groups: SystemGroups, { members, groups: ids }: GroupSetting): number {
  const [only, ...more] = ids;
  if (only === undefined || more.length > 0 || members.length > 0) return EVERYONE_POSTS;
  return POST_POLICIES[groups.name(only) ?? 'role:everyone'] ?? EVERYONE_POSTS;
}

/** Returns whether only administrators can post, for clients that do not support `stream_post_policy`. */
export const isAnnouncementOnly = (postPolicy: number): boolean => postPolicy === ADMINISTRATORS_POST;

/** A subscriber's own settings of a channel. Null notification settings inherit the user's defaults. */
const wirePersonal = z.object({
  color: z.string(),
  is_muted: z.boolean(),
  in_home_view: z.boolean(),
  pin_to_top: z.boolean(),
  desktop_notifications: z.boolean().nullable(),
  audible_notifications: z.boolean().nullable(),
  push_notifications: z.boolean().nullable(),
  email_notifications: z.boolean().nullable(),
  wildcard_mentions_notify: z.boolean().nullable(),
});
export type WirePersonal = Wire<typeof wirePersonal>;

/** A channel as sent to a subscriber. */
export const wireSubscription = z
  .object({
    ...wireChannel.shape,
    ...wirePersonal.shape,
    subscribers: z.array(z.int()).optional(),
    partial_subscribers: z.array(z.int()).optional(),
  })
  .meta({ id: 'Subscription' });

export function toWirePersonal(
  subscription: Omit<Subscription, 'organizationId' | 'userId' | 'channelId' | 'active'>,
): WirePersonal {
  return {
    color: subscription.color,
    is_muted: subscription.isMuted,
    in_home_view: !subscription.isMuted,
    pin_to_top: subscription.pinToTop,
    desktop_notifications: subscription.desktopNotifications,
    audible_notifications: subscription.audibleNotifications,
    push_notifications: subscription.pushNotifications,
    email_notifications: subscription.emailNotifications,
    wildcard_mentions_notify: subscription.wildcardMentionsNotify,
  };
}

/** Returns the user's notification settings for channels. They apply to each subscription whose own setting is null. */
export function toInherited(user: Pick<User, 'settings'>) {
  return {
    desktop_notifications: userSetting(user, 'enable_stream_desktop_notifications'),
    audible_notifications: userSetting(user, 'enable_stream_audible_notifications'),
    push_notifications: userSetting(user, 'enable_stream_push_notifications'),
    email_notifications: userSetting(user, 'enable_stream_email_notifications'),
    wildcard_mentions_notify: userSetting(user, 'wildcard_mentions_notify'),
  };
}

export type Inherited = ReturnType<typeof toInherited>;

/** Returns personal settings with inherited values instead of null, for clients that do not support null. */
export function withInherited(personal: WirePersonal, inherited: Inherited): WirePersonal {
  return {
    ...personal,
    desktop_notifications: personal.desktop_notifications ?? inherited.desktop_notifications,
    audible_notifications: personal.audible_notifications ?? inherited.audible_notifications,
    push_notifications: personal.push_notifications ?? inherited.push_notifications,
    email_notifications: personal.email_notifications ?? inherited.email_notifications,
    wildcard_mentions_notify: personal.wildcard_mentions_notify ?? inherited.wildcard_mentions_notify,
  };
}

/** The subscribers of one channel as user ids, ascending. */
export interface SubscriberList {
  readonly subscribers: readonly number[];
  /**
   * Users for clients that request partial lists: bots, and users who joined the organization or polled an event queue in the
   * last 14 days. Null if `subscribers` has fewer than 250 users, because these clients then receive the whole list.
   */
  readonly partial_subscribers: readonly number[] | null;
}

export type IncludeSubscribers = 'true' | 'false' | 'partial';

/**
 * Returns the fields of a channel object that list its subscribers, without the user who reads the object. Returns no field if
 * the client did not request subscriber lists.
 */
export function toWireSubscribers(list: SubscriberList, readerId: number, include: IncludeSubscribers) {
  if (include === 'false') return {};
  const others = (ids: readonly number[]) => ids.filter((id) => id !== readerId);
  return include === 'partial' && list.partial_subscribers !== null
    ? { partial_subscribers: others(list.partial_subscribers) }
    : { subscribers: others(list.subscribers) };
}

const toUnix = (date: Date): number => Math.floor(date.getTime() / 1000);
