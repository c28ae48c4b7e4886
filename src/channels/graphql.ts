import { type Ctx, signedIn } from '../access/context.ts';
import { TOPICS_POLICY } from '../access/organization-settings.ts';
import {
  CHANNEL_PERMISSION_NAMES,
  type ChannelPermissionName,
  type ChannelPermissions,
  channelPermission,
} from '../access/permissions/channel-permissions.ts';
import { CHANNEL_PERMISSION_MEANINGS } from '../access/permissions/meanings.ts';
import { systemGroups, toWireGroupSetting, type WireGroupSetting } from '../access/system-groups.ts';
import { byKeyIfAny } from '../api/graphql/loading/batch-resolvers.ts';
import type { GraphQLContext } from '../api/graphql/loading/context.ts';
import { present } from '../api/graphql/loading/keyed-loader.ts';
import { builder } from '../api/graphql/schema/builder.ts';
import type { Connection, ConnectionArguments } from '../api/graphql/schema/connection.ts';
import { byNumber, nodeTypeForEach, unlessAbsent } from '../api/graphql/schema/node.ts';
import { type OrderBy, orderInput } from '../api/graphql/schema/order-by.ts';
import { pageSize } from '../api/graphql/schema/page-size.ts';
import { permissionsType } from '../api/graphql/schema/permission-fields.ts';
import { refersTo } from '../api/graphql/schema/refs.ts';
import { enumOf } from '../api/graphql/schema/setting-fields.ts';
import { keysetOf, pageAmong, pageRead, type SortedPage, sortedConnection } from '../api/graphql/schema/sorted-list.ts';
import { User } from '../people/graphql.ts';
import { usersById } from '../people/loaders.ts';
import type { RowKey } from '../platform/db/keyset.ts';
import { refuseNullBytes } from '../platform/text.ts';
import { accessChannel, visibleTo } from './access.ts';
import { channelAddress, pageUrl } from './addresses.ts';
import { ALL_CHANNELS, type ChannelListFilter, countChannels, readChannelRowKeys } from './channel-list.ts';
import { ChannelRef } from './channel-ref.ts';
import { ChannelFolder } from './folders/graphql.ts';
import { foldersById } from './folders/loaders.ts';
import { channelActivities, visibleChannels, visibleFor } from './loaders.ts';
import { type ChannelPrivacy, privacyOf } from './privacy.ts';
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
export const OPEN_TO = 'Users who can read the channel, and whether new subscribers can read earlier messages.';
export const USE_PRIVACY = 'Use `privacy`.';
const ARCHIVED = 'Whether the channel is archived. An archived channel can be read, but accepts no new messages.';
export const DEFAULT = 'Whether new users are subscribed to the channel by default.';
const ACTIVE = 'Whether the channel was created, or received a message, in the last 180 days.';
const TRAFFIC =
  'Average number of messages per week in the last 28 days, rounded to two significant digits. Null in the first week.';
export const TOPICS = 'Whether messages in the channel must have a topic.';
const URL_OF =
  "Absolute URL that opens the channel in the organization's web client. It contains the name of the channel.";
const CREATED = 'Creation time.';
const CREATOR = 'User who created the channel. Null if no creator is recorded.';
export const FOLDER = 'Folder of the channel. Null if it is in no folder.';
export const PERMISSIONS = 'Holders of each permission on the channel.';

export const NAME = 'Name: not blank, at most 60 characters, unique in the organization (case-insensitive).';
export const CHANNEL_DESCRIPTION =
  'Description in Markdown, at most 1,024 characters. Line breaks are replaced by spaces.';

export const TopicsPolicyEnum = enumOf(TOPICS_POLICY);

const FOR_SUBSCRIBERS = 'Only subscribers and users with a permission on the channel can read it.';

export const ChannelPrivacyEnum = builder.enumType('ChannelPrivacy', {
  description: OPEN_TO,
  values: {
    PUBLIC: { value: 'public', description: 'All users can read the channel, except guests who are not subscribed.' },
    WEB_PUBLIC: { value: 'web-public', description: 'The channel can be read without an account.' },
    PRIVATE: {
      value: 'private',
      description: `${FOR_SUBSCRIBERS} New subscribers cannot read messages that were sent before they subscribed.`,
    },
    PRIVATE_SHARED_HISTORY: {
      value: 'private-shared-history',
      description: `${FOR_SUBSCRIBERS} New subscribers can read all messages.`,
    },
  } as const satisfies Readonly<Record<string, { readonly value: ChannelPrivacy; readonly description: string }>>,
});

type PermissionsSource = Record<ChannelPermissionName, WireGroupSetting>;

const ChannelPermissionsType = permissionsType(
  'ChannelPermissions',
  'Holders of each permission on a channel.',
  CHANNEL_PERMISSION_MEANINGS,
);
async function permissionsOf({ work, organizationId }: Ctx, channel: ChannelPermissions): Promise<PermissionsSource> {
  const groups = await systemGroups(work.db, organizationId);
  const settings = CHANNEL_PERMISSION_NAMES.map((name) => [
    name,
    toWireGroupSetting(groups, channelPermission(groups, channel, name)),
  ]);
  return Object.fromEntries(settings) as PermissionsSource;
}

export const RETENTION =
  'Number of days for which messages are kept. -1 keeps them forever. Null inherits the setting of the organization.';

