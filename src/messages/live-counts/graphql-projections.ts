import { EventProjection } from '../../api/graphql/schema/event-projections.ts';
import type { EventSource } from '../../api/graphql/schema/event-types.ts';
import { channelReference } from '../../channels/event-projections.ts';
import { conversationReference } from '../conversation-projections.ts';
import { FOLLOWED, INHERITED, MUTED, type TopicPolicy, UNMUTED } from '../topic-policies/policies.ts';
import { BY_NAME, countedTopic, ofTopic } from '../topic-projections.ts';
import { channelRecipientId } from '../wire.ts';
import type { ReaderCounts } from './counts.ts';
import { liveCounts, ofReader } from './live-counts.ts';
import { type EventScope, shownScopeOf } from './scopes.ts';

/**
 * Event projection (the fields that an event alone provides) of the unread counts of the viewer: all of them, as reader fields.
 */
const unreadCounts = new EventProjection<object>(
  'UnreadCounts',
  { idOf: ofReader(() => (counts) => counts.id) },
  {
    total: ofReader(() => (counts) => counts.total),
    channels: ofReader(() => (counts) => counts.inChannels),
    conversations: ofReader(() => (counts) => counts.inConversations),
    mentions: ofReader(() => (counts) => counts.mentions),
    hasOlder: ofReader(() => (counts) => counts.hasOlder),
  },
);

/** Event projection of the viewer's subscription to a channel: its id, its unread counts, and the ids of the channel. */
const countedSubscription = new EventProjection<number>(
  'ChannelSubscription',
  { idOf: ofReader((channelId) => (counts) => counts.subscriptionId(channelId)) },
  {
    channel: { projection: channelReference, of: (channelId) => channelId },
    unreadCount: ofReader((id: number) => (counts) => counts.messagesIn(channelRecipientId(id))),
    unmutedUnreadCount: ofReader((id: number) => (counts) => counts.unmutedIn(channelRecipientId(id))),
    unreadMentionCount: ofReader((id: number) => (counts) => counts.mentionsIn(channelRecipientId(id))),
  },
);

/** The scope of an event, and the unread counts of the reader for whom a result is computed. */
interface Change {
  readonly scope: EventScope;
  readonly counts: ReaderCounts;
}

/** Returns the channels in the scope to which the reader is subscribed. Other readers have no unread messages there. */
const subscribedIn = ({ scope, counts }: Change) => scope.channelIds.filter((id) => counts.isSubscribed(id));

/** Names of the policies in the schema. */
const VISIBILITIES: Readonly<Record<TopicPolicy, string>> = {
  [INHERITED]: 'INHERIT',
  [MUTED]: 'MUTED',
  [UNMUTED]: 'UNMUTED',
  [FOLLOWED]: 'FOLLOWED',
};

/**
 * Field with the reader's visibility policy for a topic. The policy is known for topics of channels to which the reader is
 * subscribed.
 */
const viewerVisibility = ofTopic((counts, recipientId, key) => VISIBILITIES[counts.policyIn(recipientId, key)]);

const projectionWith = (fields: typeof BY_NAME) =>
  new EventProjection<Change>(
    'UnreadChange',
    { idOf: null, source: liveCounts },
    {
      counts: { projection: unreadCounts, of: () => ({}) },
      subscriptions: { projection: countedSubscription, of: subscribedIn },
      topics: {
        projection: countedTopic({ ...fields, viewerVisibility }),
        of: ({ scope, counts }) => scope.topics.filter(({ channelId }) => counts.isSubscribed(channelId)),
      },
      conversations: { projection: conversationReference, of: ({ scope }) => scope.conversationIds },
    },
  );

/**
 * Event projections of the unread counts that an event changes, with the channels, topics and conversations: the first with the
 * names of topics, the second without them.
 */
const [withNames, withoutNames] = [projectionWith(BY_NAME), projectionWith({})];

/**
 * Returns the event projection of the unread counts that an event changes. It contains the name of a topic only for a new
 * message, which is the last message of its topic.
 */
export const changeProjection = ({ event }: EventSource): EventProjection<Change> =>
  event.type === 'message' ? withNames : withoutNames;

/**
 * Returns the scope of an event, with the unread counts of the reader for whom a result is computed. Null if the event does not
 * change unread counts.
 */
export function changeIn(source: EventSource): Change | null {
  const scope = shownScopeOf(source);
  return scope === null ? null : { scope, counts: source.reader as ReaderCounts };
}
