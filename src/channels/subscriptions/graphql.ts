import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/builder.ts';
import type { GraphQLContext } from '../../api/graphql/context.ts';
import { present } from '../../api/graphql/keyed-loader.ts';
import { nodeByText } from '../../api/graphql/node.ts';
import { type OrderBy, orderInput } from '../../api/graphql/order-by.ts';
import { MAX_SIDEBAR_SIZE, pageSize } from '../../api/graphql/page-size.ts';
import { pageAmong, pageRead, sortedConnection, sortedRows } from '../../api/graphql/sorted-list.ts';
import { byKey } from '../../api/graphql/together.ts';
import type { Channel as ChannelRow } from '../../generated/prisma/client.ts';
import {
  BY_ID,
  SORTED,
  sortedUsers,
  User,
  UserConnection,
  type UserListArguments,
  UserOrder,
  usersAt,
} from '../../people/graphql.ts';
import { isRowId } from '../../platform/ids.ts';
import { readsChannel } from '../access.ts';
import {
  Channel,
  ChannelConnection,
  type ChannelField,
  type ChannelListArguments,
  ChannelOrder,
  channelPlaces,
  channelsCost,
  sortedChannels,
} from '../graphql.ts';
import { channelsById, viewerAsActor, visibleChannels } from '../loaders.ts';
import { administersChannel } from '../seen-channel.ts';
import { channelsOfUsers, ownSubscriptions, subscriberCounts, subscriberPages } from './loaders.ts';
import { type ListedSubscription, listedSubscriptions } from './reads.ts';
import { mayAddOthers } from './subscriptions.ts';

export const COLOR = 'The color clients mark the channel with: "#rgb" or "#rrggbb".';
export const MUTED = 'Whether the channel is muted: only mentions in it notify.';
export const PINNED = 'Whether the channel stands above the others in lists.';
const INHERITS = "null is as the user's settings have it.";
export const DESKTOP_SAID = 'Whether messages in it notify on the desktop';
const DESKTOP = `${DESKTOP_SAID}; ${INHERITS}`;
export const AUDIBLE_SAID = 'Whether messages in it make a sound';
const AUDIBLE = `${AUDIBLE_SAID}; ${INHERITS}`;
export const PUSH_SAID = 'Whether messages in it notify on phones';
const PUSH = `${PUSH_SAID}; ${INHERITS}`;
export const EMAIL_SAID = 'Whether messages in it are told by mail';
const EMAIL = `${EMAIL_SAID}; ${INHERITS}`;
export const WILDCARD_SAID = 'Whether mentions of everybody in it notify like those of the user';
const WILDCARD = `${WILDCARD_SAID}; ${INHERITS}`;

export const ChannelSubscription = builder.prismaNode('Subscription', {
  name: 'ChannelSubscription',
  // No number's: the user, and the channel.
  id: { resolve: ({ userId, channelId }) => `${userId}:${channelId}` as never },
  findUnique: (id, ctx) => {
    const [userId = 0, channelId = 0] = String(id).split(':').map(Number);
    return { realmId_userId_channelId: { realmId: signedIn(ctx).realmId, userId, channelId } };
  },
  description: "The viewer's relation to a channel they are subscribed to.",
  fields: (t) => ({
    channel: t.field({
      type: Channel,
      description: 'What the viewer is subscribed to.',
      resolve: byKey(channelsById, ({ channelId }) => channelId),
    }),
    color: t.exposeString('color', { description: COLOR }),
    isMuted: t.exposeBoolean('isMuted', { description: MUTED }),
    pinToTop: t.exposeBoolean('pinToTop', { description: PINNED }),
    desktopNotifications: t.exposeBoolean('desktopNotifications', { nullable: true, description: DESKTOP }),
    audibleNotifications: t.exposeBoolean('audibleNotifications', { nullable: true, description: AUDIBLE }),
    pushNotifications: t.exposeBoolean('pushNotifications', { nullable: true, description: PUSH }),
    emailNotifications: t.exposeBoolean('emailNotifications', { nullable: true, description: EMAIL }),
    wildcardMentionsNotify: t.exposeBoolean('wildcardMentionsNotify', { nullable: true, description: WILDCARD }),
  }),
});

nodeByText('ChannelSubscription', async (ctx, text) => {
  const [, userId, channelId] = /^([1-9]\d{0,9}):([1-9]\d{0,9})$/.exec(text) ?? [];
  const isOwn = Number(userId) === signedIn(ctx).viewer.id && isRowId(Number(channelId));
  return isOwn ? ownSubscriptions(ctx).load(Number(channelId)) : null;
});

/** Whether the viewer may read the channel, which is what subscribing to it takes. */
async function maySubscribe(ctx: GraphQLContext, channel: ChannelRow): Promise<boolean> {
  const isSubscribed = (await ownSubscriptions(ctx).load(channel.id)) !== null;
  return readsChannel(await viewerAsActor(ctx), channel, isSubscribed);
}

