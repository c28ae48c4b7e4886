import { EntityFacts, factsWithin } from '../../api/graphql/entity-facts.ts';
import { channelReference, knownOfChannel, knownOfChannelBefore } from '../entity-facts.ts';
import type { KnownLeft, KnownSubscription, KnownSubscriptions, KnownSubscriptionUpdate } from '../events.ts';

const idOf = ({ userId, channel }: KnownSubscription) => `${userId}:${channel.stream_id}`;

const settings = {
  color: ({ personal }: KnownSubscription) => personal.color,
  isMuted: ({ personal }: KnownSubscription) => personal.is_muted,
  pinToTop: ({ personal }: KnownSubscription) => personal.pin_to_top,
  desktopNotifications: ({ personal }: KnownSubscription) => personal.desktop_notifications,
  audibleNotifications: ({ personal }: KnownSubscription) => personal.audible_notifications,
  pushNotifications: ({ personal }: KnownSubscription) => personal.push_notifications,
  emailNotifications: ({ personal }: KnownSubscription) => personal.email_notifications,
  wildcardMentionsNotify: ({ personal }: KnownSubscription) => personal.wildcard_mentions_notify,
};

const ofItsChannel = new EntityFacts<KnownSubscription>('ChannelSubscription', { idOf }, settings);

const channelOf = ({ channel }: KnownSubscription) => channel;

/** A subscription with its channel, which has it as the viewer's own. @param known What is known of the channel. */
function withChannel(known: typeof knownOfChannelBefore): EntityFacts<KnownSubscription> {
  const channel = new EntityFacts<KnownSubscription>(
    'Channel',
    { idOf: (subscription) => channelOf(subscription).stream_id },
    { ...factsWithin(known, channelOf), ownSubscription: { facts: ofItsChannel, of: (own) => own } },
  );
  return new EntityFacts<KnownSubscription>(
    'ChannelSubscription',
    { idOf },
    { ...settings, channel: { facts: channel, of: (own) => own } },
  );
}

const subscriptionFacts = withChannel(knownOfChannel);

/** Of events logged before they told all of the channel. */
const earlyFacts = withChannel(knownOfChannelBefore);

/** What an event knows of the viewer's new subscriptions. */
export const factsAbout = ({ facts }: { readonly facts: KnownSubscriptions }): EntityFacts<KnownSubscription> =>
  facts.subscriptions.every(({ channel }) => channel.row !== undefined) ? subscriptionFacts : earlyFacts;

/** What is known of a channel that the viewer is not subscribed to any more. */
export const leftChannel = new EntityFacts<KnownLeft['channels'][number]>(
  'Channel',
  { idOf: (channel) => channel.stream_id },
  { databaseId: (channel) => channel.stream_id, name: ({ name }) => name, ownSubscription: () => null },
);

type Answer = (update: KnownSubscriptionUpdate) => unknown;
const valueIn: Answer = ({ value }) => value;

/** The field that each setting changes, by its name on the wire. */
const CHANGED: Readonly<Record<string, readonly [field: string, answer: Answer]>> = {
  color: ['color', valueIn],
  is_muted: ['isMuted', valueIn],
  in_home_view: ['isMuted', ({ value }) => value === false],
  pin_to_top: ['pinToTop', valueIn],
  desktop_notifications: ['desktopNotifications', valueIn],
  audible_notifications: ['audibleNotifications', valueIn],
  push_notifications: ['pushNotifications', valueIn],
  email_notifications: ['emailNotifications', valueIn],
  wildcard_mentions_notify: ['wildcardMentionsNotify', valueIn],
};

const identity = { idOf: ({ userId, channelId }: KnownSubscriptionUpdate) => `${userId}:${channelId}` };

const changes = new Map(
  Object.entries(CHANGED).map(([property, [field, answer]]) => {
    const channel = { facts: channelReference, of: ({ channelId }: KnownSubscriptionUpdate) => channelId };
    return [property, new EntityFacts('ChannelSubscription', identity, { channel, [field]: answer })];
  }),
);
const nothingMore = new EntityFacts('ChannelSubscription', identity, {});

/** What an event knows of a subscription of which one setting changed. */
export const changedSubscription = ({ facts }: { readonly facts: KnownSubscriptionUpdate }) =>
  changes.get(facts.property) ?? nothingMore;
