import { z } from 'zod';
import { CHANNEL_PERMISSION_NAMES, type ChannelPermissionName } from '../access/permissions/channel-permissions.ts';
import { CHANNEL_PERMISSION_MEANINGS } from '../access/permissions/meanings.ts';
import { groupSetting, groupSettingEdit } from '../access/permissions/wire.ts';
import { endpoint } from '../api/rest/endpoint.ts';
import { inPath, json, text } from '../api/rest/params.ts';
import { permissionParams } from '../api/rest/setting-params.ts';
import { archiveChannel } from './archive.ts';
import { type ChannelOptions, createChannel } from './create.ts';
import { channelIdOf, listChannels, showChannel } from './reads.ts';
import { TOPICS_POLICIES } from './settings.ts';
import { setDefaultChannel } from './subscriptions/default-channels.ts';
import { channelSubscriberIds } from './subscriptions/reads.ts';
import { updateChannel } from './update.ts';
import { wireChannel } from './wire.ts';

/** What is given of `values`, by the same names. */
function pickPermissions<V>(
  values: Partial<Record<ChannelPermissionName, V>>,
): Partial<Record<ChannelPermissionName, V>> {
  const given = CHANNEL_PERMISSION_NAMES.map((name) => [name, values[name]] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

const ABOUT = { description: 'What it is for, in flavored Markdown; at most 1,024 characters.' };

export const flag = (description: string, fallback: boolean) => json(z.boolean(), { description }).default(fallback);
export const streamId = inPath(z.int(), { description: 'The channel.' });

/** How a channel is to be, where a request may create one. */
export const creationParams = {
  invite_only: json(z.boolean(), { description: 'Whether the channel is private.' }).default(false),
  is_web_public: flag('Whether the channel can be read without signing in.', false),
  is_default_stream: flag('Whether new users are subscribed to the channel.', false),
  history_public_to_subscribers: json(z.boolean(), {
    description: 'Of a private channel: whether new subscribers see what was sent before.',
  }).optional(),
  message_retention_days: json(z.union([z.literal(['realm_default', 'unlimited']), z.int()]), {
    description:
      'Days to keep messages; "unlimited" keeps them for ever, "realm_default" as long as the organization does.',
    example: '"realm_default"',
  }).optional(),
  topics_policy: text(z.enum(TOPICS_POLICIES), { description: 'Whether messages must have a topic.' }).optional(),
  folder_id: json(z.int().nullable(), { description: 'The folder it is to stand in; null for none.' }).optional(),
  ...permissionParams(CHANNEL_PERMISSION_MEANINGS, groupSetting),
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

export function toOptions(values: CreationValues): ChannelOptions {
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
  reply: { streams: z.array(wireChannel.extend({ is_default: z.boolean().optional() })) },
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
  twins: ['channel(by:)'],
  summary: 'Get a channel',
  params: { stream_id: streamId },
  reply: { stream: wireChannel },
  handle: async (ctx, { stream_id }) => ({ stream: await showChannel(ctx, stream_id) }),
});

export const getStreamId = endpoint({
  method: 'GET',
  path: '/get_stream_id',
  auth: 'basic',
  twins: ['channel(by:)'],
  summary: "Get a channel's id by its name",
  params: { stream: text(z.string(), { description: 'Its name, in whatever case.', example: 'general' }) },
  reply: { stream_id: z.int() },
  handle: async (ctx, { stream }) => ({ stream_id: await channelIdOf(ctx, { name: stream }) }),
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
    name: text(z.string(), { description: 'At most 60 characters; unique, in whatever case.', example: 'sailing' }),
    description: text(z.string(), ABOUT).default(''),
    subscribers: json(z.array(z.int()), { description: 'Who is subscribed from the start, by id.', example: '[]' }),
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
    description: text(z.string(), ABOUT).optional(),
    new_name: text(z.string(), { description: 'At most 60 characters; unique, in whatever case.' }).optional(),
    is_private: json(z.boolean(), {
      description: 'Whether only subscribers, and who holds a permission for it, may read it.',
    }).optional(),
    is_web_public: json(z.boolean(), { description: 'Whether it can be read without signing in.' }).optional(),
    history_public_to_subscribers: creationParams.history_public_to_subscribers,
    is_default_stream: json(z.boolean(), { description: 'Whether new users are subscribed to it.' }).optional(),
    message_retention_days: creationParams.message_retention_days,
    is_archived: json(z.boolean(), { description: 'Only false: brings the channel back from the archive.' }).optional(),
    folder_id: json(z.int().nullable(), { description: 'null takes the channel out of its folder.' }).optional(),
    topics_policy: creationParams.topics_policy,
    ...permissionParams(CHANNEL_PERMISSION_MEANINGS, groupSettingEdit),
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
  params: { stream_id: json(z.int(), { description: 'The channel.', example: '1' }) },
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
  params: { stream_id: json(z.int(), { description: 'The channel.', example: '1' }) },
  reply: {},
  handle: async (ctx, { stream_id }) => setDefaultChannel(ctx, stream_id, false),
});
