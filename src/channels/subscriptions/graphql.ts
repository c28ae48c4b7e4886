import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/builder.ts';
import { type ConnectionArguments, idInCursor, pageByIds, pageOf } from '../../api/graphql/connection.ts';
import type { GraphQLContext } from '../../api/graphql/context.ts';
import { fromEvent } from '../../api/graphql/entity-facts.ts';
import { type EventSource, eventType } from '../../api/graphql/event-types.ts';
import { given, mutation } from '../../api/graphql/mutation.ts';
import { nodeByText, nodesOf } from '../../api/graphql/node.ts';
import { MAX_SIDEBAR_SIZE, pageSize } from '../../api/graphql/page-size.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import type { Channel as ChannelRow } from '../../generated/prisma/client.ts';
import { userReference } from '../../people/entity-facts.ts';
import { User, UserConnection } from '../../people/graphql.ts';
import { BadRequestError, UnauthorizedPrincipalError } from '../../platform/errors.ts';
import { isRowId, MAX_ROW_ID } from '../../platform/ids.ts';
import { readsChannel } from '../access.ts';
import { channelReference } from '../entity-facts.ts';
import type { KnownLeft, KnownSubscriptions, KnownSubscriptionUpdate } from '../events.ts';
import { CHANNEL_DESCRIPTION, Channel, ChannelConnection, ChannelOptionsInput, toOptions } from '../graphql.ts';
import { viewerAsActor, visibleChannels } from '../loaders.ts';
import { administersChannel } from '../seen-channel.ts';
import { changedSubscription, factsAbout, leftChannel } from './entity-facts.ts';
import { channelIdsOfUsers, ownSubscriptions, subscriberCounts, subscriberPages } from './loaders.ts';
import { updateSubscriptionSettings } from './subscription-settings.ts';
import { type ChannelOutcome, mayAddOthers, subscribe, unsubscribe } from './subscriptions.ts';

const COLOR = 'The color clients mark the channel with: "#rgb" or "#rrggbb".';
const MUTED = 'Whether the channel is muted: only mentions in it notify.';
const PINNED = 'Whether the channel stands above the others in lists.';
const INHERITS = "null is as the user's settings have it.";
const DESKTOP_SAID = 'Whether messages in it notify on the desktop';
const DESKTOP = `${DESKTOP_SAID}; ${INHERITS}`;
const AUDIBLE_SAID = 'Whether messages in it make a sound';
const AUDIBLE = `${AUDIBLE_SAID}; ${INHERITS}`;
const PUSH_SAID = 'Whether messages in it notify on phones';
const PUSH = `${PUSH_SAID}; ${INHERITS}`;
const EMAIL_SAID = 'Whether messages in it are told by mail';
const EMAIL = `${EMAIL_SAID}; ${INHERITS}`;
const WILDCARD_SAID = 'Whether mentions of everybody in it notify like those of the user';
const WILDCARD = `${WILDCARD_SAID}; ${INHERITS}`;

export const ChannelSubscription = builder.prismaNode('Subscription', {
  name: 'ChannelSubscription',
  // No number's: the user, and the channel.
  id: { resolve: ({ userId, channelId }) => `${userId}:${channelId}` as never },
  findUnique: (id) => {
    const [userId = 0, channelId = 0] = String(id).split(':').map(Number);
    return { userId_channelId: { userId, channelId } };
  },
  description: "The viewer's relation to a channel they are subscribed to.",
  fields: (t) => ({
    channel: t.relation('channel', { description: 'What the viewer is subscribed to.' }),
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
    resolve: ({ id }, _args, ctx) => subscriberCounts(ctx).load(id),
  }),
  ownSubscription: t.field({
    type: ChannelSubscription,
    nullable: true,
    description: "The viewer's own; null when there is none.",
    resolve: ({ id }, _args, ctx) => ownSubscriptions(ctx).load(id),
  }),
  subscribers: t.connection(
    {
      type: User,
      description: 'The users who are subscribed, by id, deactivated ones left out.',
      resolve: ({ id }, args, ctx) => subscribersPage(id, args, ctx),
    },
    UserConnection,
  ),
}));

