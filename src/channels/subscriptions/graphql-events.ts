import { builder } from '../../api/graphql/schema/builder.ts';
import { projectedFromEvent } from '../../api/graphql/schema/event-projections.ts';
import {
  type EventSource,
  eventType,
  outdatedOf,
  outdatedRoot,
  PERMISSIONS,
} from '../../api/graphql/schema/event-types.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { userReference } from '../../people/event-projections.ts';
import { User } from '../../people/graphql.ts';
import { channelReference } from '../event-projections.ts';
import type { ProjectedLeft, ProjectedSubscriptions, ProjectedSubscriptionUpdate } from '../events.ts';
import { Channel } from '../graphql.ts';
import { changedSubscription, leftChannel, projectionOf } from './event-projections.ts';
import { ChannelSubscription, SETTING_TEXTS } from './graphql.ts';

/** Fields of a channel that depend on its subscribers. */
const BY_SUBSCRIBERS = ['subscribers', 'subscriberCount'];

/** Returns the fields that become outdated when the viewer is subscribed to channels, or unsubscribed from them. */
const outdatedBySubscribing = (channelIds: readonly number[]) => [
  outdatedRoot('subscriptions'),
  ...outdatedOf('Channel', channelIds, ['ownSubscription', 'topics', ...BY_SUBSCRIBERS, PERMISSIONS]),
];

type Added = EventSource<unknown, ProjectedSubscriptions>;

eventType<unknown, ProjectedSubscriptions>(
  'subscription',
  'add',
  'SubscriptionsAddedEvent',
  (t) => ({
    subscriptions: t.field({
      type: [ChannelSubscription],
      nullable: { list: false, items: true },
      description: 'The new subscriptions. Other subscribers of the channels are fetched when the event is sent.',
      ...projectedFromEvent(projectionOf, ({ facts }: Added) => facts.subscriptions),
    }),
  }),
  {
    description: 'The viewer was subscribed to channels.',
    outdates: ({ facts }) => outdatedBySubscribing(facts.subscriptions.map(({ channel }) => channel.stream_id)),
  },
);

type Removed = EventSource<unknown, ProjectedLeft>;

eventType<unknown, ProjectedLeft>(
  'subscription',
  'remove',
  'SubscriptionsRemovedEvent',
  (t) => ({
    subscriptionIds: t.idList({
      ...refersTo('ChannelSubscription'),
      description: 'Ids of the removed subscriptions, in the order of `channels`.',
      resolve: ({ facts: { userId, channels } }) => channels.map(({ stream_id }) => `${userId}:${stream_id}` as never),
    }),
    channels: t.field({
      type: [Channel],
      nullable: { list: false, items: true },
      description: 'Channels that the viewer is no longer subscribed to.',
      ...projectedFromEvent(leftChannel, ({ facts }: Removed) => facts.channels),
    }),
  }),
  {
    description: 'The viewer was unsubscribed from channels.',
    outdates: ({ facts }) => outdatedBySubscribing(facts.channels.map(({ stream_id }) => stream_id)),
  },
);

const SUBSCRIPTION_SETTINGS = {
  COLOR: { value: 'color', description: SETTING_TEXTS.color },
  IS_MUTED: { value: 'is_muted', description: SETTING_TEXTS.isMuted },
  PIN_TO_TOP: { value: 'pin_to_top', description: SETTING_TEXTS.pinToTop },
  DESKTOP_NOTIFICATIONS: { value: 'desktop_notifications', description: SETTING_TEXTS.desktopNotifications },
  AUDIBLE_NOTIFICATIONS: { value: 'audible_notifications', description: SETTING_TEXTS.audibleNotifications },
  PUSH_NOTIFICATIONS: { value: 'push_notifications', description: SETTING_TEXTS.pushNotifications },
  EMAIL_NOTIFICATIONS: { value: 'email_notifications', description: SETTING_TEXTS.emailNotifications },
  WILDCARD_MENTIONS_NOTIFY: { value: 'wildcard_mentions_notify', description: SETTING_TEXTS.wildcardMentionsNotify },
} as const;

type SettingValue = (typeof SUBSCRIPTION_SETTINGS)[keyof typeof SUBSCRIPTION_SETTINGS]['value'];

const PROPERTIES: ReadonlySet<string> = new Set(Object.values(SUBSCRIPTION_SETTINGS).map(({ value }) => value));

const SubscriptionSetting = builder.enumType('SubscriptionSetting', {
  description: 'A setting of a subscription.',
  values: SUBSCRIPTION_SETTINGS,
});

interface WireSubscriptionUpdate {
  readonly property: SettingValue;
}

type Updated = EventSource<WireSubscriptionUpdate, ProjectedSubscriptionUpdate>;

eventType<WireSubscriptionUpdate, ProjectedSubscriptionUpdate>(
  'subscription',
  'update',
  'SubscriptionUpdatedEvent',
  (t) => ({
    subscription: t.field({
      type: ChannelSubscription,
      nullable: true,
      description: 'The subscription. The changed setting has the value from the event.',
      ...projectedFromEvent(changedSubscription, ({ facts }: Updated) => facts),
    }),
    subscriptionSetting: t.field({
      type: SubscriptionSetting,
      nullable: true,
      description: 'The setting that changed. Null for a setting that only REST has.',
      resolve: ({ event }) => (PROPERTIES.has(event.property) ? event.property : null),
    }),
  }),
  { description: "A setting of one of the viewer's subscriptions changed." },
);

interface WirePeers {
  readonly stream_ids: readonly number[];
  readonly user_ids: readonly number[];
}

for (const [op, name, description, users] of [
  [
    'peer_add',
    'SubscribersAddedEvent',
    'Other users were subscribed to channels that the viewer can see, or their subscriptions became visible.',
    'The users who were subscribed, each of them to all of `channels`, or whose subscriptions became visible.',
  ],
  [
    'peer_remove',
    'SubscribersRemovedEvent',
    'Other users were unsubscribed from channels that the viewer can see.',
    'The users who were unsubscribed, each of them from all of `channels`.',
  ],
] as const) {
  eventType<WirePeers>(
    'subscription',
    op,
    name,
    (t) => ({
      channels: t.field({
        type: [Channel],
        nullable: { list: false, items: true },
        description: 'The channels whose subscribers changed.',
        ...projectedFromEvent(channelReference, ({ event }: EventSource<WirePeers>) => event.stream_ids),
      }),
      users: t.field({
        type: [User],
        nullable: { list: false, items: true },
        description: users,
        ...projectedFromEvent(userReference, ({ event }: EventSource<WirePeers>) => event.user_ids),
      }),
    }),
    { description, outdates: ({ event }) => outdatedOf('Channel', event.stream_ids, BY_SUBSCRIBERS) },
  );
}