export const Channel = builder.prismaNode('Channel', {
  description: 'A channel. Its messages are grouped by topic.',
  ...byNumber,
  fields: (t) => ({
    databaseId: t.exposeInt('id', { description: 'Id of the channel in the REST API.' }),
    name: t.exposeString('name', { description: CALLED }),
    description: t.exposeString('description', { description: SOURCE }),
    renderedDescription: t.exposeString('renderedDescription', { description: HTML }),
    isPrivate: t.exposeBoolean('inviteOnly', { description: PRIVATE, deprecationReason: USE_PRIVACY }),
    isWebPublic: t.exposeBoolean('isWebPublic', { description: WEB_PUBLIC, deprecationReason: USE_PRIVACY }),
    historyPublicToSubscribers: t.exposeBoolean('historyPublicToSubscribers', {
      description: HISTORY,
      deprecationReason: USE_PRIVACY,
    }),
    privacy: t.field({ type: ChannelPrivacyEnum, description: OPEN_TO, resolve: privacyOf }),
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
    url: t.string({
      description: URL_OF,
      resolve: (channel, _args, ctx) => pageUrl(signedIn(ctx), channelAddress(channel)),
    }),
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
        : ctx.work.db.channel.findUnique({
            ...query,
            where: { organizationId_id: { organizationId: me.organizationId, id: channel.id } },
          });
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
  SUBSCRIBER_COUNT: {
    value: 'subscriberCount',
    description: 'Number of active subscribers. Adds 10 to `RateLimit.cost`.',
  },
  WEEKLY_TRAFFIC: {
    value: 'weeklyTraffic',
    description: 'Messages per week. Channels in their first week have the lowest value. Adds 10 to `RateLimit.cost`.',
  },
});

const BY_NAME: OrderBy<ChannelField> = { field: 'name', direction: 'asc' };
/**
 * Additional cost of a list of channels that is sorted by a counted value, such as the number of subscribers. The value must be
 * counted for every channel, not only for the channels on the page.
 */
const COUNTING_COST = 10;
type CountedField = 'subscriberCount' | 'weeklyTraffic';
const isCounted = (field: ChannelField): field is CountedField =>
  field === 'subscriberCount' || field === 'weeklyTraffic';

/** Arguments of a list of channels, with its order. */
export interface ChannelListArguments extends ConnectionArguments {
  readonly orderBy: OrderBy<ChannelField>;
}

interface ChannelCostArguments extends ConnectionArguments {
  readonly orderBy?: OrderBy<ChannelField> | null | undefined;
}

/** Returns the cost of a page of a list of channels, for the limit on the cost of GraphQL operations. */
export const channelsCost = ({ orderBy, ...page }: ChannelCostArguments) => ({
  field: orderBy != null && isCounted(orderBy.field) ? 1 + COUNTING_COST : 1,
  multiplier: pageSize(page),
});

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
            'Only channels whose name contains this text. A name also matches if each word of the text begins a word of ' +
            'the name, in any order. Case and accents are ignored.',
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
        privacy: t.arg({
          type: [ChannelPrivacyEnum],
          required: false,
          description: 'Only channels with one of these values. Absent: all channels.',
        }),
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
      resolve: (_root, { orderBy, first, after, last, before, ...filter }, ctx) => {
        if (filter.nameContains != null) refuseNullBytes('nameContains', filter.nameContains);
        const args = { orderBy: orderBy ?? BY_NAME, first, after, last, before };
        return channelsPage({ list: 'channels', filter, args, ctx });
      },
    },
    ChannelConnection,
  ),
);

interface ChannelPageOptions {
  /** Name of the list, which distinguishes its cursors from cursors of other lists. */
  readonly list: string;
  readonly filter: ChannelListFilter;
  readonly args: ChannelListArguments;
  readonly ctx: GraphQLContext;
}

/**
 * Returns a page of the channels that match a filter and that the viewer can see. Equal pages of an operation and of concurrent
 * requests are read in one batch.
 *
 * @throws ValidationError if the page size or the cursor is invalid.
 */
export async function channelsPage({ list, filter, args: { orderBy, ...args }, ctx }: ChannelPageOptions) {
  const request = signedIn(ctx);
  const { field } = orderBy;
  const sorted = { list, orderBy, keyType: field === 'name' ? 'string' : 'number', args } as const;
  const connection = async (page: SortedPage, totalCount: Connection<unknown>['totalCount']) => {
    const rows = present(await visibleChannels(ctx).loadAll(page.rowKeys.map(({ id }) => id)));
    return sortedConnection(rows, page, { ...sorted, idOf: ({ id }) => id, totalCount });
  };
  if (isCounted(field)) {
    const rowKeys = await countedRowKeys(ctx, field, await readChannelRowKeys(request, filter, ALL_CHANNELS));
    return connection(await pageAmong(rowKeys, sorted, ctx), () => rowKeys.length);
  }
  const found = await readChannelRowKeys(request, filter, { ...keysetOf(sorted), field });
  return connection(pageRead(found, sorted), () => countChannels(request, filter));
}

/**
 * Returns the number of subscribers or the weekly traffic of each channel as its sort key. The values are read in batches: at
 * most two statements, regardless of the number of lists and channels.
 *
 * @param channels Channels with their creation times as sort keys.
 */
function countedRowKeys(ctx: GraphQLContext, field: CountedField, channels: readonly RowKey[]): Promise<RowKey[]> {
  const keyOf = async ({ id, key }: RowKey) =>
    field === 'subscriberCount'
      ? subscriberCounts(ctx).load(id)
      : ((await channelActivities(ctx).load({ id, createdAt: new Date(key) })).weeklyTraffic ?? -1);
  return Promise.all(channels.map(async (channel) => ({ id: channel.id, key: await keyOf(channel) })));
}

/**
 * Returns the payload of a mutation that changed a channel. `channel` is null if the change made the channel invisible to the
 * viewer.
 */
export async function stillSeen(ctx: Ctx, channelId: number) {
  const where = { AND: [{ id: channelId }, await visibleTo(ctx)] };
  return { channel: await ctx.work.db.channel.findFirst({ where }) };
}
