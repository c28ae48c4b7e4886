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

/** Returns the entries of `values` that are channel permissions, without undefined values. */
function pickPermissions<V>(
  values: Partial<Record<ChannelPermissionName, V>>,
): Partial<Record<ChannelPermissionName, V>> {
  const given = CHANNEL_PERMISSION_NAMES.map((name) => [name, values[name]] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

const ABOUT = { description: 'Description in Markdown, at most 1,024 characters.' };

export const flag = (description: string, fallback: boolean) => json(z.boolean(), { description }).default(fallback);
export const streamId = inPath(z.int(), { description: 'Id of the channel.' });

/** Parameters of a new channel, for requests that may create one. */
export const creationParams = {
  invite_only: json(z.boolean(), { description: 'Whether the channel is private.' }).default(false),
  announce: flag(
    "Whether a public channel is announced in the organization's channel for new channels, if there is one.",
    false,
  ),
  is_web_public: flag('Whether the channel can be read without signing in.', false),
  is_default_stream: flag('Whether new users are subscribed to the channel by default.', false),
  history_public_to_subscribers: json(z.boolean(), {
    description:
      'For a private channel: whether new subscribers can read messages that were sent before they subscribed.',
  }).optional(),
  message_retention_days: json(z.union([z.literal(['realm_default', 'unlimited']), z.int()]), {
    description:
      'Number of days for which messages are kept. "unlimited" keeps them forever. "realm_default" is the setting ' +
      'of the organization.',
    example: '"realm_default"',
  }).optional(),
  topics_policy: text(z.enum(TOPICS_POLICIES), {
    description: 'Whether messages in the channel must have a topic.',
  }).optional(),
  folder_id: json(z.int().nullable(), {
    description: 'Id of the folder of the channel. null for no folder.',
  }).optional(),
  ...permissionParams(CHANNEL_PERMISSION_MEANINGS, groupSetting),
};

type CreationValues = {
  announce: boolean;
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
    isAnnounced: values.announce,
  };
}

export const getStreams = endpoint({
  method: 'GET',
  path: '/streams',
  auth: 'basic',
  equivalents: ['channels'],
  summary: 'List channels',
  params: {
    include_public: flag('Whether to include public channels, if you can see them.', true),
    include_web_public: flag('Whether to include channels that can be read without signing in.', false),
    include_subscribed: flag('Whether to include channels that you are subscribed to.', true),
    exclude_archived: flag('Whether to leave out archived channels.', true),
    include_all: json(z.boolean(), {
      alias: 'include_all_active',
      description: 'Whether to include all channels that you can see.',
    }).default(false),
    include_default: flag('Whether to add `is_default` to each channel.', false),
    include_owner_subscribed: flag(
      "Whether to include the channels that the bot's owner is subscribed to. For bots.",
      false,
    ),
    include_can_access_content: flag('Whether to include channels that you can read.', false),
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
  equivalents: ['channel(by:)'],
  summary: 'Get a channel',
  params: { stream_id: streamId },
  reply: { stream: wireChannel },
  handle: async (ctx, { stream_id }) => ({ stream: await showChannel(ctx, stream_id) }),
});

export const getStreamId = endpoint({
  method: 'GET',
  path: '/get_stream_id',
  auth: 'basic',
  equivalents: ['channel(by:)'],
  summary: "Get a channel's id by its name",
  params: { stream: text(z.string(), { description: 'Name of the channel. Case-insensitive.', example: 'general' }) },
  reply: { stream_id: z.int() },
  handle: async (ctx, { stream }) => ({ stream_id: await channelIdOf(ctx, { name: stream }) }),
});

export const getStreamMembers = endpoint({
  method: 'GET',
  path: '/streams/{stream_id}/members',
  auth: 'basic',
  equivalents: ['Channel.subscribers'],
  summary: "List a channel's subscribers",
  params: { stream_id: streamId },
  reply: { subscribers: z.array(z.int()) },
  handle: async (ctx, { stream_id }) => ({ subscribers: await channelSubscriberIds(ctx, stream_id) }),
});

export const postChannelsCreate = endpoint({
  method: 'POST',
  path: '/channels/create',
  auth: 'basic',
  equivalents: ['createChannel'],
  scope: 'administration',
  summary: 'Create a channel',
  permission: 'members with the permission to create this kind of channel',
  params: {
    name: text(z.string(), {
      description: 'Name: at most 60 characters, unique in the organization (case-insensitive).',
      example: 'sailing',
    }),
    description: text(z.string(), ABOUT).default(''),
    subscribers: json(z.array(z.int()), { description: 'Ids of the first subscribers.', example: '[]' }),
    ...creationParams,
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
  equivalents: ['updateChannel', 'unarchiveChannel'],
  scope: 'administration',
  summary: 'Update a channel',
  permission: 'users who can administer the channel',
  params: {
    stream_id: streamId,
    description: text(z.string(), ABOUT).optional(),
    new_name: text(z.string(), {
      description: 'Name: at most 60 characters, unique in the organization (case-insensitive).',
    }).optional(),
    is_private: json(z.boolean(), {
      description: 'Whether only subscribers and users with a permission on the channel can read it.',
    }).optional(),
    is_web_public: json(z.boolean(), { description: 'Whether the channel can be read without signing in.' }).optional(),
    history_public_to_subscribers: creationParams.history_public_to_subscribers,
    is_default_stream: json(z.boolean(), {
      description: 'Whether new users are subscribed to the channel by default.',
    }).optional(),
    message_retention_days: creationParams.message_retention_days,
    is_archived: json(z.boolean(), { description: 'false restores an archived channel. true is rejected.' }).optional(),
    folder_id: json(z.int().nullable(), {
      description: 'Id of the folder of the channel. null removes the channel from its folder.',
    }).optional(),
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
  equivalents: ['archiveChannel'],
  scope: 'administration',
  summary: 'Archive a channel',
  permission: 'users who can administer the channel',
  params: { stream_id: streamId },
  reply: {},
  handle: async (ctx, { stream_id }) => archiveChannel(ctx, stream_id),
});

export const postDefaultStream = endpoint({
  method: 'POST',
  path: '/default_streams',
  auth: 'basic',
  equivalents: ['updateChannel(isDefault:)'],
  scope: 'administration',
  summary: 'Add a default channel',
  permission: 'administrators',
  params: { stream_id: json(z.int(), { description: 'Id of the channel.', example: '1' }) },
  reply: {},
  handle: async (ctx, { stream_id }) => setDefaultChannel(ctx, stream_id, true),
});

export const deleteDefaultStream = endpoint({
  method: 'DELETE',
  path: '/default_streams',
  auth: 'basic',
  equivalents: ['updateChannel(isDefault:)'],
  scope: 'administration',
  summary: 'Remove a default channel',
  permission: 'administrators',
  params: { stream_id: json(z.int(), { description: 'Id of the channel.', example: '1' }) },
  reply: {},
  handle: async (ctx, { stream_id }) => setDefaultChannel(ctx, stream_id, false),
});