/** A page of a channel's subscribers by id, in one step with the same page of the other channels selected. */
async function subscribersPage(channelId: number, args: ConnectionArguments, ctx: GraphQLContext) {
  const size = pageSize(args);
  const descending = args.first == null && args.last != null;
  const rows = await subscriberPages(ctx).load({
    channelId,
    after: idInCursor('subscriber', args, 'after', MAX_ROW_ID) ?? 0,
    before: idInCursor('subscriber', args, 'before', MAX_ROW_ID) ?? Number.MAX_SAFE_INTEGER,
    limit: size + 1,
    descending,
  });
  const page = rows.slice(0, size);
  if (descending) page.reverse();
  const totalCount = () => subscriberCounts(ctx).load(channelId);
  return pageByIds('subscriber', page, { idOf: ({ id }) => id, more: rows.length > size, args, totalCount });
}

const USER_CHANNELS = 'user-channel';

builder.prismaObjectField(User, 'channels', (t) =>
  t.connection(
    {
      type: Channel,
      description: 'The channels the user is subscribed to, of those the viewer sees and that are not archived, by id.',
      select: { id: true },
      async resolve({ id }, args, ctx) {
        const size = pageSize(args);
        const after = idInCursor(USER_CHANNELS, args, 'after') ?? 0;
        const before = idInCursor(USER_CHANNELS, args, 'before') ?? Number.MAX_SAFE_INTEGER;
        const all = await channelIdsOfUsers(ctx).load(id);
        const ids = all.filter((channelId) => channelId > after && channelId < before);
        const backward = args.first == null && args.last != null;
        const page = backward ? ids.slice(Math.max(0, ids.length - size)) : ids.slice(0, size);
        const rows = await Promise.all(page.map((channelId) => visibleChannels(ctx).load(channelId)));
        const seen = rows.filter((channel) => channel !== null);
        return pageByIds(USER_CHANNELS, seen, { idOf: (channel) => channel.id, more: ids.length > size, args });
      },
    },
    ChannelConnection,
  ),
);

const ChannelSubscriptionConnection = builder.connectionObject(
  { type: ChannelSubscription, name: 'ChannelSubscriptionConnection' },
  { name: 'ChannelSubscriptionEdge' },
);

builder.queryField('subscriptions', (t) =>
  t.connection(
    {
      type: ChannelSubscription,
      description: `The viewer's subscriptions, by the channel's id: 1,000 a page at most, for a first screen to show all.`,
      complexity: (args) => ({ field: 1, multiplier: pageSize(args, MAX_SIDEBAR_SIZE) }),
      args: {
        includeArchived: t.arg.boolean({
          required: false,
          defaultValue: false,
          description: 'Whether those to archived channels are listed as well.',
        }),
      },
      resolve: (_root, args, ctx, info) => {
        const { viewer } = signedIn(ctx);
        const archived = args.includeArchived === true ? {} : { channel: { isArchived: false } };
        const where = { userId: viewer.id, active: true, ...archived };
        const order = { channelId: 'asc' } as const;
        const how = { typeName: 'ChannelSubscription', max: MAX_SIDEBAR_SIZE };
        return pageOf('Subscription', { where, order, args, ctx, info, ...how });
      },
    },
    ChannelSubscriptionConnection,
  ),
);

const BY_KEY = 'Give either channelId or name.';

const SubscribeChannelInput = builder.inputType('SubscribeChannelInput', {
  description: `A channel to subscribe to. ${BY_KEY} A name that no channel has makes a new one.`,
  fields: (t) => ({
    channelId: t.id({ ...refersTo('Channel'), required: false, description: 'Which channel; absent with `name`.' }),
    name: t.string({ required: false, description: 'What it is called, or is to be called; at most 60 characters.' }),
    description: t.string({ required: false, description: `Of a new channel. ${CHANNEL_DESCRIPTION}` }),
    color: t.string({ required: false, description: `${COLOR} If absent, the former one or one not used yet.` }),
  }),
});

