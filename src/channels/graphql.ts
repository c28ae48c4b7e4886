import { type Ctx, signedIn } from '../access/context.ts';
import {
  CHANNEL_PERMISSION_NAMES,
  type ChannelPermissionName,
  type ChannelPermissions,
  channelPermission,
} from '../access/permissions/channel-permissions.ts';
import { CHANNEL_PERMISSION_MEANINGS } from '../access/permissions/meanings.ts';
import { TOPICS_POLICY } from '../access/realm-settings.ts';
import { systemGroups, toWireGroupSetting, type WireGroupSetting } from '../access/system-groups.ts';
import { byKeyIfAny } from '../api/graphql/loading/batch-resolvers.ts';
import type { GraphQLContext } from '../api/graphql/loading/context.ts';
import { present } from '../api/graphql/loading/keyed-loader.ts';
import { builder } from '../api/graphql/schema/builder.ts';
import type { ConnectionArguments } from '../api/graphql/schema/connection.ts';
import { errorType } from '../api/graphql/schema/errors.ts';
import { byNumber, nodeTypeForEach, unlessAbsent } from '../api/graphql/schema/node.ts';
import { type OrderBy, orderInput } from '../api/graphql/schema/order-by.ts';
import { pageSize } from '../api/graphql/schema/page-size.ts';
import { permissionsType } from '../api/graphql/schema/permission-fields.ts';
import { refersTo } from '../api/graphql/schema/refs.ts';
import { enumOf } from '../api/graphql/schema/setting-fields.ts';
import { sortedRows } from '../api/graphql/schema/sorted-list.ts';
import type { Channel as ChannelRow } from '../generated/prisma/client.ts';
import { User } from '../people/graphql.ts';
import { usersById } from '../people/loaders.ts';
import type { Place, SortKey } from '../platform/db/keyset.ts';
import { nameFilter } from '../platform/folding.ts';
import { accessChannel, visibleTo } from './access.ts';
import { listedChannels } from './channel-list.ts';
import { ChannelRef } from './channel-ref.ts';
import { ChannelAlreadyExistsError, ChannelDoesNotExistError } from './errors.ts';
import { ChannelFolder } from './folders/graphql.ts';
import { foldersById } from './folders/loaders.ts';
import { channelActivities, visibleChannels, visibleFor } from './loaders.ts';
import { channelIdOf } from './reads.ts';
import type { TopicsPolicy } from './settings.ts';
import { subscriberCounts } from './subscription-loaders.ts';

const CALLED = 'Name of the channel, at most 60 characters.';
const SOURCE = 'Description of the channel, in Markdown, at most 1,024 characters.';
const HTML = 'Description of the channel, as HTML.';
export const PRIVATE = 'Whether only subscribers and users with a permission on the channel can read it.';
export const WEB_PUBLIC = 'Whether the channel can be read without signing in.';
export const HISTORY =
  'Whether new subscribers can read messages that were sent before they subscribed. Always true unless the channel ' +
  'is private.';
const ARCHIVED = 'Whether the channel is archived. An archived channel can be read, but accepts no new messages.';
export const DEFAULT = 'Whether new users are subscribed to the channel by default.';
const ACTIVE = 'Whether the channel was created, or received a message, in the last 180 days.';
const TRAFFIC =
  'Average number of messages per week in the last 28 days, rounded to two significant digits. Null in the first week.';
export const TOPICS = 'Whether messages in the channel must have a topic.';
const CREATED = 'Creation time.';
const CREATOR = 'User who created the channel. Null if the creator is unknown.';
export const FOLDER = 'Folder of the channel. Null if it is in no folder.';
export const PERMISSIONS = 'Holders of each permission on the channel.';

export const NAME = 'Name: not blank, at most 60 characters, unique in the organization (case-insensitive).';
export const CHANNEL_DESCRIPTION =
  'Description in Markdown, at most 1,024 characters. Line breaks are replaced by spaces.';

errorType(ChannelDoesNotExistError, 'The channel does not exist, or the viewer cannot see it.', (t) => ({
  channelId: t.id({
    ...refersTo('Channel'),
    nullable: true,
    description: 'The given id. Null if the channel was given by name.',
    resolve: ({ data }) => ('stream_id' in data ? data.stream_id : null),
  }),
  channelName: t.string({
    nullable: true,
    description: 'The given name. Null if the channel was given by id.',
    resolve: ({ data }) => ('stream' in data ? data.stream : null),
  }),
}));
errorType(ChannelAlreadyExistsError, 'A channel with this name already exists, ignoring case.', (t) => ({
  channelName: t.string({ description: 'The given name.', resolve: ({ data }) => data.channel_name }),
}));

export const TopicsPolicyEnum = enumOf(TOPICS_POLICY);

