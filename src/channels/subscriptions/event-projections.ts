import { EventProjection, projectedWithin } from '../../api/graphql/schema/event-projections.ts';
import { channelReference, knownOfChannel, knownOfChannelBefore } from '../event-projections.ts';
import type { KnownLeft, KnownSubscription, KnownSubscriptions, KnownSubscriptionUpdate } from '../events.ts';

const idOf = ({ userId, channel }: KnownSubscription) => `${userId}:${channel.stream_id}`;

const settings = {
  color: ({ personal }: KnownSubscription) => personal.color,
  isMuted: ({ personal }: KnownSubscription) => personal.is_muted,
  pinToTop: ({ personal }: KnownSubscription) => personal.pin_to_top,
  desktopNotifications: ({ personal }: KnownSubscription) => personal.desktop_notifications,
  audibleNotifications: ({ personal }: KnownSubscription) => personal.audible_notifications,
  wildcardMentionsNotify: ({ personal }: KnownSubscription) => personal.wildcard_mentions_notify,
};

const ofItsChannel = new EventProjection<KnownSubscription>('ChannelSubscription', { idOf }, settings);

const channelOf = ({ channel }: KnownSubscription) => channel;

/**
 * Returns the event projection of a subscription with its channel. The channel's `ownSubscription` is this subscription.
 *
 * @param known Fields of the channel in the event.
 */
function withChannel(known: typeof knownOfChannelBefore): EventProjection<KnownSubscription> {
  const channel = new EventProjection<KnownSubscription>(
    'Channel',
    { idOf: (subscription) => channelOf(subscription).stream_id },
    { ...projectedWithin(known, channelOf), ownSubscription: { facts: ofItsChannel, of: (own) => own } },
  );
  return new EventProjection<KnownSubscription>(
    'ChannelSubscription',
    { idOf },
    { ...settings, channel: { facts: channel, of: (own) => own } },
  );
}

const subscriptionFacts = withChannel(knownOfChannel);

/** Event projection for events of previous versions, which did not contain the whole channel. */
const earlyFacts = withChannel(knownOfChannelBefore);

/** Returns the event projection of the viewer's new subscriptions. */
export const projectionOf = ({ facts }: { readonly facts: KnownSubscriptions }): EventProjection<KnownSubscription> =>
  facts.subscriptions.every(({ channel }) => channel.row !== undefined) ? subscriptionFacts : earlyFacts;

/** Event projection of a channel to which the viewer is no longer subscribed. */
export const leftChannel = new EventProjection<KnownLeft['channels'][number]>(
  'Channel',
  { idOf: (channel) => channel.stream_id },
  { databaseId: (channel) => channel.stream_id, name: ({ name }) => name, ownSubscription: () => null },
);

type UpdateFunction = (update: KnownSubscriptionUpdate) => unknown;
const valueIn: UpdateFunction = ({ value }) => value;

/** The GraphQL field that each setting changes, by the setting's name on the wire. */
const CHANGED: Readonly<Record<string, readonly [field: string, answer: UpdateFunction]>> = {
  color: ['color', valueIn],
  is_muted: ['isMuted', valueIn],
  in_home_view: ['isMuted', ({ value }) => value === false],
  pin_to_top: ['pinToTop', valueIn],
  desktop_notifications: ['desktopNotifications', valueIn],
  audible_notifications: ['audibleNotifications', valueIn],
  wildcard_mentions_notify: ['wildcardMentionsNotify', valueIn],
};

const identity = { idOf: ({ userId, channelId }: KnownSubscriptionUpdate) => `${userId}:${channelId}` };

const changes = new Map(
  Object.entries(CHANGED).map(([property, [field, answer]]) => {
    const channel = { facts: channelReference, of: ({ channelId }: KnownSubscriptionUpdate) => channelId };
    return [property, new EventProjection('ChannelSubscription', identity, { channel, [field]: answer })];
  }),
);
const nothingMore = new EventProjection('ChannelSubscription', identity, {});

/** Returns the event projection of a subscription of which one setting changed. */
export const changedSubscription = ({ facts }: { readonly facts: KnownSubscriptionUpdate }) =>
  changes.get(facts.property) ?? nothingMore;
