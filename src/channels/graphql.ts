import { type Ctx, signedIn } from '../access/context.ts';
import {
  CHANNEL_PERMISSION_NAMES,
  type ChannelPermissionName,
  type ChannelPermissions,
  channelPermission,
} from '../access/permissions/channel-permissions.ts';
import { systemGroups, toWireGroupSetting, type WireGroupSetting } from '../access/permissions/system-groups.ts';
import { TOPICS_POLICY } from '../access/realm-settings.ts';
import { builder, type Types } from '../api/graphql/builder.ts';
import { pageOf } from '../api/graphql/connection.ts';
import { fromEvent } from '../api/graphql/entity-facts.ts';
import { errorType } from '../api/graphql/errors.ts';
import { type EventSource, eventType } from '../api/graphql/event-types.ts';
import { given, mutation } from '../api/graphql/mutation.ts';
import { nodeTypeForEach, unlessAbsent } from '../api/graphql/node.ts';
import {
  permissionEditsGiven,
  permissionEditsInput,
  permissionsGiven,
  permissionsInput,
  permissionsType,
  toWireSetting,
} from '../api/graphql/permission-fields.ts';
import { refersTo } from '../api/graphql/refs.ts';
import { enumOf } from '../api/graphql/setting-fields.ts';
import { BadRequestError, ExpectationMismatchError, UnauthorizedPrincipalError } from '../platform/errors.ts';
import { isRowId } from '../platform/ids.ts';
import { accessChannel, readableBy, visibleTo } from './access.ts';
import { archiveChannel, unarchiveChannel } from './archive.ts';
import { type ChannelOptions, createChannel } from './create.ts';
import { changedChannel, defaultChannel, factsAbout } from './entity-facts.ts';
import { ChannelAlreadyExistsError, ChannelDoesNotExistError } from './errors.ts';
import type { KnownChannels, KnownUpdate } from './events.ts';
import { channelActivities, visibleFor } from './loaders.ts';
import { findChannelId } from './reads.ts';
import type { Retention, TopicsPolicy } from './settings.ts';
import { updateChannel } from './update.ts';

const CALLED = 'What it is called, in at most 60 characters.';
const SOURCE = 'What it is for, in flavored Markdown; at most 1,024 characters.';
const HTML = 'What it is for, as HTML.';
const PRIVATE = 'Whether only those read it who are subscribed or hold a permission for it.';
const WEB_PUBLIC = 'Whether it can be read without signing in.';
const HISTORY = 'Whether new subscribers see what was sent before they came; always so unless it is private.';
const ARCHIVED = 'Whether nothing more can be sent to it. It can still be read.';
const DEFAULT = 'Whether new users are subscribed to it.';
const ACTIVE = 'Whether it was made, or written to, in the last 180 days.';
const TRAFFIC = 'Messages a week, in two significant digits; null in the first week.';
const TOPICS = 'Whether messages in it must have a topic.';
const CREATED = 'When it was made.';
const CREATOR = 'Who made it; null when nobody is known to have.';
const FOLDER = 'The folder it stands in; null for none.';
const PERMISSIONS = 'Who may do what in it.';

const NAME = 'Not blank; at most 60 characters; unique in the organization, in whatever case.';
export const CHANNEL_DESCRIPTION = 'Flavored Markdown; at most 1,024 characters. Line breaks become spaces.';

const MEANING: Record<ChannelPermissionName, string> = {
  can_add_subscribers_group: 'May subscribe others, and reads the channel although it is private.',
  can_administer_channel_group: 'May change the channel.',
  can_create_topic_group: 'May start a topic.',
  can_delete_any_message_group: 'May delete any message.',
  can_delete_own_message_group: 'May delete their own messages, besides those the organization lets.',
  can_move_messages_out_of_channel_group: 'May move messages to another channel, besides those the organization lets.',
  can_move_messages_within_channel_group: 'May move messages to another topic, besides those the organization lets.',
  can_remove_subscribers_group: 'May unsubscribe others.',
  can_resolve_topics_group: 'May mark topics as resolved, besides those the organization lets.',
  can_send_message_group: 'May send messages.',
  can_subscribe_group: 'May subscribe to the channel, and reads it, although it is private.',
};

