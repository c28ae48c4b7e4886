import type { ChannelPermissionName } from '../access/permissions/channel-permissions.ts';
import { defineEvent, type RenderedEvent } from '../events/define.ts';
import type { EventView } from '../events/view.ts';
import type { Channel, Subscription, User } from '../generated/prisma/client.ts';
import {
  type ChannelFacts,
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

// A client without the capability `archived_channels` knows no archived channel: to it an archived channel is deleted,
// an unarchived one created, and nothing is heard of it in between.

const hides = (channel: { readonly is_archived: boolean }, { options }: EventView): boolean =>
  channel.is_archived && !options.capabilities.archived_channels;

/** The part of a channel object that stays true whoever subscribes: what a list of subscribers is told after. */
const beforeSubscribers = (channel: WireChannel, { options }: EventView): WireChannel =>
  options.includeSubscribers === 'false' ? channel : { ...channel, subscriber_count: 0 };

/** The channels that come into somebody's sight. */
export interface KnownChannels {
  readonly channels: readonly ChannelFacts[];
}

/**
 * Channels come into the sight of those who hear this: they are new, or may be seen from here on.
 *
 * @param toldAfter True when `peersAdded` follows for everybody. A client that asked for subscriber lists adds whoever
 *   it tells to list and count, so the count begins at none.
 */
export const channelsCreated = defineEvent(
  'stream',
  'create',
  (channels: readonly ChannelFacts[], { toldAfter = false } = {}) => ({ channels, told_after: toldAfter }),
  {
    facts: ({ channels }, view): KnownChannels => ({ channels: channels.filter((channel) => !hides(channel, view)) }),
    render: ({ channels, told_after }, view) => {
      const streams = channels.filter((channel) => !hides(channel, view)).map(wireOf);
      if (streams.length === 0) return null;
      const shown = told_after ? streams.map((channel) => beforeSubscribers(channel, view)) : streams;
      return { type: 'stream', op: 'create', streams: shown };
    },
  },
);

/** Channels leave the sight of those who hear this. */
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

/** One changed property of a channel, and what goes with it. */
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
  /** The name before the change. */
  readonly name: string;
  readonly change: ChannelChange;
  readonly is_archived: boolean;
  /** The whole channel, when it comes back from the archive. */
  readonly unarchived: ChannelFacts | null;
}

/** A channel of which one property changed; to those who know no archived channels it may come into sight by that. */
export interface KnownUpdate extends KnownChannels {
  readonly id: number;
  readonly change: ChannelChange;
}

/** To those who saw the channel before the change and see it still. */
export const channelUpdated = defineEvent(
  'stream',
  'update',
  (
    { id, name, isArchived }: { id: number; name: string; isArchived: boolean },
    change: ChannelChange,
    unarchived: ChannelFacts | null = null,
  ): ChannelUpdate => ({ stream_id: id, name, change, is_archived: isArchived, unarchived }),
  {
    render: renderUpdate,
    facts: ({ stream_id, change, unarchived }): KnownUpdate => ({
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

/** The ids of all default channels. To those who may see public channels. */
export const defaultChannelsChanged = defineEvent('default_streams', undefined, (channelIds: readonly number[]) => ({
  default_streams: channelIds,
}));

/** A user and their subscriptions, as they are after the change. */
export interface SubscriberRows {
  readonly user: Pick<User, 'id' | 'settings'>;
  readonly rows: readonly Omit<Subscription, 'realmId' | 'active'>[];
}

/** One user's share in `subscriptionsAdded`. */
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
  /** After the change. Each channel once, however many begin to hear it. */
  readonly channels: readonly (ChannelFacts & SubscriberList)[];
  readonly subscribers: readonly Subscriber[];
  /** True when nobody's subscription begins: it comes back to clients that do not know archived channels. */
  readonly unarchived: boolean;
}

/** To the users whose subscriptions begin, each of their own. */
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
    facts: (payload, view): KnownSubscriptions => ({ subscriptions: begunFor(payload, view) }),
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

/** A subscription of the viewer's, as events know it. */
export interface KnownSubscription {
  readonly userId: number;
  readonly channel: ChannelFacts & SubscriberList;
  readonly personal: WirePersonal;
}

/** Those that begin. */
export interface KnownSubscriptions {
  readonly subscriptions: readonly KnownSubscription[];
}

function begunFor({ channels, subscribers, unarchived }: SubscriptionsAdded, view: EventView): KnownSubscription[] {
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

/** A channel some users leave. */
interface Left {
  readonly stream_id: number;
  readonly name: string;
  readonly is_archived: boolean;
  readonly user_ids: readonly number[];
}

/**
 * To the users whose subscriptions end, each of their own. When several leave a channel at once, each is told of the
 * others besides: `peersRemoved` does not reach them.
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
    facts: ({ channels }, view): KnownLeft => ({ userId: view.userId, channels: leftBy(channels, view) }),
    effect: ({ channels }) =>
      channels.flatMap(({ stream_id, user_ids }) =>
        user_ids.map((userId) => ({ kind: 'unsubscribed' as const, userId, channelIds: [stream_id] })),
      ),
  },
);

/** The channels that the viewer leaves. */
export interface KnownLeft {
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

/** The properties of a subscription that its user changes, and what each is on the wire. */
export interface SubscriptionChange {
  readonly property: string;
  readonly value: boolean | string;
}

/** A subscription of the viewer's of which one setting changed. */
export interface KnownSubscriptionUpdate extends SubscriptionChange {
  readonly userId: number;
  readonly channelId: number;
}

/** One changed setting of a subscription, to its user. */
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
    facts: ({ stream_id, property, value }, { userId }): KnownSubscriptionUpdate => ({
      ...{ userId, channelId: stream_id, property, value },
    }),
  },
);

/** Who else begins to hear a channel, or is shown as hearing it. */
interface Peers {
  readonly stream_id: number;
  readonly user_ids: readonly number[];
  readonly is_archived: boolean;
  /** `everybody`: the list as it stands is shown to who did not see it. `unarchived`: the same, by the archive. */
  readonly shown: 'newcomers' | 'everybody' | 'unarchived';
}

/** To the others who see the channel: users have subscribed. */
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

/** To the others who see the channel: users have unsubscribed. */
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