const ChannelKeyInput = builder.inputType('ChannelKeyInput', {
  description: `A channel. ${BY_KEY}`,
  fields: (t) => ({
    channelId: t.id({ ...refersTo('Channel'), required: false, description: 'Which channel; absent with `name`.' }),
    name: t.string({ required: false, description: 'What it is called, in whatever case.' }),
  }),
});

function toKey({ channelId, name }: typeof ChannelKeyInput.$inferInput) {
  if ((channelId == null) === (name == null)) throw new BadRequestError(BY_KEY);
  return channelId == null ? { name: name ?? '' } : { id: channelId };
}

const OUTCOME_CHANNEL = "The channel; null when the change put it out of the viewer's sight.";
const NAMED = 'No more than were named.';

const SubscribeOutcome = builder.objectRef<ChannelOutcome>('SubscribeOutcome').implement({
  description: 'What became of the subscriptions to one channel.',
  fields: (t) => ({
    channel: t.field({
      type: Channel,
      nullable: true,
      description: OUTCOME_CHANNEL,
      resolve: ({ channelId }, _args, ctx) => visibleChannels(ctx).load(channelId),
    }),
    name: t.exposeString('name', { description: 'What the channel is called.' }),
    subscribed: t.field({
      type: [User],
      description: `Who was not subscribed before, and is. ${NAMED}`,
      resolve: ({ changedIds }, _args, ctx) => nodesOf(ctx, 'User', changedIds),
    }),
    alreadySubscribed: t.field({
      type: [User],
      description: `Who was subscribed before. ${NAMED}`,
      resolve: ({ unchangedIds }, _args, ctx) => nodesOf(ctx, 'User', unchangedIds),
    }),
  }),
});

const UnsubscribeOutcome = builder.objectRef<ChannelOutcome>('UnsubscribeOutcome').implement({
  description: 'What became of the subscriptions to one channel.',
  fields: (t) => ({
    channel: t.field({
      type: Channel,
      nullable: true,
      description: OUTCOME_CHANNEL,
      resolve: ({ channelId }, _args, ctx) => visibleChannels(ctx).load(channelId),
    }),
    name: t.exposeString('name', { description: 'What the channel is called.' }),
    unsubscribed: t.field({
      type: [User],
      description: `Who was subscribed before, and is no more. ${NAMED}`,
      resolve: ({ changedIds }, _args, ctx) => nodesOf(ctx, 'User', changedIds),
    }),
    notSubscribed: t.field({
      type: [User],
      description: `Who was not subscribed before. ${NAMED}`,
      resolve: ({ unchangedIds }, _args, ctx) => nodesOf(ctx, 'User', unchangedIds),
    }),
  }),
});

const PRINCIPALS = 'Whom it is about; the viewer, if absent.';
const OUTCOMES = 'One for each channel.';

mutation('subscribe', {
  description: 'Subscribes the viewer, or others, to channels; to all of them or, when one is refused, to none.',
  input: (t) => ({
    channels: t.field({ type: [SubscribeChannelInput], description: 'What to subscribe to.' }),
    userIds: t.idList({ ...refersTo('User'), required: false, description: PRINCIPALS }),
    skipUnauthorized: t.boolean({
      required: false,
      defaultValue: false,
      description: 'Leaves out channels the viewer may not subscribe to, instead of refusing all.',
    }),
    newChannels: t.field({
      type: ChannelOptionsInput,
      required: false,
      description: 'How channels are to be that are made because nobody has the name; usual ones, if absent.',
    }),
  }),
  payload: () => ({
    outcomes: { type: [SubscribeOutcome], description: OUTCOMES },
    unauthorized: { type: ['String'], description: 'Names of the channels left out.' },
  }),
  errors: [UnauthorizedPrincipalError],
  resolve: async (ctx, { channels, userIds, skipUnauthorized, newChannels }) => {
    const wanted = channels.map(({ color, description, ...key }) => ({
      ...toKey(key),
      ...given({ color, description }),
    }));
    const { channels: outcomes, unauthorized } = await subscribe(ctx, wanted, {
      principals: userIds ?? undefined,
      isFatal: skipUnauthorized !== true,
      creation: newChannels == null ? {} : toOptions(newChannels),
    });
    return { outcomes: [...outcomes], unauthorized: [...unauthorized] };
  },
});

