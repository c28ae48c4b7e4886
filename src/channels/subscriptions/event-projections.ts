import { EventProjection, projectedWithin } from '../../api/graphql/schema/event-projections.ts';
import { channelReference, knownOfChannel, knownOfChannelBefore } from '../event-projections.ts';
import type {
  ProjectedLeft,
  ProjectedSubscription,
  ProjectedSubscriptions,
  ProjectedSubscriptionUpdate,
} from '../events.ts';

const idOf = ({ userId, channel }: ProjectedSubscription) => `${userId}:${channel.stream_id}`;

const settings = {
  color: ({ personal }: ProjectedSubscription) => personal.color,
  isMuted: ({ personal }: ProjectedSubscription) => personal.is_muted,
  pinToTop: ({ personal }: ProjectedSubscription) => personal.pin_to_top,
  desktopNotifications: ({ personal }: ProjectedSubscription) => personal.desktop_notifications,
  audibleNotifications: ({ personal }: ProjectedSubscription) => personal.audible_notifications,
  pushNotifications: ({ personal }: ProjectedSubscription) => personal.push_notifications,
  emailNotifications: ({ personal }: ProjectedSubscription) => personal.email_notifications,
  wildcardMentionsNotify: ({ personal }: ProjectedSubscription) => personal.wildcard_mentions_notify,
};

const withoutChannel = new EventProjection<ProjectedSubscription>('ChannelSubscription', { idOf }, settings);

const channelOf = ({ channel }: ProjectedSubscription) => channel;

/**
 * Returns the event projection (the fields that an event alone provides) of a subscription: its settings, and its channel with
 * the fields in `known`. The channel's `ownSubscription` is this subscription.
 *
 * @param known Event projection fields of the channel.
 */
function withChannel(known: typeof knownOfChannelBefore): EventProjection<ProjectedSubscription> {
  const channel = new EventProjection<ProjectedSubscription>(
    'Channel',
    { idOf: (subscription) => channelOf(subscription).stream_id },
    { ...projectedWithin(known, channelOf), ownSubscription: { projection: withoutChannel, of: (own) => own } },
  );
  return new EventProjection<ProjectedSubscription>(
    'ChannelSubscription',
    { idOf },
    { ...settings, channel: { projection: channel, of: (own) => own } },
  );
}

const subscriptionProjection = withChannel(knownOfChannel);

/** Event projection of a subscription, for events of previous versions, which lack some fields of the channel. */
const earlySubscriptionProjection = withChannel(knownOfChannelBefore);

/** Returns the event projection of the viewer's new subscriptions: their settings and channels. */
export const projectionOf = ({
  facts,
}: {
  readonly facts: ProjectedSubscriptions;
}): EventProjection<ProjectedSubscription> =>
  facts.subscriptions.every(({ channel }) => channel.row !== undefined)
    ? subscriptionProjection
    : earlySubscriptionProjection;

/**
 * Event projection of a channel to which the viewer is no longer subscribed: `id`, `databaseId`, its name, and null as
 * `ownSubscription`.
 */
export const leftChannel = new EventProjection<ProjectedLeft['channels'][number]>(
  'Channel',
  { idOf: (channel) => channel.stream_id },
  { databaseId: (channel) => channel.stream_id, name: ({ name }) => name, ownSubscription: () => null },
);

type UpdateFunction = (update: ProjectedSubscriptionUpdate) => unknown;
const valueIn: UpdateFunction = ({ value }) => value;

/** For each setting of a subscription in events: its GraphQL field, and the function that returns the value of that field. */
const CHANGED: Readonly<Record<string, readonly [field: string, answer: UpdateFunction]>> = {
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

const identity = { idOf: ({ userId, channelId }: ProjectedSubscriptionUpdate) => `${userId}:${channelId}` };

const changes = new Map(
  Object.entries(CHANGED).map(([property, [field, answer]]) => {
    const channel = { projection: channelReference, of: ({ channelId }: ProjectedSubscriptionUpdate) => channelId };
    return [property, new EventProjection('ChannelSubscription', identity, { channel, [field]: answer })];
  }),
);
const idOnly = new EventProjection('ChannelSubscription', identity, {});

/**
 * Returns the event projection of a subscription after a change of one setting: its id, this setting, and the ids of its
 * channel.
 */
export const changedSubscription = ({ facts }: { readonly facts: ProjectedSubscriptionUpdate }) =>
  changes.get(facts.property) ?? idOnly;
