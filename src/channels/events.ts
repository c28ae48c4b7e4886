import type { ChannelPermissionName } from '../access/permissions/channel-permissions.ts';
import { defineEvent, type RenderedEvent } from '../events/define.ts';
import type { EventView } from '../events/view.ts';
import type { Channel, Subscription, User } from '../generated/prisma/client.ts';
import {
  type ChannelSnapshot,
  type Inherited,
  type SubscriberList,
  toInherited,
  toWirePersonal,
  toWireSubscribers,
  type WireChannel,
  type WirePersonal,
  wireOf,
  withInherited,
} from './wire.ts';

// Clients without the capability `archived_channels` cannot handle archived channels. If a channel is archived, these clients
// receive its deletion. They receive no events about the channel while it is archived, and its creation when it is restored.

const hides = (channel: { readonly is_archived: boolean }, { options }: EventView): boolean =>
  channel.is_archived && !options.capabilities.archived_channels;

/**
 * Returns the channel as sent before a `peersAdded` event with all subscribers. If the client receives subscriber lists, the
 * subscriber count is 0, because the client adds the users of that event to the count. Otherwise, the channel is unchanged.
 */
const beforeSubscribers = (channel: WireChannel, { options }: EventView): WireChannel =>
  options.includeSubscribers === 'false' ? channel : { ...channel, subscriber_count: 0 };

/** Channels that become visible to a recipient. */
export interface ProjectedChannels {
  readonly channels: readonly ChannelSnapshot[];
}

/**
 * Event that channels become visible to the recipients: they are new, or access was granted.
 *
 * @param peersFollow True if a `peersAdded` event with all subscribers follows. A client that requested subscriber lists adds
 *   these subscribers to its list and to the count, so the count starts at 0.
 */
export const channelsCreated = defineEvent(
  'stream',
  'create',
  (channels: readonly ChannelSnapshot[], { peersFollow = false } = {}) => ({ channels, told_after: peersFollow }),
  {
    facts: ({ channels }, view): ProjectedChannels => ({
      channels: channels.filter((channel) => !hides(channel, view)),
    }),
    render: ({ channels, told_after }, view) => {
      const streams = channels.filter((channel) => !hides(channel, view)).map(wireOf);
      if (streams.length === 0) return null;
      const shown = told_after ? streams.map((channel) => beforeSubscribers(channel, view)) : streams;
      return { type: 'stream', op: 'create', streams: shown };
    },
  },
);

/** Event that channels are no longer visible to the recipients. */
export const channelsDeleted = defineEvent(
  'stream',
  'delete',
  (channels: readonly { id: number; isArchived: boolean }[]) => ({
    channels: channels.map(({ id, isArchived }) => ({ stream_id: id, is_archived: isArchived })),
  }),
  {
    render: ({ channels }, view) => deletion(channels.filter((channel) => !hides(channel, view))),
  },
);

function deletion(channels: readonly { stream_id: number }[]): RenderedEvent | null {
  const streams = channels.map(({ stream_id }) => ({ stream_id }));
  if (streams.length === 0) return null;
  return { type: 'stream', op: 'delete', streams, stream_ids: streams.map(({ stream_id }) => stream_id) };
}

/** One changed property of a channel, with the other properties that the same event contains. */
export type ChannelChange =
  | { readonly property: 'description'; readonly value: string; readonly rendered_description: string }
  | {
      readonly property: 'invite_only';
      readonly value: boolean;
      readonly history_public_to_subscribers: boolean;
      readonly is_web_public: boolean;
    }
  | {
      readonly property:
        | 'name'
        | 'message_retention_days'
        | 'topics_policy'
        | 'folder_id'
        | 'stream_post_policy'
        | 'is_announcement_only'
        | 'is_archived'
        | ChannelPermissionName;
      readonly value: unknown;
    };