mutation('unsubscribe', {
  description:
    'Unsubscribes the viewer, or others, from channels; from all of them or, when one is refused, from none.',
  input: (t) => ({
    channels: t.field({ type: [ChannelKeyInput], description: 'What to unsubscribe from.' }),
    userIds: t.idList({ ...refersTo('User'), required: false, description: PRINCIPALS }),
  }),
  payload: () => ({ outcomes: { type: [UnsubscribeOutcome], description: OUTCOMES } }),
  resolve: async (ctx, { channels, userIds }) => ({
    outcomes: await unsubscribe(ctx, channels.map(toKey), { principals: userIds ?? undefined }),
  }),
});

/** The settings of a subscription and their names on the wire. */
const SETTINGS = {
  color: 'color',
  isMuted: 'is_muted',
  pinToTop: 'pin_to_top',
  desktopNotifications: 'desktop_notifications',
  audibleNotifications: 'audible_notifications',
  pushNotifications: 'push_notifications',
  emailNotifications: 'email_notifications',
  wildcardMentionsNotify: 'wildcard_mentions_notify',
} as const;

const SubscriptionSettingsInput = builder.inputType('SubscriptionSettingsInput', {
  description: "Settings of one of the viewer's subscriptions. What is left out stays.",
  fields: (t) => ({
    channelId: t.id({ ...refersTo('Channel'), description: 'The channel of the subscription.' }),
    color: t.string({ required: false, description: COLOR }),
    isMuted: t.boolean({ required: false, description: MUTED }),
    pinToTop: t.boolean({ required: false, description: PINNED }),
    desktopNotifications: t.boolean({ required: false, description: `${DESKTOP_SAID}.` }),
    audibleNotifications: t.boolean({ required: false, description: `${AUDIBLE_SAID}.` }),
    pushNotifications: t.boolean({ required: false, description: `${PUSH_SAID}.` }),
    emailNotifications: t.boolean({ required: false, description: `${EMAIL_SAID}.` }),
    wildcardMentionsNotify: t.boolean({ required: false, description: `${WILDCARD_SAID}.` }),
  }),
});

mutation('updateSubscriptionSettings', {
  description: "Changes settings of the viewer's subscriptions; all of them or, when one is refused, none.",
  input: (t) => ({
    subscriptions: t.field({ type: [SubscriptionSettingsInput], description: 'What to change, for each channel.' }),
  }),
  payload: () => ({
    subscriptions: { type: [ChannelSubscription], description: 'Those that were named, in the order given.' },
  }),
  resolve: async (ctx, { subscriptions }) => {
    const changes = subscriptions.flatMap(({ channelId, ...settings }) =>
      Object.entries(given(settings)).map(([name, value]) => {
        const property = SETTINGS[name as keyof typeof SETTINGS];
        return { channelId, property, value };
      }),
    );
    return { subscriptions: [...(await updateSubscriptionSettings(ctx, changes))] };
  },
});

type Added = EventSource<unknown, KnownSubscriptions>;

eventType<unknown, KnownSubscriptions>(
  'subscription',
  'add',
  'SubscriptionsAddedEvent',
  (t) => ({
    subscriptions: t.field({
      type: [ChannelSubscription],
      nullable: { list: false, items: true },
      description: 'The new ones. Who else is subscribed is read.',
      ...fromEvent(factsAbout, ({ facts }: Added) => facts.subscriptions),
    }),
  }),
  { description: 'The user is subscribed to channels.' },
);

