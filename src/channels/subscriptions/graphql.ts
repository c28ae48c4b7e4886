import { signedIn } from '../../access/context.ts';
import { byKey } from '../../api/graphql/loading/batch-resolvers.ts';
import type { GraphQLContext } from '../../api/graphql/loading/context.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { nodeByText } from '../../api/graphql/schema/node.ts';
import { type OrderBy, orderInput } from '../../api/graphql/schema/order-by.ts';
import { MAX_SIDEBAR_SIZE, pageSize } from '../../api/graphql/schema/page-size.ts';
import { keysetOf, pageRead, sortedConnection } from '../../api/graphql/schema/sorted-list.ts';
import { UserRole } from '../../api/graphql/schema/user-role.ts';
import type { Channel as ChannelRow } from '../../generated/prisma/client.ts';
import {
  BY_ID,
  NAME_CONTAINS,
  ONLY_ROLE,
  SORTED,
  sortedUsers,
  User,
  UserConnection,
  type UserListArguments,
  UserOrder,
  usersAt,
} from '../../people/graphql.ts';
import { isRowId } from '../../platform/ids.ts';
import { refuseNullBytes } from '../../platform/text.ts';
import { readsChannel } from '../access.ts';
import { Channel, ChannelConnection, type ChannelField, ChannelOrder, channelsCost, channelsPage } from '../graphql.ts';
import { channelsById, viewerAsActor } from '../loaders.ts';
import { administersChannel } from '../seen-channel.ts';
import { mayAddOthers, mayRemoveOthers } from '../subscribe.ts';
import type { SubscriberFilter } from '../subscribers.ts';
import {
  matchingSubscriberCounts,
  ownSubscriptions,
  subscriberCounts,
  subscriberPages,
} from '../subscription-loaders.ts';
import { countSubscriptions, type ListedSubscription, readSubscriptionPage, type SubscriptionField } from './reads.ts';

/** Descriptions of the settings of a subscription. */
export const SETTING_TEXTS = {
  color: 'Color in which clients show the channel: "#rgb" or "#rrggbb".',
  isMuted: 'Whether the channel is muted: only mentions in it notify the user.',
  pinToTop: 'Whether clients show the channel above the others in lists.',
  desktopNotifications: 'Whether messages in the channel cause desktop notifications.',
  audibleNotifications: 'Whether messages in the channel play a sound.',
  pushNotifications: 'Whether messages in the channel cause push notifications.',
  emailNotifications: 'Whether messages in the channel cause email notifications.',
  wildcardMentionsNotify: 'Whether mentions of all users in the channel notify the user like a personal mention.',
} as const;

/** Returns the options of a field for a setting that inherits the value of the user's setting. */
const inherited = (name: keyof typeof SETTING_TEXTS) => ({
  nullable: true as const,
  description: `${SETTING_TEXTS[name]} Null: the user's setting applies.`,
});

export const ChannelSubscription = builder.prismaNode('Subscription', {
  name: 'ChannelSubscription',
  // The id is not a number: it consists of the ids of user and channel.
  id: { resolve: ({ userId, channelId }) => `${userId}:${channelId}` as never },
  findUnique: (id, ctx) => {
    const [userId = 0, channelId = 0] = String(id).split(':').map(Number);
    return { organizationId_userId_channelId: { organizationId: signedIn(ctx).organizationId, userId, channelId } };
  },
  description: "The viewer's subscription to a channel.",
  fields: (t) => ({
    channel: t.field({
      type: Channel,
      description: 'The channel.',
      resolve: byKey(channelsById, ({ channelId }) => channelId),
    }),
    color: t.exposeString('color', { description: SETTING_TEXTS.color }),
    isMuted: t.exposeBoolean('isMuted', { description: SETTING_TEXTS.isMuted }),
    pinToTop: t.exposeBoolean('pinToTop', { description: SETTING_TEXTS.pinToTop }),
    desktopNotifications: t.exposeBoolean('desktopNotifications', inherited('desktopNotifications')),
    audibleNotifications: t.exposeBoolean('audibleNotifications', inherited('audibleNotifications')),
    pushNotifications: t.exposeBoolean('pushNotifications', inherited('pushNotifications')),
    emailNotifications: t.exposeBoolean('emailNotifications', inherited('emailNotifications')),
    wildcardMentionsNotify: t.exposeBoolean('wildcardMentionsNotify', inherited('wildcardMentionsNotify')),
  }),
});

nodeByText('ChannelSubscription', async (ctx, text) => {
  const [, userId, channelId] = /^([1-9]\d{0,9}):([1-9]\d{0,9})$/.exec(text) ?? [];
  const isOwn = Number(userId) === signedIn(ctx).viewer.id && isRowId(Number(channelId));
  return isOwn ? ownSubscriptions(ctx).load(Number(channelId)) : null;
});

/**
 * Returns whether the viewer can subscribe to the channel: whether they can read its messages. True if they are already
 * subscribed.
 */
async function maySubscribe(ctx: GraphQLContext, channel: ChannelRow): Promise<boolean> {
  const isSubscribed = (await ownSubscriptions(ctx).load(channel.id)) !== null;
  return readsChannel(await viewerAsActor(ctx), channel, isSubscribed);
}