errorType(ChannelDoesNotExistError, 'The channel is not there, or not for the viewer.', (t) => ({
  channelId: t.id({
    ...refersTo('Channel'),
    nullable: true,
    description: 'The channel, where it was asked for by id.',
    resolve: ({ data }) => ('stream_id' in data ? data.stream_id : null),
  }),
  channelName: t.string({
    nullable: true,
    description: 'The name, where it was asked for by name.',
    resolve: ({ data }) => ('stream' in data ? data.stream : null),
  }),
}));
errorType(ChannelAlreadyExistsError, 'The name is taken, in whatever case.', (t) => ({
  channelName: t.string({ description: 'The name, as it was asked for.', resolve: ({ data }) => data.channel_name }),
}));

const TopicsPolicyEnum = enumOf(TOPICS_POLICY);

type PermissionsSource = Record<ChannelPermissionName, WireGroupSetting>;

const ChannelPermissionsType = permissionsType('ChannelPermissions', 'Who may do what in a channel.', MEANING);
async function permissionsOf({ app, realmId }: Ctx, channel: ChannelPermissions): Promise<PermissionsSource> {
  const groups = await systemGroups(app.db, realmId);
  const settings = CHANNEL_PERMISSION_NAMES.map((name) => [
    name,
    toWireGroupSetting(groups, channelPermission(groups, channel, name)),
  ]);
  return Object.fromEntries(settings) as PermissionsSource;
}

const RETENTION = "Days to keep messages; -1 keeps them for ever, null is the organization's value.";

export const Channel = builder.prismaNode('Channel', {
  description: 'A place for messages, each under a topic.',
  id: { field: 'id' },
  fields: (t) => ({
    databaseId: t.exposeInt('id', { description: 'The number that the REST API knows it by.' }),
    name: t.exposeString('name', { description: CALLED }),
    description: t.exposeString('description', { description: SOURCE }),
    renderedDescription: t.exposeString('renderedDescription', { description: HTML }),
    isPrivate: t.exposeBoolean('inviteOnly', { description: PRIVATE }),
    isWebPublic: t.exposeBoolean('isWebPublic', { description: WEB_PUBLIC }),
    historyPublicToSubscribers: t.exposeBoolean('historyPublicToSubscribers', { description: HISTORY }),
    isArchived: t.exposeBoolean('isArchived', { description: ARCHIVED }),
    isDefault: t.exposeBoolean('isDefault', { description: DEFAULT }),
    isRecentlyActive: t.boolean({
      description: ACTIVE,
      resolve: async (channel, _args, ctx) => (await channelActivities(ctx).load(channel)).isRecentlyActive,
    }),
    weeklyTraffic: t.int({
      nullable: true,
      description: TRAFFIC,
      resolve: async (channel, _args, ctx) => (await channelActivities(ctx).load(channel)).weeklyTraffic,
    }),
    topicsPolicy: t.field({
      type: TopicsPolicyEnum,
      description: TOPICS,
      resolve: ({ topicsPolicy }) => topicsPolicy as TopicsPolicy,
    }),
    messageRetentionDays: t.exposeInt('messageRetentionDays', { nullable: true, description: RETENTION }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: CREATED }),
    creator: t.relation('creator', { nullable: true, description: CREATOR }),
    folder: t.relation('folder', { nullable: true, description: FOLDER }),
    permissions: t.field({
      type: ChannelPermissionsType,
      description: PERMISSIONS,
      resolve: (channel, _args, ctx) => permissionsOf(signedIn(ctx), channel),
    }),
  }),
});
nodeTypeForEach('Channel', visibleFor);

builder.queryField('channel', (t) =>
  t.prismaField({
    type: Channel,
    nullable: true,
    description: 'One channel, by `channelId` or by `name`; null when there is none, or none the viewer sees.',
    args: {
      channelId: t.arg.id({
        ...refersTo('Channel'),
        required: false,
        description: 'Which channel; absent with `name`.',
      }),
      name: t.arg.string({ required: false, description: 'What it is called, in whatever case.' }),
    },
    resolve: async (query, _root, { channelId, name }, ctx) => {
      if ((channelId == null) === (name == null)) throw new BadRequestError('Give either channelId or name');
      const me = signedIn(ctx);
      const found = async () => accessChannel(me, channelId ?? (await findChannelId(me, name ?? '')));
      const channel = await unlessAbsent(found());
      return channel === null ? null : ctx.app.db.channel.findUnique({ ...query, where: { id: channel.id } });
    },
  }),
);