type Removed = EventSource<unknown, KnownLeft>;

eventType<unknown, KnownLeft>(
  'subscription',
  'remove',
  'SubscriptionsRemovedEvent',
  (t) => ({
    subscriptionIds: t.idList({
      ...refersTo('ChannelSubscription'),
      description: 'Those that are gone, in the order of `channels`.',
      resolve: ({ facts: { userId, channels } }) => channels.map(({ stream_id }) => `${userId}:${stream_id}` as never),
    }),
    channels: t.field({
      type: [Channel],
      nullable: { list: false, items: true },
      description: 'Those they are not subscribed to any more.',
      ...fromEvent(leftChannel, ({ facts }: Removed) => facts.channels),
    }),
  }),
  { description: 'The user is not subscribed to channels any more.' },
);

const SUBSCRIPTION_SETTINGS = {
  COLOR: { value: 'color', description: COLOR },
  IS_MUTED: { value: 'is_muted', description: MUTED },
  IN_HOME_VIEW: { value: 'in_home_view', description: 'The opposite of IS_MUTED, for old clients.' },
  PIN_TO_TOP: { value: 'pin_to_top', description: PINNED },
  DESKTOP_NOTIFICATIONS: { value: 'desktop_notifications', description: `${DESKTOP_SAID}.` },
  AUDIBLE_NOTIFICATIONS: { value: 'audible_notifications', description: `${AUDIBLE_SAID}.` },
  PUSH_NOTIFICATIONS: { value: 'push_notifications', description: `${PUSH_SAID}.` },
  EMAIL_NOTIFICATIONS: { value: 'email_notifications', description: `${EMAIL_SAID}.` },
  WILDCARD_MENTIONS_NOTIFY: { value: 'wildcard_mentions_notify', description: `${WILDCARD_SAID}.` },
} as const;

const SubscriptionSetting = builder.enumType('SubscriptionSetting', {
  description: 'What a user can set of a subscription of theirs.',
  values: SUBSCRIPTION_SETTINGS,
});

interface WireSubscriptionUpdate {
  readonly property: (typeof SUBSCRIPTION_SETTINGS)[keyof typeof SUBSCRIPTION_SETTINGS]['value'];
}

type Updated = EventSource<WireSubscriptionUpdate, KnownSubscriptionUpdate>;

eventType<WireSubscriptionUpdate, KnownSubscriptionUpdate>(
  'subscription',
  'update',
  'SubscriptionUpdatedEvent',
  (t) => ({
    subscription: t.field({
      type: ChannelSubscription,
      nullable: true,
      description: 'The subscription, of which the event knows the new value.',
      ...fromEvent(changedSubscription, ({ facts }: Updated) => facts),
    }),
    subscriptionSetting: t.field({
      type: SubscriptionSetting,
      description: 'What changed.',
      resolve: ({ event }) => event.property,
    }),
  }),
  { description: "One setting of one of the user's subscriptions changed." },
);

interface WirePeers {
  readonly stream_ids: readonly number[];
  readonly user_ids: readonly number[];
}

for (const [op, name, description] of [
  ['peer_add', 'SubscribersAddedEvent', 'Others are subscribed to channels the user sees, or are shown to be.'],
  ['peer_remove', 'SubscribersRemovedEvent', 'Others are not subscribed any more to channels the user sees.'],
] as const) {
  eventType<WirePeers>(
    'subscription',
    op,
    name,
    (t) => ({
      channels: t.field({
        type: [Channel],
        nullable: { list: false, items: true },
        description: 'The channels it is about.',
        ...fromEvent(channelReference, ({ event }: EventSource<WirePeers>) => event.stream_ids),
      }),
      users: t.field({
        type: [User],
        nullable: { list: false, items: true },
        description: 'The others, the same in all these channels.',
        ...fromEvent(userReference, ({ event }: EventSource<WirePeers>) => event.user_ids),
      }),
    }),
    { description },
  );
}