interface ChannelUpdate {
  readonly stream_id: number;
  /** The name of the channel before the change. */
  readonly name: string;
  readonly change: ChannelChange;
  readonly is_archived: boolean;
  /** The whole channel if the change restores it from the archive, otherwise null. */
  readonly unarchived: ChannelSnapshot | null;
}

/**
 * One changed property of a channel. If the channel is restored from the archive, `channels` contains it, because it becomes
 * visible to clients without the capability `archived_channels`.
 */
export interface ProjectedChannelUpdate extends ProjectedChannels {
  readonly id: number;
  readonly change: ChannelChange;
}

/**
 * Event that one property of a channel changed. Recipients: the users who could see the channel before the change and
 * still can.
 */
export const channelUpdated = defineEvent(
  'stream',
  'update',
  (
    { id, name, isArchived }: { id: number; name: string; isArchived: boolean },
    change: ChannelChange,
    unarchived: ChannelSnapshot | null = null,
  ): ChannelUpdate => ({ stream_id: id, name, change, is_archived: isArchived, unarchived }),
  {
    audit: ({ id, name }, { property, value }, _unarchived?) =>
      property === 'is_archived'
        ? {
            action: value ? 'channel_archived' : 'channel_unarchived',
            ...{ objectType: 'channel', objectId: id, objectName: name },
          }
        : undefined,
    render: renderUpdate,
    facts: ({ stream_id, change, unarchived }): ProjectedChannelUpdate => ({
      id: stream_id,
      change,
      channels: unarchived === null ? [] : [unarchived],
    }),
  },
);

function renderUpdate({ stream_id, name, change, is_archived, unarchived }: ChannelUpdate, view: EventView) {
  if (!view.options.capabilities.archived_channels) {
    if (unarchived !== null)
      return { type: 'stream', op: 'create', streams: [beforeSubscribers(wireOf(unarchived), view)] };
    if (change.property === 'is_archived') return deletion([{ stream_id }]);
    if (is_archived) return null;
  }
  return { type: 'stream', op: 'update', stream_id, name, ...change };
}

/** Event with the ids of all default channels. Recipients: the users who can see public channels. */
export const defaultChannelsChanged = defineEvent('default_streams', undefined, (channelIds: readonly number[]) => ({
  default_streams: channelIds,
}));

/** A user, and the user's changed subscriptions as they are after the change. */
export interface SubscriberRows {
  readonly user: Pick<User, 'id' | 'settings'>;
  readonly rows: readonly Omit<Subscription, 'organizationId' | 'active'>[];
}

/** The new subscriptions of one user, in the payload of `subscriptionsAdded`. */
interface Subscriber {
  readonly user_id: number;
  readonly inherited: Inherited;
  readonly subscriptions: readonly (WirePersonal & { readonly stream_id: number })[];
}

const toSubscriber = ({ user, rows }: SubscriberRows): Subscriber => ({
  user_id: user.id,
  inherited: toInherited(user),
  subscriptions: rows.map((row) => ({ stream_id: row.channelId, ...toWirePersonal(row) })),
});

interface SubscriptionsAdded {
  /** The channels after the change. Each channel occurs once, regardless of the number of new subscribers. */
  readonly channels: readonly (ChannelSnapshot & SubscriberList)[];
  readonly subscribers: readonly Subscriber[];
  /**
   * True if the subscriptions existed before, and the channel was restored from the archive. Then only clients without the
   * capability `archived_channels` receive the event.
   */
  readonly unarchived: boolean;
}

/** Event that users were subscribed to channels. Each recipient receives only their own subscriptions. */
export const subscriptionsAdded = defineEvent(
  'subscription',
  'add',
  (
    channels: SubscriptionsAdded['channels'],
    subscribers: readonly SubscriberRows[],
    { unarchived = false } = {},
  ): SubscriptionsAdded => ({ channels, subscribers: subscribers.map(toSubscriber), unarchived }),
  {
    perUser: true,
    render: renderAdded,
    facts: (payload, view): ProjectedSubscriptions => ({ subscriptions: begunFor(payload, view) }),
    effect: ({ subscribers, unarchived }) =>
      unarchived
        ? []
        : subscribers.map(({ user_id, subscriptions }) => ({
            kind: 'subscribed' as const,
            userId: user_id,
            channelIds: subscriptions.map(({ stream_id }) => stream_id),
          })),
  },
);

