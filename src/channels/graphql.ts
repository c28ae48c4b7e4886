import { type Ctx, signedIn } from '../access/context.ts';
import {
  CHANNEL_PERMISSION_NAMES,
  type ChannelPermissionName,
  type ChannelPermissions,
  channelPermission,
} from '../access/permissions/channel-permissions.ts';
import { CHANNEL_PERMISSION_MEANINGS } from '../access/permissions/meanings.ts';
import { systemGroups, toWireGroupSetting, type WireGroupSetting } from '../access/permissions/system-groups.ts';
import { TOPICS_POLICY } from '../access/realm-settings.ts';
import { builder } from '../api/graphql/builder.ts';
import type { ConnectionArguments } from '../api/graphql/connection.ts';
import type { GraphQLContext } from '../api/graphql/context.ts';
import { errorType } from '../api/graphql/errors.ts';
import { present } from '../api/graphql/keyed-loader.ts';
import { byNumber, nodeTypeForEach, unlessAbsent } from '../api/graphql/node.ts';
import { type OrderBy, orderInput } from '../api/graphql/order-by.ts';
import { pageSize } from '../api/graphql/page-size.ts';
import { permissionsType } from '../api/graphql/permission-fields.ts';
import { refersTo } from '../api/graphql/refs.ts';
import { enumOf } from '../api/graphql/setting-fields.ts';
import { sortedRows } from '../api/graphql/sorted-list.ts';
import { byKeyIfAny } from '../api/graphql/together.ts';
import type { Channel as ChannelRow } from '../generated/prisma/client.ts';
import { User } from '../people/graphql.ts';
import { usersById } from '../people/loaders.ts';
import type { Place, SortKey } from '../platform/db/keyset.ts';
import { contains } from '../platform/text.ts';
import { accessChannel, visibleTo } from './access.ts';
import { listedChannels } from './channel-list.ts';
import { ChannelRef } from './channel-ref.ts';
import { ChannelAlreadyExistsError, ChannelDoesNotExistError } from './errors.ts';
import { ChannelFolder } from './folders/graphql.ts';
import { foldersById } from './folders/loaders.ts';
import { channelActivities, visibleChannels, visibleFor } from './loaders.ts';
import { channelIdOf } from './reads.ts';
import type { TopicsPolicy } from './settings.ts';
import { subscriberCounts } from './subscriptions/loaders.ts';

const CALLED = 'What it is called, in at most 60 characters.';
const SOURCE = 'What it is for, in flavored Markdown; at most 1,024 characters.';
const HTML = 'What it is for, as HTML.';
export const PRIVATE = 'Whether only those read it who are subscribed or hold a permission for it.';
export const WEB_PUBLIC = 'Whether it can be read without signing in.';
export const HISTORY = 'Whether new subscribers see what was sent before they came; always so unless it is private.';
const ARCHIVED = 'Whether nothing more can be sent to it. It can still be read.';
export const DEFAULT = 'Whether new users are subscribed to it.';
const ACTIVE = 'Whether it was made, or written to, in the last 180 days.';
const TRAFFIC = 'Messages a week, in two significant digits; null in the first week.';
export const TOPICS = 'Whether messages in it must have a topic.';
const CREATED = 'When it was made.';
const CREATOR = 'Who made it; null when nobody is known to have.';
export const FOLDER = 'The folder it stands in; null for none.';
export const PERMISSIONS = 'Who may do what in it.';

export const NAME = 'Not blank; at most 60 characters; unique in the organization, in whatever case.';
export const CHANNEL_DESCRIPTION = 'Flavored Markdown; at most 1,024 characters. Line breaks become spaces.';

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

export const TopicsPolicyEnum = enumOf(TOPICS_POLICY);

type PermissionsSource = Record<ChannelPermissionName, WireGroupSetting>;

const ChannelPermissionsType = permissionsType(
  'ChannelPermissions',
  'Who may do what in a channel.',
  CHANNEL_PERMISSION_MEANINGS,
);
async function permissionsOf({ app, realmId }: Ctx, channel: ChannelPermissions): Promise<PermissionsSource> {
  const groups = await systemGroups(app.db, realmId);
  const settings = CHANNEL_PERMISSION_NAMES.map((name) => [
    name,
    toWireGroupSetting(groups, channelPermission(groups, channel, name)),
  ]);
  return Object.fromEntries(settings) as PermissionsSource;
}

export const RETENTION = "Days to keep messages; -1 keeps them for ever, null is the organization's value.";

export const Channel = builder.prismaNode('Channel', {
  description: 'A place for messages, each under a topic.',
  ...byNumber,
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
    creator: t.field({
      type: User,
      nullable: true,
      description: CREATOR,
      resolve: byKeyIfAny(usersById, ({ creatorId }) => creatorId),
    }),
    folder: t.field({
      type: ChannelFolder,
      nullable: true,
      description: FOLDER,
      resolve: byKeyIfAny(foldersById, ({ folderId }) => folderId),
    }),
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
    description: 'One channel; null when there is none, or none the viewer sees.',
    args: { by: t.arg({ type: ChannelRef, description: 'Which channel.' }) },
    resolve: async (query, _root, { by }, ctx) => {
      const me = signedIn(ctx);
      const found = async () => accessChannel(me, await channelIdOf(me, by));
      const channel = await unlessAbsent(found());
      return channel === null
        ? null
        : ctx.app.db.channel.findUnique({ ...query, where: { realmId_id: { realmId: me.realmId, id: channel.id } } });
    },
  }),
);

