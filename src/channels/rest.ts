import { z } from 'zod';
import { CHANNEL_PERMISSION_NAMES, type ChannelPermissionName } from '../access/permissions/channel-permissions.ts';
import { groupSetting, groupSettingEdit } from '../access/permissions/wire.ts';
import { endpoint } from '../api/rest/endpoint.ts';
import { inPath, json, text } from '../api/rest/params.ts';
import { archiveChannel } from './archive.ts';
import { type ChannelOptions, createChannel } from './create.ts';
import {
  channelIdsOfUser,
  channelSubscriberIds,
  findChannelId,
  isUserSubscribed,
  listChannels,
  listSubscriptions,
  showChannel,
} from './reads.ts';
import { TOPICS_POLICIES } from './settings.ts';
import { setDefaultChannel } from './subscriptions/default-channels.ts';
import { updateSubscriptionSettings } from './subscriptions/subscription-settings.ts';
import {
  type ChannelOutcome,
  editSubscriptions as edit,
  type SubscribeOutcome,
  subscribe,
  unsubscribe,
} from './subscriptions/subscriptions.ts';
import { updateChannel } from './update.ts';

const permissionFields = <T>(field: T) =>
  Object.fromEntries(CHANNEL_PERMISSION_NAMES.map((name) => [name, field])) as Record<ChannelPermissionName, T>;

