import { builder } from '../../api/graphql/builder.ts';
import { fromEvent } from '../../api/graphql/entity-facts.ts';
import { type EventSource, eventType } from '../../api/graphql/event-types.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { userReference } from '../../people/entity-facts.ts';
import { User } from '../../people/graphql.ts';
import { channelReference } from '../entity-facts.ts';
import type { KnownLeft, KnownSubscriptions, KnownSubscriptionUpdate } from '../events.ts';
import { Channel } from '../graphql.ts';
import { changedSubscription, factsAbout, leftChannel } from './entity-facts.ts';
import {
  AUDIBLE_SAID,
  ChannelSubscription,
  COLOR,
  DESKTOP_SAID,
  EMAIL_SAID,
  MUTED,
  PINNED,
  PUSH_SAID,
  WILDCARD_SAID,
} from './graphql.ts';

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