export const ChannelConnection = builder.connectionObject(
  { type: Channel, name: 'ChannelConnection' },
  { name: 'ChannelEdge' },
);

export type ChannelField = 'name' | 'createdAt' | 'subscriberCount' | 'weeklyTraffic';

/** How lists of channels are sorted. */
export const ChannelOrder = orderInput<ChannelField>('Channel', 'channels', {
  NAME: { value: 'name', description: 'What they are called, whatever the case.' },
  CREATED_AT: { value: 'createdAt', description: 'When they were made.' },
  SUBSCRIBER_COUNT: { value: 'subscriberCount', description: 'How many users are subscribed. It costs 10 more.' },
  WEEKLY_TRAFFIC: {
    value: 'weeklyTraffic',
    description: 'Messages a week; channels in their first week are the lowest. It costs 10 more.',
  },
});

const BY_NAME: OrderBy<ChannelField> = { field: 'name', direction: 'asc' };
/** Our choice: what it costs besides the page to sort by what must be counted of every channel. */
const COUNTING_COST = 10;
const isCounted = (field: ChannelField) => field === 'subscriberCount' || field === 'weeklyTraffic';

/** What of a list of channels is asked for. */
export interface ChannelListArguments extends ConnectionArguments {
  readonly orderBy?: OrderBy<ChannelField> | null | undefined;
}

/** What a page of a list of channels costs. */
export const channelsCost = ({ orderBy, ...page }: ChannelListArguments) => ({
  field: orderBy != null && isCounted(orderBy.field) ? 1 + COUNTING_COST : 1,
  multiplier: pageSize(page),
});

/** A list of channels, sorted as it is asked for. @param otherwise How, where nothing is asked for. */
export const sortedChannels = (
  list: string,
  { orderBy, ...args }: ChannelListArguments,
  otherwise: OrderBy<ChannelField>,
) => {
  const by = orderBy ?? otherwise;
  return { list, orderBy: by, keyType: by.field === 'name' ? 'string' : 'number', args } as const;
};

builder.queryField('channels', (t) =>
  t.connection(
    {
      type: Channel,
      description: 'The channels the viewer sees. Each argument given leaves out those it does not fit.',
      complexity: channelsCost,
      args: {
        orderBy: t.arg({
          type: ChannelOrder,
          required: false,
          defaultValue: BY_NAME,
          description: 'How they are sorted.',
        }),
        nameContains: t.arg.string({ required: false, description: 'What stands in its name, in whatever case.' }),
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
      resolve: async (_root, { nameContains, ...args }, ctx) => {
        const rows = await listedChannels(signedIn(ctx), args);
        const wanted = rows.filter(({ name }) => contains(name, nameContains));
        const sorted = sortedChannels('channels', args, BY_NAME);
        const places = await channelPlaces(ctx, sorted.orderBy.field, wanted);
        return sortedRows<ChannelRow>({
          ...{ ...sorted, places, idOf: ({ id }) => id },
          read: async (ids) => present(await visibleChannels(ctx).loadAll(ids)),
        });
      },
    },
    ChannelConnection,
  ),
);

/** A channel, with what lists are sorted by. */
export interface SortableChannel {
  readonly id: number;
  readonly name: string;
  readonly createdAt: Date;
}

type KeyOf = (ctx: GraphQLContext, channel: SortableChannel) => SortKey | Promise<SortKey>;

const KEY_OF: Readonly<Record<ChannelField, KeyOf>> = {
  name: (_ctx, { name }) => name,
  createdAt: (_ctx, { createdAt }) => createdAt.getTime(),
  subscriberCount: (ctx, { id }) => subscriberCounts(ctx).load(id),
  weeklyTraffic: async (ctx, channel) => (await channelActivities(ctx).load(channel)).weeklyTraffic ?? -1,
};

/** Of each channel what a list is sorted by: what is counted takes two statements, however many lists and channels. */
export function channelPlaces(
  ctx: GraphQLContext,
  field: ChannelField,
  channels: readonly SortableChannel[],
): Promise<Place[]> {
  const keyOf = KEY_OF[field];
  return Promise.all(channels.map(async (channel) => ({ id: channel.id, key: await keyOf(ctx, channel) })));
}

/** The channel, unless the change put it out of the viewer's sight. */
export async function stillSeen(ctx: Ctx, channelId: number) {
  const where = { AND: [{ id: channelId }, await visibleTo(ctx)] };
  return { channel: await ctx.app.db.channel.findFirst({ where }) };
}