type PermissionsSource = Record<ChannelPermissionName, WireGroupSetting>;

const ChannelPermissionsType = permissionsType(
  'ChannelPermissions',
  'Holders of each permission on a channel.',
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

export const RETENTION =
  "Number of days for which messages are kept. -1 keeps them forever. Null is the organization's setting.";

export const Channel = builder.prismaNode('Channel', {
  description: 'A channel. Its messages are grouped by topic.',
  ...byNumber,
  fields: (t) => ({
    databaseId: t.exposeInt('id', { description: 'Id of the channel in the REST API.' }),
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
    description: 'A channel. Null if it does not exist or the viewer cannot see it.',
    args: { by: t.arg({ type: ChannelRef, description: 'The channel, by id or name.' }) },
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

/** Sort orders for lists of channels. */
export const ChannelOrder = orderInput<ChannelField>('Channel', 'channels', {
  NAME: { value: 'name', description: 'Name, case-insensitive.' },
  CREATED_AT: { value: 'createdAt', description: 'Creation time.' },
  SUBSCRIBER_COUNT: { value: 'subscriberCount', description: 'Number of active subscribers. Adds 10 to the cost.' },
  WEEKLY_TRAFFIC: {
    value: 'weeklyTraffic',
    description: 'Messages per week. Channels in their first week have the lowest value. Adds 10 to the cost.',
  },
});

const BY_NAME: OrderBy<ChannelField> = { field: 'name', direction: 'asc' };
/** Extra cost, besides the page, of sorting by a value that is counted for every channel. */
const COUNTING_COST = 10;
const isCounted = (field: ChannelField) => field === 'subscriberCount' || field === 'weeklyTraffic';

/** Arguments of a list of channels. */
export interface ChannelListArguments extends ConnectionArguments {
  readonly orderBy?: OrderBy<ChannelField> | null | undefined;
}

/** Returns the cost of a page of a list of channels, for the limit on the cost of GraphQL operations. */
export const channelsCost = ({ orderBy, ...page }: ChannelListArguments) => ({
  field: orderBy != null && isCounted(orderBy.field) ? 1 + COUNTING_COST : 1,
  multiplier: pageSize(page),
});

/**
 * Returns the parameters of a sorted list of channels.
 *
 * @param otherwise Order to use if the arguments contain no order.
 */
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
      description:
        'The channels that the viewer can see. If several filters are given, a channel must match all of them. ' +
        'An absent filter matches every channel.',
      complexity: channelsCost,
      args: {
        orderBy: t.arg({
          type: ChannelOrder,
          required: false,
          defaultValue: BY_NAME,
          description: 'Sort order.',
        }),
        nameContains: t.arg.string({
          required: false,
          description:
            'Text that the name must contain, or beginnings of its words, in any order. Ignores case and accents.',
        }),
        isSubscribed: t.arg.boolean({
          required: false,
          description:
            'true: only channels that the viewer is subscribed to. false: only other channels. Absent: both.',
        }),
        onlyReadable: t.arg.boolean({
          required: false,
          defaultValue: false,
          description: 'Whether to leave out channels whose messages the viewer cannot read.',
        }),
        isPrivate: t.arg.boolean({ required: false, description: PRIVATE }),
        isWebPublic: t.arg.boolean({ required: false, description: WEB_PUBLIC }),
        isDefault: t.arg.boolean({ required: false, description: DEFAULT }),
        folderId: t.arg.id({
          ...refersTo('ChannelFolder'),
          required: false,
          description: 'Only channels in the folder with this id. Absent: all channels.',
        }),
        includeArchived: t.arg.boolean({
          required: false,
          defaultValue: false,
          description: 'Whether to include archived channels.',
        }),
      },
      resolve: async (_root, { nameContains, ...args }, ctx) => {
        const rows = await listedChannels(signedIn(ctx), args);
        const isNamed = nameFilter(nameContains);
        const wanted = rows.filter(({ name }) => isNamed(name));
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

/** A channel with the columns by which lists are sorted. */
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

/**
 * Returns the sort key of each channel. Keys that are counted (subscribers, weekly traffic) take two statements, regardless of
 * the number of lists and channels.
 */
export function channelPlaces(
  ctx: GraphQLContext,
  field: ChannelField,
  channels: readonly SortableChannel[],
): Promise<Place[]> {
  const keyOf = KEY_OF[field];
  return Promise.all(channels.map(async (channel) => ({ id: channel.id, key: await keyOf(ctx, channel) })));
}

/** Returns the payload of a mutation: the channel, or null if the change made it invisible to the viewer. */
export async function stillSeen(ctx: Ctx, channelId: number) {
  const where = { AND: [{ id: channelId }, await visibleTo(ctx)] };
  return { channel: await ctx.app.db.channel.findFirst({ where }) };
}