builder.prismaObjectFields(Channel, (t) => ({
  viewerCanAdminister: t.boolean({
    description: 'Whether the viewer may change it, archive it and bring it back.',
    resolve: async (channel, _args, ctx) => administersChannel(await viewerAsActor(ctx), channel),
  }),
  viewerCanSubscribe: t.boolean({
    description: 'Whether the viewer may subscribe to it; true as well where they are subscribed.',
    resolve: (channel, _args, ctx) => maySubscribe(ctx, channel),
  }),
  viewerCanAddSubscribers: t.boolean({
    description: 'Whether the viewer may subscribe others to it.',
    resolve: async (channel, _args, ctx) =>
      mayAddOthers(await viewerAsActor(ctx), channel) && maySubscribe(ctx, channel),
  }),
  subscriberCount: t.int({
    description: 'Users who are subscribed, deactivated ones left out.',
    resolve: byKey(subscriberCounts, ({ id }) => id),
  }),
  ownSubscription: t.field({
    type: ChannelSubscription,
    nullable: true,
    description: "The viewer's own; null when there is none.",
    resolve: byKey(ownSubscriptions, ({ id }) => id),
  }),
  subscribers: t.connection(
    {
      type: User,
      description: 'The users who are subscribed, deactivated ones left out.',
      args: { orderBy: t.arg({ type: UserOrder, required: false, defaultValue: BY_ID, description: SORTED }) },
      resolve: ({ id }, args, ctx) => subscribersPage(id, args, ctx),
    },
    UserConnection,
  ),
}));

/** A page of a channel's subscribers, in one step with the same page of the other channels selected. */
async function subscribersPage(channelId: number, args: UserListArguments, ctx: GraphQLContext) {
  const { sorted, page } = sortedUsers('subscribers', args);
  const found = pageRead(await subscriberPages(ctx).load({ channelId, ...page }), sorted);
  const rows = await usersAt(ctx, found);
  const totalCount = () => subscriberCounts(ctx).load(channelId);
  return sortedConnection(rows, found, { ...sorted, idOf: ({ id }) => id, totalCount });
}

const OLDEST_FIRST: OrderBy<ChannelField> = { field: 'createdAt', direction: 'asc' };

builder.prismaObjectField(User, 'channels', (t) =>
  t.connection(
    {
      type: Channel,
      description: 'The channels the user is subscribed to, of those the viewer sees and that are not archived.',
      complexity: channelsCost,
      args: {
        orderBy: t.arg({ type: ChannelOrder, required: false, defaultValue: OLDEST_FIRST, description: SORTED }),
      },
      select: { id: true },
      resolve: ({ id }, args, ctx) => channelsPage(id, args, ctx),
    },
    ChannelConnection,
  ),
);

/** A page of a user's channels, in one step with those of the other users selected. */
async function channelsPage(userId: number, args: ChannelListArguments, ctx: GraphQLContext) {
  const sorted = sortedChannels('channels of a user', args, OLDEST_FIRST);
  const places = await channelPlaces(ctx, sorted.orderBy.field, await channelsOfUsers(ctx).load(userId));
  const page = pageAmong(places, sorted);
  const seen = present(await visibleChannels(ctx).loadAll(page.places.map(({ id }) => id)));
  return sortedConnection(seen, page, { ...sorted, idOf: ({ id }) => id, totalCount: () => places.length });
}

const ChannelSubscriptionConnection = builder.connectionObject(
  { type: ChannelSubscription, name: 'ChannelSubscriptionConnection' },
  { name: 'ChannelSubscriptionEdge' },
);

type SubscriptionField = 'channelId' | 'channelName';

const SubscriptionOrder = orderInput<SubscriptionField>('ChannelSubscription', 'subscriptions', {
  CHANNEL_ID: { value: 'channelId', description: "The channel's id: the channels made first are the lowest." },
  CHANNEL_NAME: { value: 'channelName', description: 'What the channel is called, whatever the case.' },
});

const BY_CHANNEL: OrderBy<SubscriptionField> = { field: 'channelId', direction: 'asc' };

builder.queryField('subscriptions', (t) =>
  t.connection(
    {
      type: ChannelSubscription,
      description: `The viewer's subscriptions: 1,000 a page at most, for a first screen to show all.`,
      complexity: (args) => ({ field: 1, multiplier: pageSize(args, MAX_SIDEBAR_SIZE) }),
      args: {
        orderBy: t.arg({
          type: SubscriptionOrder,
          required: false,
          defaultValue: BY_CHANNEL,
          description: 'How they are sorted.',
        }),
        includeArchived: t.arg.boolean({
          required: false,
          defaultValue: false,
          description: 'Whether those to archived channels are listed as well.',
        }),
      },
      resolve: async (_root, { includeArchived, ...args }, ctx) => {
        const orderBy = args.orderBy ?? BY_CHANNEL;
        const rows = await listedSubscriptions(signedIn(ctx), includeArchived === true);
        const byName = orderBy.field === 'channelName';
        const places = rows.map(({ channelId, channelName }) => ({
          id: channelId,
          key: byName ? channelName : channelId,
        }));
        return sortedRows<ListedSubscription>({
          ...{ list: 'subscriptions', orderBy, keyType: byName ? 'string' : 'number', max: MAX_SIDEBAR_SIZE },
          ...{ places, args, read: async () => rows, idOf: ({ channelId }) => channelId },
        });
      },
    },
    ChannelSubscriptionConnection,
  ),
);