/** What is given of `values`, by the same names. */
function pickPermissions<V>(
  values: Partial<Record<ChannelPermissionName, V>>,
): Partial<Record<ChannelPermissionName, V>> {
  const given = CHANNEL_PERMISSION_NAMES.map((name) => [name, values[name]] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

const channelReply = {
  stream_id: z.int(),
  name: z.string(),
  description: z.string(),
  rendered_description: z.string(),
  date_created: z.int(),
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
  ...permissionFields(groupSetting),
};

const subscriptionReply = {
  ...channelReply,
  color: z.string(),
  is_muted: z.boolean(),
  in_home_view: z.boolean(),
  pin_to_top: z.boolean(),
  desktop_notifications: z.boolean().nullable(),
  audible_notifications: z.boolean().nullable(),
  push_notifications: z.boolean().nullable(),
  email_notifications: z.boolean().nullable(),
  wildcard_mentions_notify: z.boolean().nullable(),
  subscribers: z.array(z.int()).optional(),
  partial_subscribers: z.array(z.int()).optional(),
};

const flag = (description: string, fallback: boolean) => json(z.boolean(), { description }).default(fallback);
const streamId = inPath(z.int());

/** How a channel is to be, where a request may create one. */
const creationParams = {
  invite_only: json(z.boolean(), { description: 'Whether the channel is private.' }).default(false),
  is_web_public: flag('Whether the channel can be read without signing in.', false),
  is_default_stream: flag('Whether new users are subscribed to the channel.', false),
  history_public_to_subscribers: json(z.boolean(), {
    description: 'Of a private channel: whether new subscribers see what was sent before.',
  }).optional(),
  message_retention_days: json(z.union([z.literal(['realm_default', 'unlimited']), z.int()]), {
    example: '"realm_default"',
  }).optional(),
  topics_policy: text(z.enum(TOPICS_POLICIES)).optional(),
  folder_id: json(z.int().nullable()).optional(),
  ...permissionFields(json(groupSetting).optional()),
};

type CreationValues = {
  invite_only: boolean;
  is_web_public: boolean;
  is_default_stream: boolean;
  history_public_to_subscribers?: boolean;
  message_retention_days?: 'realm_default' | 'unlimited' | number;
  topics_policy?: string;
  folder_id?: number | null;
} & Partial<Record<ChannelPermissionName, z.output<typeof groupSetting>>>;

function toOptions(values: CreationValues): ChannelOptions {
  return {
    isPrivate: values.invite_only,
    isWebPublic: values.is_web_public,
    isDefault: values.is_default_stream,
    historyPublicToSubscribers: values.history_public_to_subscribers,
    messageRetentionDays: values.message_retention_days,
    topicsPolicy: values.topics_policy,
    folderId: values.folder_id,
    permissions: pickPermissions(values),
  };
}

export const getStreams = endpoint({
  method: 'GET',
  path: '/streams',
  auth: 'basic',
  twins: ['channels'],
  summary: 'List channels',
  params: {
    include_public: flag('Public channels, for who may see them.', true),
    include_web_public: flag('Channels that can be read without signing in.', false),
    include_subscribed: flag('Channels you are subscribed to.', true),
    exclude_archived: flag('Leaves archived channels out.', true),
    include_all: json(z.boolean(), {
      alias: 'include_all_active',
      description: 'Every channel you may see.',
    }).default(false),
    include_default: flag('Adds `is_default` to each channel.', false),
    include_owner_subscribed: flag("For bots: the channels the bot's owner is subscribed to.", false),
    include_can_access_content: flag('Channels you may read.', false),
  },
  reply: { streams: z.array(z.object({ ...channelReply, is_default: z.boolean().optional() })) },
  async handle(ctx, values) {
    const streams = await listChannels(ctx, {
      public: values.include_public,
      webPublic: values.include_web_public,
      subscribed: values.include_subscribed,
      ownerSubscribed: values.include_owner_subscribed,
      readable: values.include_can_access_content,
      all: values.include_all,
      archived: !values.exclude_archived,
    });
    return {
      streams: streams.map(({ wire, isDefault }) =>
        values.include_default ? { ...wire, is_default: isDefault } : wire,
      ),
    };
  },
});

export const getStream = endpoint({
  method: 'GET',
  path: '/streams/{stream_id}',
  auth: 'basic',
  twins: ['channel(channelId:)'],
  summary: 'Get a channel',
  params: { stream_id: streamId },
  reply: { stream: z.object(channelReply) },
  handle: async (ctx, { stream_id }) => ({ stream: await showChannel(ctx, stream_id) }),
});

export const getStreamId = endpoint({
  method: 'GET',
  path: '/get_stream_id',
  auth: 'basic',
  twins: ['channel(name:)'],
  summary: "Get a channel's id by its name",
  params: { stream: text(z.string(), { example: 'general' }) },
  reply: { stream_id: z.int() },
  handle: async (ctx, { stream }) => ({ stream_id: await findChannelId(ctx, stream) }),
});

export const getStreamMembers = endpoint({
  method: 'GET',
  path: '/streams/{stream_id}/members',
  auth: 'basic',
  twins: ['Channel.subscribers'],
  summary: "List a channel's subscribers",
  params: { stream_id: streamId },
  reply: { subscribers: z.array(z.int()) },
  handle: async (ctx, { stream_id }) => ({ subscribers: await channelSubscriberIds(ctx, stream_id) }),
});

export const postChannelsCreate = endpoint({
  method: 'POST',
  path: '/channels/create',
  auth: 'basic',
  twins: ['createChannel'],
  summary: 'Create a channel',
  permission: 'members who may create channels of the kind',
  params: {
    name: text(z.string(), { example: 'website' }),
    description: text(z.string()).default(''),
    subscribers: json(z.array(z.int()), { example: '[]' }),
    announce: flag('Accepted; announcements are sent by a later version.', false),
    ...creationParams,
    send_new_subscription_messages: flag('Accepted; such messages are sent by a later version.', true),
  },
  reply: { id: z.int() },
  async handle(ctx, { name, description, subscribers, ...values }) {
    return { id: await createChannel(ctx, { ...toOptions(values), name, description, subscriberIds: subscribers }) };
  },
});

export const patchStream = endpoint({
  method: 'PATCH',
  path: '/streams/{stream_id}',
  auth: 'basic',
  twins: ['updateChannel', 'unarchiveChannel'],
  summary: 'Update a channel',
  permission: "the channel's administrators",
  params: {
    stream_id: streamId,
    description: text(z.string()).optional(),
    new_name: text(z.string()).optional(),
    is_private: json(z.boolean()).optional(),
    is_web_public: json(z.boolean()).optional(),
    history_public_to_subscribers: json(z.boolean()).optional(),
    is_default_stream: json(z.boolean()).optional(),
    message_retention_days: creationParams.message_retention_days,
    is_archived: json(z.boolean(), { description: 'Only false: brings the channel back from the archive.' }).optional(),
    folder_id: json(z.int().nullable(), { description: 'null takes the channel out of its folder.' }).optional(),
    topics_policy: creationParams.topics_policy,
    ...permissionFields(json(groupSettingEdit).optional()),
  },
  reply: {},
  async handle(ctx, { stream_id, ...values }) {
    const permissions = Object.entries(pickPermissions<z.output<typeof groupSettingEdit>>(values));
    await updateChannel(ctx, stream_id, {
      name: values.new_name,
      description: values.description,
      isPrivate: values.is_private,
      isWebPublic: values.is_web_public,
      historyPublicToSubscribers: values.history_public_to_subscribers,
      isDefault: values.is_default_stream,
      messageRetentionDays: values.message_retention_days,
      isArchived: values.is_archived,
      folderId: values.folder_id,
      topicsPolicy: values.topics_policy,
      permissions: Object.fromEntries(
        permissions.map(([name, edit]) => [name, { value: edit.new, expected: edit.old }]),
      ),
    });
  },
});

export const deleteStream = endpoint({
  method: 'DELETE',
  path: '/streams/{stream_id}',
  auth: 'basic',
  twins: ['archiveChannel'],
  summary: 'Archive a channel',
  permission: "the channel's administrators",
  params: { stream_id: streamId },
  reply: {},
  handle: async (ctx, { stream_id }) => archiveChannel(ctx, stream_id),
});

export const postDefaultStream = endpoint({
  method: 'POST',
  path: '/default_streams',
  auth: 'basic',
  twins: ['updateChannel(isDefault:)'],
  summary: 'Add a default channel',
  permission: 'administrators',
  params: { stream_id: json(z.int()) },
  reply: {},
  handle: async (ctx, { stream_id }) => setDefaultChannel(ctx, stream_id, true),
});

export const deleteDefaultStream = endpoint({
  method: 'DELETE',
  path: '/default_streams',
  auth: 'basic',
  twins: ['updateChannel(isDefault:)'],
  summary: 'Remove a default channel',
  permission: 'administrators',
  params: { stream_id: json(z.int()) },
  reply: {},
  handle: async (ctx, { stream_id }) => setDefaultChannel(ctx, stream_id, false),
});

export const getSubscriptions = endpoint({
  method: 'GET',
  path: '/users/me/subscriptions',
  auth: 'basic',
  twins: ['subscriptions'],
  summary: 'List your subscriptions',
  params: { include_subscribers: text(z.enum(['true', 'false', 'partial'])).default('false') },
  reply: { subscriptions: z.array(z.object(subscriptionReply)) },
  async handle(ctx, { include_subscribers }) {
    return { subscriptions: await listSubscriptions(ctx, include_subscribers) };
  },
});

const principals = json(z.union([z.array(z.int()), z.array(z.string())]), {
  description: 'Users by id, or by e-mail address; yourself when absent.',
}).optional();

const wanted = z.object({ name: z.string(), description: z.string().optional(), color: z.string().optional() });

const subscribedReply = {
  subscribed: z.record(z.string(), z.array(z.string())),
  already_subscribed: z.record(z.string(), z.array(z.string())),
};

export const postSubscriptions = endpoint({
  method: 'POST',
  path: '/users/me/subscriptions',
  auth: 'basic',
  twins: ['subscribe'],
  summary: 'Subscribe to channels',
  description: 'Channels that are not there are created.',
  params: {
    subscriptions: json(z.array(wanted), { example: '[{"name": "website"}]' }),
    principals,
    authorization_errors_fatal: flag('Whether a channel you may not subscribe to fails the request.', true),
    announce: flag('Accepted; announcements are sent by a later version.', false),
    ...creationParams,
    send_new_subscription_messages: flag('Accepted; such messages are sent by a later version.', true),
  },
  reply: { ...subscribedReply, unauthorized: z.array(z.string()).optional() },
  async handle(ctx, { subscriptions, principals, authorization_errors_fatal, ...values }) {
    const outcome = await subscribe(ctx, subscriptions, {
      principals,
      isFatal: authorization_errors_fatal,
      creation: toOptions(values),
    });
    return { ...toSubscribed(outcome), ...(!authorization_errors_fatal && { unauthorized: outcome.unauthorized }) };
  },
});

const names = json(z.array(z.string()), { example: '["website"]' });

export const patchSubscriptions = endpoint({
  method: 'PATCH',
  path: '/users/me/subscriptions',
  auth: 'basic',
  twins: ['subscribe', 'unsubscribe'],
  summary: 'Subscribe to some channels and unsubscribe from others',
  params: { add: json(z.array(wanted)).default([]), delete: json(z.array(z.string())).default([]) },
  reply: { ...subscribedReply, removed: z.array(z.string()), not_removed: z.array(z.string()) },
  async handle(ctx, { add, delete: remove }) {
    const { subscribed, unsubscribed } = await edit(ctx, { add, remove: remove.map((name) => ({ name })) });
    return { ...toSubscribed(subscribed), ...toRemoved(unsubscribed) };
  },
});

export const deleteSubscriptions = endpoint({
  method: 'DELETE',
  path: '/users/me/subscriptions',
  auth: 'basic',
  twins: ['unsubscribe'],
  summary: 'Unsubscribe from channels',
  params: { subscriptions: names, principals },
  reply: { removed: z.array(z.string()), not_removed: z.array(z.string()) },
  async handle(ctx, { subscriptions, principals }) {
    const keys = subscriptions.map((name) => ({ name }));
    return toRemoved(await unsubscribe(ctx, keys, { principals }));
  },
});

/** Names by user. */
function toSubscribed({ channels }: SubscribeOutcome) {
  const byUser = (idsOf: (channel: ChannelOutcome) => readonly number[]) => {
    const pairs = channels.flatMap((channel) => idsOf(channel).map((id) => ({ id, name: channel.name })));
    const grouped = Map.groupBy(pairs, ({ id }) => id);
    return Object.fromEntries([...grouped].map(([id, named]) => [id, named.map(({ name }) => name)]));
  };
  return {
    subscribed: byUser(({ changedIds }) => changedIds),
    already_subscribed: byUser(({ unchangedIds }) => unchangedIds),
  };
}

const toRemoved = (channels: readonly ChannelOutcome[]) => ({
  removed: channels.filter(({ changedIds }) => changedIds.length > 0).map(({ name }) => name),
  not_removed: channels.filter(({ unchangedIds }) => unchangedIds.length > 0).map(({ name }) => name),
});

const value = z.union([z.boolean(), z.string()]);

export const postSubscriptionProperties = endpoint({
  method: 'POST',
  path: '/users/me/subscriptions/properties',
  auth: 'basic',
  twins: ['updateSubscriptionSettings'],
  summary: 'Update settings of your subscriptions',
  params: {
    subscription_data: json(z.array(z.object({ stream_id: z.int(), property: z.string(), value })), {
      example: '[{"stream_id": 1, "property": "pin_to_top", "value": true}]',
    }),
  },
  reply: {},
  async handle(ctx, { subscription_data }) {
    const changes = subscription_data.map(({ stream_id, ...change }) => ({ channelId: stream_id, ...change }));
    await updateSubscriptionSettings(ctx, changes);
  },
});

/** JSON text of a boolean or a string, or a string as it is. */
const looseValue = z.string().transform((raw): boolean | string => {
  if (raw === 'true' || raw === 'false') return raw === 'true';
  return /^"[^"\\]*"$/.test(raw) ? raw.slice(1, -1) : raw;
});

/** One channel, one property. Clients send POST, and older ones PATCH. */
const subscriptionProperty = (method: 'POST' | 'PATCH') =>
  endpoint({
    method,
    path: '/users/me/subscriptions/{stream_id}',
    auth: 'basic',
    twins: ['updateSubscriptionSettings'],
    summary: 'Update a setting of one of your subscriptions',
    params: { stream_id: streamId, property: text(z.string()), value: text(looseValue, { example: 'true' }) },
    reply: {},
    async handle(ctx, { stream_id, ...change }) {
      await updateSubscriptionSettings(ctx, [{ channelId: stream_id, ...change }]);
    },
  });

export const postSubscriptionProperty = subscriptionProperty('POST');
export const patchSubscriptionProperty = subscriptionProperty('PATCH');

export const getUserSubscription = endpoint({
  method: 'GET',
  path: '/users/{user_id}/subscriptions/{stream_id}',
  auth: 'basic',
  twins: ['channels(isSubscribed:)', 'User.channels'],
  summary: 'Tell whether a user is subscribed to a channel',
  params: { user_id: inPath(z.int()), stream_id: streamId },
  reply: { is_subscribed: z.boolean() },
  async handle(ctx, { user_id, stream_id }) {
    return { is_subscribed: await isUserSubscribed(ctx, user_id, stream_id) };
  },
});

export const getUserChannels = endpoint({
  method: 'GET',
  path: '/users/{user_id}/channels',
  auth: 'basic',
  twins: ['User.channels'],
  summary: 'List the channels a user is subscribed to',
  description: 'Those that you see, too.',
  params: { user_id: inPath(z.int()) },
  reply: { subscribed_channel_ids: z.array(z.int()).describe('Ascending.') },
  async handle(ctx, { user_id }) {
    return { subscribed_channel_ids: await channelIdsOfUser(ctx, user_id) };
  },
});