export const ChannelConnection = builder.connectionObject(
  { type: Channel, name: 'ChannelConnection' },
  { name: 'ChannelEdge' },
);

builder.queryField('channels', (t) =>
  t.connection(
    {
      type: Channel,
      description: 'The channels the viewer sees, by name. Each argument given leaves out those it does not fit.',
      args: {
        isSubscribed: t.arg.boolean({ required: false, description: 'Whether the viewer is subscribed to it.' }),
        onlyReadable: t.arg.boolean({
          required: false,
          defaultValue: false,
          description: 'Leaves out channels of which the viewer may not read what is written.',
        }),
        isPrivate: t.arg.boolean({ required: false, description: PRIVATE }),
        isWebPublic: t.arg.boolean({ required: false, description: WEB_PUBLIC }),
        isDefault: t.arg.boolean({ required: false, description: DEFAULT }),
        folderId: t.arg.id({
          ...refersTo('ChannelFolder'),
          required: false,
          description: 'The folder it stands in.',
        }),
        includeArchived: t.arg.boolean({
          required: false,
          defaultValue: false,
          description: 'Whether archived channels are listed as well.',
        }),
      },
      resolve: async (_root, args, ctx, info) => {
        const where = { AND: [await visibleTo(signedIn(ctx)), await filterOf(signedIn(ctx), args)] };
        return pageOf('Channel', { where, order: { name: 'asc', id: 'asc' }, args, ctx, info });
      },
    },
    ChannelConnection,
  ),
);

interface ChannelArguments {
  readonly isSubscribed?: boolean | null | undefined;
  readonly onlyReadable?: boolean | null | undefined;
  readonly isPrivate?: boolean | null | undefined;
  readonly isWebPublic?: boolean | null | undefined;
  readonly isDefault?: boolean | null | undefined;
  readonly folderId?: number | null | undefined;
  readonly includeArchived?: boolean | null | undefined;
}

async function filterOf(ctx: Ctx, args: ChannelArguments) {
  const { isSubscribed, onlyReadable, isPrivate, isWebPublic, isDefault, folderId, includeArchived } = args;
  const mine = { userId: ctx.viewer.id, active: true };
  return {
    ...(isPrivate != null && { inviteOnly: isPrivate }),
    ...(isWebPublic != null && { isWebPublic }),
    ...(isDefault != null && { isDefault }),
    // An id that no row can have is the id of no folder.
    ...(folderId != null && { folderId: isRowId(folderId) ? folderId : -1 }),
    ...(isSubscribed != null && { subscriptions: isSubscribed ? { some: mine } : { none: mine } }),
    ...(includeArchived !== true && { isArchived: false }),
    ...(onlyReadable === true && { AND: [await readableBy(ctx)] }),
  };
}

const ChannelPermissionsInput = permissionsInput(
  'ChannelPermissionsInput',
  'Who may do what in a new channel. What is left out takes its default.',
  MEANING,
);

const ChannelPermissionEditsInput = permissionEditsInput(
  'ChannelPermissionEditsInput',
  'Which permissions of a channel are to change.',
  MEANING,
);

type InputFields = PothosSchemaTypes.InputFieldBuilder<Types, 'InputObject'>;

const optionFields = (t: InputFields) => ({
  isPrivate: t.boolean({ required: false, defaultValue: false, description: PRIVATE }),
  isWebPublic: t.boolean({ required: false, defaultValue: false, description: WEB_PUBLIC }),
  historyPublicToSubscribers: t.boolean({
    required: false,
    description: 'Of a private channel: whether new subscribers see what was sent before.',
  }),
  isDefault: t.boolean({
    required: false,
    defaultValue: false,
    description: DEFAULT,
  }),
  folderId: t.id({ ...refersTo('ChannelFolder'), required: false, description: FOLDER }),
  topicsPolicy: t.field({ type: TopicsPolicyEnum, required: false, description: `${TOPICS} INHERIT, if absent.` }),
  messageRetentionDays: t.int({ required: false, description: RETENTION }),
  permissions: t.field({ type: ChannelPermissionsInput, required: false, description: PERMISSIONS }),
});