/**
 * Data of an event about a subscription of the viewer, for GraphQL fields: the channel, and the settings of the subscription.
 */
export interface ProjectedSubscription {
  readonly userId: number;
  readonly channel: ChannelSnapshot & SubscriberList;
  readonly personal: WirePersonal;
}

/** New subscriptions of the viewer. */
export interface ProjectedSubscriptions {
  readonly subscriptions: readonly ProjectedSubscription[];
}

function begunFor({ channels, subscribers, unarchived }: SubscriptionsAdded, view: EventView): ProjectedSubscription[] {
  const mine = subscribers.find(({ user_id }) => user_id === view.userId);
  if (mine === undefined || (unarchived && view.options.capabilities.archived_channels)) return [];
  return mine.subscriptions.flatMap(({ stream_id, ...personal }) => {
    const channel = channels.find((known) => known.stream_id === stream_id);
    return channel === undefined || hides(channel, view) ? [] : [{ userId: view.userId, channel, personal }];
  });
}

function renderAdded(payload: SubscriptionsAdded, view: EventView): RenderedEvent | null {
  const { capabilities, includeSubscribers } = view.options;
  const inherited = payload.subscribers.find(({ user_id }) => user_id === view.userId)?.inherited;
  const subscriptions = begunFor(payload, view).map(({ channel, personal }) => {
    const { subscribers, partial_subscribers, ...facts } = channel;
    return {
      ...wireOf(facts),
      ...(capabilities.notification_settings_null || inherited === undefined
        ? personal
        : withInherited(personal, inherited)),
      ...toWireSubscribers({ subscribers, partial_subscribers }, view.userId, includeSubscribers),
    };
  });
  return subscriptions.length === 0 ? null : { type: 'subscription', op: 'add', subscriptions };
}

/** A channel, and the users who unsubscribe from it. */
interface Left {
  readonly stream_id: number;
  readonly name: string;
  readonly is_archived: boolean;
  readonly user_ids: readonly number[];
}

/**
 * Event that subscriptions of the recipients ended. Each recipient receives only their own subscriptions. Users who leave do
 * not receive `peersRemoved`. So if several users leave a channel in one change, this event also sends each of them a
 * `peer_remove` event about the other users who leave.
 */
export const subscriptionsRemoved = defineEvent(
  'subscription',
  'remove',
  (left: readonly { channel: Pick<Channel, 'id' | 'name' | 'isArchived'>; userIds: readonly number[] }[]) => ({
    channels: left.map(
      ({ channel: { id, name, isArchived }, userIds }): Left => ({
        stream_id: id,
        name,
        is_archived: isArchived,
        user_ids: userIds,
      }),
    ),
  }),
  {
    perUser: true,
    width: ({ channels }) => 1 + channels.filter(({ user_ids }) => user_ids.length > 1).length,
    render: ({ channels }, view) => renderRemoved(channels, view),
    facts: ({ channels }, view): ProjectedLeft => ({ userId: view.userId, channels: leftBy(channels, view) }),
    effect: ({ channels }) =>
      channels.flatMap(({ stream_id, user_ids }) =>
        user_ids.map((userId) => ({ kind: 'unsubscribed' as const, userId, channelIds: [stream_id] })),
      ),
  },
);

/** Channels from which the viewer was unsubscribed. */
export interface ProjectedLeft {
  readonly userId: number;
  readonly channels: readonly Pick<Left, 'stream_id' | 'name'>[];
}