builder.prismaObjectFields(Channel, (t) => ({
  viewerCanAdminister: t.boolean({
    description: 'Whether the viewer can change, archive and restore the channel.',
    resolve: async (channel, _args, ctx) => administersChannel(await viewerAsActor(ctx), channel),
  }),
  viewerCanSubscribe: t.boolean({
    description: 'Whether the viewer can subscribe to the channel. Also true if the viewer is already subscribed.',
    resolve: (channel, _args, ctx) => maySubscribe(ctx, channel),
  }),
  viewerCanAddSubscribers: t.boolean({
    description: 'Whether the viewer can subscribe other users to the channel.',
    resolve: async (channel, _args, ctx) =>
      mayAddOthers(await viewerAsActor(ctx), channel) && maySubscribe(ctx, channel),
  }),
  viewerCanRemoveSubscribers: t.boolean({
    description:
      'Whether the viewer can unsubscribe other users from the channel. All users can unsubscribe themselves and their ' +
      'own bots.',
    resolve: async (channel, _args, ctx) => mayRemoveOthers(await viewerAsActor(ctx), channel),
  }),
  subscriberCount: t.int({
    description: 'Number of active users who are subscribed.',
    resolve: byKey(subscriberCounts, ({ id }) => id),
  }),
  ownSubscription: t.field({
    type: ChannelSubscription,
    nullable: true,
    description: "The viewer's subscription. Null if the viewer is not subscribed.",
    resolve: byKey(ownSubscriptions, ({ id }) => id),
  }),
  subscribers: t.connection(
    {
      type: User,
      description: 'Active users who are subscribed.',
      args: {
        orderBy: t.arg({ type: UserOrder, required: false, defaultValue: BY_ID, description: SORTED }),
        nameContains: t.arg.string({ required: false, description: NAME_CONTAINS }),
        role: t.arg({ type: UserRole, required: false, description: ONLY_ROLE }),
      },
      resolve: ({ id }, { nameContains, role, ...args }, ctx) => {
        if (nameContains != null) refuseNullBytes('nameContains', nameContains);
        return subscribersPage(id, { nameContains, role }, args, ctx);
      },
    },
    UserConnection,
  ),
}));

/**
 * Returns a page of the subscribers of a channel that match a filter. If an operation selects several channels, the pages with
 * the same arguments are loaded in one batch.
 */
async function subscribersPage(
  channelId: number,
  filter: SubscriberFilter,
  args: UserListArguments,
  ctx: GraphQLContext,
) {
  const { sorted, page } = sortedUsers('subscribers', args);
  const found = pageRead(await subscriberPages(ctx, channelId, { filter, ...page }), sorted);
  const rows = await usersAt(ctx, found);
  const isWhole = filter.nameContains == null && filter.role == null;
  const totalCount = () =>
    isWhole ? subscriberCounts(ctx).load(channelId) : matchingSubscriberCounts(ctx, channelId, filter);
  return sortedConnection(rows, found, { ...sorted, idOf: ({ id }) => id, totalCount });
}

const OLDEST_FIRST: OrderBy<ChannelField> = { field: 'createdAt', direction: 'asc' };

builder.prismaObjectField(User, 'channels', (t) =>
  t.connection(
    {
      type: Channel,
      description:
        'Channels that the user is subscribed to, except archived ones and those that the viewer cannot see.',
      complexity: channelsCost,
      args: {
        orderBy: t.arg({ type: ChannelOrder, required: false, defaultValue: OLDEST_FIRST, description: SORTED }),
      },
      select: { id: true },
      resolve: ({ id }, { orderBy, ...args }, ctx) =>
        channelsPage({
          ...{ list: 'channels of a user', filter: { subscriberId: id } },
          ...{ args: { ...args, orderBy: orderBy ?? OLDEST_FIRST }, ctx },
        }),
    },
    ChannelConnection,
  ),
);

const ChannelSubscriptionConnection = builder.connectionObject(
  { type: ChannelSubscription, name: 'ChannelSubscriptionConnection' },
  { name: 'ChannelSubscriptionEdge' },
);

const SubscriptionOrder = orderInput<SubscriptionField>('ChannelSubscription', 'subscriptions', {
  CHANNEL_ID: { value: 'channelId', description: 'Id of the channel: the order in which channels were created.' },
  CHANNEL_NAME: { value: 'channelName', description: 'Name of the channel, case-insensitive.' },
});

const BY_CHANNEL: OrderBy<SubscriptionField> = { field: 'channelId', direction: 'asc' };

builder.queryField('subscriptions', (t) =>
  t.connection(
    {
      type: ChannelSubscription,
      description: "The viewer's subscriptions, at most 1,000 per page, so that one page can show all of them.",
      complexity: (args) => ({ field: 1, multiplier: pageSize(args, MAX_SIDEBAR_SIZE) }),
      args: {
        orderBy: t.arg({
          type: SubscriptionOrder,
          required: false,
          defaultValue: BY_CHANNEL,
          description: 'Sort order.',
        }),
        includeArchived: t.arg.boolean({
          required: false,
          defaultValue: false,
          description: 'Whether to include subscriptions to archived channels.',
        }),
      },
      resolve: async (_root, { includeArchived, ...args }, ctx) => {
        const orderBy = args.orderBy ?? BY_CHANNEL;
        const keyType = orderBy.field === 'channelName' ? 'string' : 'number';
        const sorted = { list: 'subscriptions', orderBy, keyType, max: MAX_SIDEBAR_SIZE, args } as const;
        const [request, withArchived] = [signedIn(ctx), includeArchived === true];
        const rows = await readSubscriptionPage(request, withArchived, { ...keysetOf(sorted), field: orderBy.field });
        const keyOf = ({ channelId, channelName }: ListedSubscription) =>
          orderBy.field === 'channelName' ? channelName : channelId;
        const page = pageRead(
          rows.map((row) => ({ key: keyOf(row), id: row.channelId })),
          sorted,
        );
        const totalCount = () => countSubscriptions(request, withArchived);
        return sortedConnection(rows, page, { ...sorted, idOf: ({ channelId }) => channelId, totalCount });
      },
    },
    ChannelSubscriptionConnection,
  ),
);