export const ChannelOptionsInput = builder.inputType('ChannelOptionsInput', {
  description: 'How a new channel is to be.',
  fields: optionFields,
});

/** Null and -1 are what is stored; the core takes the interface's words. */
const toRetention = (days: number | null): Retention =>
  days === null ? 'realm_default' : days === -1 ? 'unlimited' : days;

export function toOptions(input: typeof ChannelOptionsInput.$inferInput): ChannelOptions {
  const { permissions, messageRetentionDays, ...options } = input;
  return {
    ...given(options),
    ...(messageRetentionDays != null && { messageRetentionDays: toRetention(messageRetentionDays) }),
    permissions: permissionsGiven(CHANNEL_PERMISSION_NAMES, permissions, toWireSetting),
  };
}

/** The channel, unless the change put it out of the viewer's sight. */
export async function stillSeen(ctx: Ctx, channelId: number) {
  const where = { AND: [{ id: channelId }, await visibleTo(ctx)] };
  return { channel: await ctx.app.db.channel.findFirst({ where }) };
}

const SEEN = "The channel; null when the change put it out of the viewer's sight.";
const seenChannel = () => ({ channel: { type: Channel, nullable: true, description: SEEN } }) as const;

mutation('createChannel', {
  description: 'Creates a channel and subscribes its first users.',
  input: (t) => ({
    name: t.string({ description: NAME }),
    description: t.string({ required: false, defaultValue: '', description: CHANNEL_DESCRIPTION }),
    subscriberIds: t.idList({
      ...refersTo('User'),
      required: false,
      defaultValue: [],
      description: 'The users it begins with.',
    }),
    ...optionFields(t),
  }),
  payload: seenChannel,
  errors: [ChannelAlreadyExistsError, UnauthorizedPrincipalError],
  resolve: async (ctx, { name, description, subscriberIds, ...options }) => {
    const channelId = await createChannel(ctx, {
      ...toOptions(options),
      name,
      description: description ?? '',
      subscriberIds: subscriberIds ?? [],
    });
    return stillSeen(ctx, channelId);
  },
});

mutation('updateChannel', {
  description: "Changes what is given of a channel. For the channel's administrators.",
  input: (t) => ({
    channelId: t.id({ ...refersTo('Channel'), description: 'Which channel to change.' }),
    name: t.string({ required: false, description: NAME }),
    description: t.string({ required: false, description: CHANNEL_DESCRIPTION }),
    isPrivate: t.boolean({ required: false, description: PRIVATE }),
    isWebPublic: t.boolean({ required: false, description: WEB_PUBLIC }),
    historyPublicToSubscribers: t.boolean({ required: false, description: HISTORY }),
    isDefault: t.boolean({ required: false, description: `${DEFAULT} For administrators.` }),
    folderId: t.id({
      ...refersTo('ChannelFolder'),
      required: false,
      description: 'The folder to put it into; null takes it out of its folder.',
    }),
    topicsPolicy: t.field({ type: TopicsPolicyEnum, required: false, description: TOPICS }),
    messageRetentionDays: t.int({ required: false, description: `${RETENTION} For owners.` }),
    permissions: t.field({ type: ChannelPermissionEditsInput, required: false, description: PERMISSIONS }),
  }),
  payload: seenChannel,
  errors: [ExpectationMismatchError, UnauthorizedPrincipalError],
  resolve: async (ctx, { channelId, folderId, messageRetentionDays, permissions, ...edit }) => {
    await updateChannel(ctx, channelId, {
      ...given(edit),
      folderId,
      ...(messageRetentionDays !== undefined && { messageRetentionDays: toRetention(messageRetentionDays) }),
      permissions: permissionEditsGiven(CHANNEL_PERMISSION_NAMES, permissions),
    });
    return stillSeen(ctx, channelId);
  },
});