const leftBy = (channels: readonly Left[], view: EventView): Left[] =>
  channels.filter((channel) => channel.user_ids.includes(view.userId) && !hides(channel, view));

function renderRemoved(channels: readonly Left[], view: EventView): RenderedEvent[] {
  const mine = leftBy(channels, view);
  if (mine.length === 0) return [];
  const subscriptions = mine.map(({ stream_id, name }) => ({ stream_id, name }));
  const others = mine.filter(({ user_ids }) => user_ids.length > 1);
  return [
    { type: 'subscription', op: 'remove', subscriptions },
    ...others.map(({ stream_id, user_ids }) => ({
      type: 'subscription',
      op: 'peer_remove',
      stream_ids: [stream_id],
      user_ids: user_ids.filter((id) => id !== view.userId),
    })),
  ];
}

/** A property of a subscription that the subscriber changed, with the new value in wire format. */
export interface SubscriptionChange {
  readonly property: string;
  readonly value: boolean | string;
}

/** A subscription of the viewer after a change of one setting. */
export interface ProjectedSubscriptionUpdate extends SubscriptionChange {
  readonly userId: number;
  readonly channelId: number;
}

/** Event that one setting of a subscription changed. Recipient: the subscriber. */
export const subscriptionUpdated = defineEvent(
  'subscription',
  'update',
  ({ id, isArchived }: { id: number; isArchived: boolean }, { property, value }: SubscriptionChange) => ({
    stream_id: id,
    property,
    value,
    is_archived: isArchived,
  }),
  {
    perUser: true,
    render: ({ stream_id, property, value, is_archived }, view) =>
      hides({ is_archived }, view) ? null : { type: 'subscription', op: 'update', stream_id, property, value },
    facts: ({ stream_id, property, value }, { userId }): ProjectedSubscriptionUpdate => ({
      ...{ userId, channelId: stream_id, property, value },
    }),
  },
);

/** Users that clients add to their subscriber list of a channel. The recipients of the event are not among these users. */
interface Peers {
  readonly stream_id: number;
  readonly user_ids: readonly number[];
  readonly is_archived: boolean;
  /**
   * The users in the event. `newcomers`: the users who subscribe. `everybody` and `unarchived`: all subscribers, because the
   * recipients did not have the subscriber list before. With `unarchived`, the channel was restored from the archive.
   */
  readonly shown: 'newcomers' | 'everybody' | 'unarchived';
}

/** Event that users subscribed to a channel. Recipients: all users who can see the channel, except the new subscribers. */
export const peersAdded = defineEvent(
  'subscription',
  'peer_add',
  (
    { id, isArchived }: { id: number; isArchived: boolean },
    userIds: readonly number[],
    shown: Peers['shown'] = 'newcomers',
  ): Peers => ({ stream_id: id, user_ids: userIds, is_archived: isArchived, shown }),
  {
    render: (peers, view) => {
      if (hides(peers, view) || (peers.shown !== 'newcomers' && view.options.includeSubscribers === 'false'))
        return null;
      if (peers.shown === 'unarchived' && view.options.capabilities.archived_channels) return null;
      return peerEvent('peer_add', peers);
    },
  },
);

/**
 * Event that users unsubscribed from a channel. Recipients: all users who can see the channel, except the users who
 * unsubscribed.
 */
export const peersRemoved = defineEvent(
  'subscription',
  'peer_remove',
  ({ id, isArchived }: { id: number; isArchived: boolean }, userIds: readonly number[]) => ({
    stream_id: id,
    user_ids: userIds,
    is_archived: isArchived,
  }),
  { render: (peers, view) => (hides(peers, view) ? null : peerEvent('peer_remove', peers)) },
);

const peerEvent = (op: string, { stream_id, user_ids }: Pick<Peers, 'stream_id' | 'user_ids'>): RenderedEvent => ({
  type: 'subscription',
  op,
  stream_ids: [stream_id],
  user_ids,
});