mutation('archiveChannel', {
  description: "Archives a channel: nothing more can be sent to it. For the channel's administrators.",
  input: (t) => ({ channelId: t.id({ ...refersTo('Channel'), description: 'Which channel to archive.' }) }),
  payload: seenChannel,
  resolve: async (ctx, { channelId }) => {
    await archiveChannel(ctx, channelId);
    return stillSeen(ctx, channelId);
  },
});

mutation('unarchiveChannel', {
  description: "Brings a channel back from the archive. For the channel's administrators.",
  input: (t) => ({ channelId: t.id({ ...refersTo('Channel'), description: 'Which channel to bring back.' }) }),
  payload: seenChannel,
  resolve: async (ctx, { channelId }) => {
    await unarchiveChannel(ctx, channelId);
    return stillSeen(ctx, channelId);
  },
});

eventType<unknown, KnownChannels>(
  'stream',
  'create',
  'ChannelsCreatedEvent',
  (t) => ({
    channels: t.field({
      type: [Channel],
      nullable: { list: false, items: true },
      description: 'Those that the user sees from here on.',
      ...fromEvent(factsAbout, ({ facts }: EventSource<unknown, KnownChannels>) => facts.channels),
    }),
  }),
  { description: "Channels came into the user's sight: they are new, or may be seen from here on." },
);

eventType<{ stream_ids: readonly number[] }>(
  'stream',
  'delete',
  'ChannelsDeletedEvent',
  (t) => ({
    channelIds: t.idList({
      ...refersTo('Channel'),
      description: 'Those that the user sees no more.',
      resolve: ({ event }) => event.stream_ids,
    }),
  }),
  { description: "Channels left the user's sight." },
);

/** What may change of a channel, and its name on the wire. */
const CHANNEL_PROPERTIES = {
  NAME: { value: 'name', description: 'What it is called.' },
  DESCRIPTION: { value: 'description', description: 'What it is for, as source and as HTML.' },
  PRIVACY: { value: 'invite_only', description: 'Who sees the channel, and its history.' },
  IS_ARCHIVED: { value: 'is_archived', description: 'Whether nothing more can be sent to it.' },
  FOLDER: { value: 'folder_id', description: 'The folder it stands in.' },
  TOPICS_POLICY: { value: 'topics_policy', description: TOPICS },
  MESSAGE_RETENTION_DAYS: {
    value: 'message_retention_days',
    description: 'For how many days messages in it are kept.',
  },
  POST_POLICY: { value: 'stream_post_policy', description: 'For old clients: who may send messages.' },
  IS_ANNOUNCEMENT_ONLY: {
    value: 'is_announcement_only',
    description: 'For still older clients: whether only administrators may send messages.',
  },
  ...Object.fromEntries(
    CHANNEL_PERMISSION_NAMES.map((name) => [
      name.replace(/_group$/, '').toUpperCase(),
      { value: name, description: `The permission: ${MEANING[name]}` },
    ]),
  ),
};

const ChannelProperty = builder.enumType('ChannelProperty', {
  description: 'What can change of a channel, with the forms that old clients know.',
  values: CHANNEL_PROPERTIES,
});

interface WireChannelUpdate {
  readonly property: string;
}

eventType<WireChannelUpdate, KnownUpdate>(
  'stream',
  'update',
  'ChannelUpdatedEvent',
  (t) => ({
    channel: t.field({
      type: Channel,
      nullable: true,
      description: 'The channel that changed.',
      ...fromEvent(changedChannel, ({ facts }: EventSource<WireChannelUpdate, KnownUpdate>) => facts),
    }),
    property: t.field({
      type: ChannelProperty,
      description: 'What changed of it.',
      resolve: ({ event }) => event.property,
    }),
  }),
  { description: 'One property of a channel changed.' },
);

eventType<{ default_streams: readonly number[] }>(
  'default_streams',
  undefined,
  'DefaultChannelsChangedEvent',
  (t) => ({
    channels: t.field({
      type: [Channel],
      nullable: { list: false, items: true },
      description: 'All channels that new users are subscribed to.',
      ...fromEvent(
        defaultChannel,
        ({ event }: EventSource<{ default_streams: readonly number[] }>) => event.default_streams,
      ),
    }),
  }),
  { description: 'Other channels are the ones new users are subscribed to; these are all of them.' },
);
