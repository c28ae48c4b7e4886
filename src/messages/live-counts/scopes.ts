import type {
  ProjectedChannelUpdate,
  ProjectedSubscriptions,
  ProjectedSubscriptionUpdate,
} from '../../channels/events.ts';
import { topicKey } from '../../contract/topic-key.ts';
import type { RenderedEvent } from '../../events/define.ts';
import type { EventPiece } from '../../events/rendering.ts';
import type { ProjectedDeletion, RecipientUpdate } from '../edits/events.ts';
import type { SentPayload } from '../events.ts';
import type { ProjectedFlags } from '../flags/events.ts';
import type { UnreadScope } from '../flags/unread-state.ts';
import type { WireUserTopic } from '../topic-policies/wire.ts';
import { MUTING_SETTINGS } from './changes.ts';

/** A topic, with its name and the key of its name. */
export interface ScopedTopic {
  readonly channelId: number;
  readonly name: string;
  readonly key: string;
}

/** The channels, topics and conversations whose unread counts an event shows. */
export interface EventScope extends UnreadScope {
  readonly topics: readonly ScopedTopic[];
}

const NOTHING: EventScope = { channelIds: [], topics: [], conversationIds: [] };

interface Topic {
  readonly channelId: number;
  readonly topic: string;
}

/** Returns a scope that consists of topics, their channels, and conversations. */
function ofTopics(topics: readonly Topic[], conversationIds: readonly number[] = []): EventScope {
  const scoped = topics.map(({ channelId, topic }) => ({ channelId, name: topic, key: topicKey(topic) }));
  // A move that changes only the spelling of a topic contains the topic twice: as source and as target.
  const distinct = new Map(scoped.map((topic) => [`${topic.channelId} ${topic.key}`, topic]));
  return {
    channelIds: [...new Set(topics.map(({ channelId }) => channelId))],
    topics: [...distinct.values()],
    conversationIds,
  };
}

const ofChannels = (channelIds: readonly number[]): EventScope => ({ ...NOTHING, channelIds });

/**
 * Returns the channels, topics and conversations whose unread counts an event shows. Null if the event does not change unread
 * state.
 *
 * @param facts Data of the event for GraphQL fields, as returned by `facts` of its definition.
 */
// biome-ignore lint/suspicious/noExplicitAny: each function receives only events of its own kind.
type ScopeIn = (facts: any, event: RenderedEvent) => EventScope | null;

/** The kinds of events that change unread state, by type and operation over REST. */
const SCOPES: Readonly<Record<string, ScopeIn>> = {
  message: ({ message: { channel, topic, recipientId } }: { readonly message: SentPayload }) =>
    channel === null ? ofTopics([], [Math.floor(recipientId / 2)]) : ofTopics([{ channelId: channel.id, topic }]),
  update_message: inEdit,
  delete_message: ({ place, conversationId }: ProjectedDeletion) =>
    ofTopics(place === null ? [] : [place], conversationId == null ? [] : [conversationId]),
  'update_message_flags/add': inFlags,
  'update_message_flags/remove': inFlags,
  user_topic: ({ stream_id, topic_name }: WireUserTopic) => ofTopics([{ channelId: stream_id, topic: topic_name }]),
  muted_topics: () => NOTHING,
  'subscription/add': ({ subscriptions }: ProjectedSubscriptions) =>
    ofChannels(subscriptions.map(({ channel }) => channel.stream_id)),
  'subscription/remove': () => NOTHING,
  'subscription/update': ({ property, channelId }: ProjectedSubscriptionUpdate) =>
    MUTING_SETTINGS.includes(property) ? ofChannels([channelId]) : null,
  'stream/update': ({ id, change }: ProjectedChannelUpdate) =>
    change.property === 'is_archived' ? ofChannels([id]) : null,
  // Clients without the capability `archived_channels` receive this event if a channel is archived.
  'stream/delete': (_data, event) => ofChannels((event as unknown as { stream_ids: readonly number[] }).stream_ids),
};

function inEdit({ channel, move, topic, conversationId }: RecipientUpdate): EventScope {
  if (channel === null) return ofTopics([], conversationId == null ? [] : [conversationId]);
  if (move === null)
    return topic === undefined ? ofChannels([channel.id]) : ofTopics([{ channelId: channel.id, topic }]);
  return ofTopics([
    { channelId: channel.id, topic: move.origTopic },
    { channelId: move.channelId ?? channel.id, topic: move.topic ?? move.origTopic },
  ]);
}

function inFlags({ places }: ProjectedFlags, { flag }: RenderedEvent): EventScope | null {
  if (flag !== 'read') return null;
  if (places === undefined) return NOTHING;
  const { channelIds, ...scope } = ofTopics(places.topics, places.conversationIds);
  return { ...scope, channelIds: [...channelIds, ...(places.channelIds ?? [])] };
}

/** Types and operations of the events that change unread state. */
export const SCOPED_EVENTS: readonly { readonly type: string; readonly op: string | undefined }[] = Object.keys(
  SCOPES,
).map((name) => {
  const [type = '', op] = name.split('/');
  return { type, op };
});

const known = new WeakMap<object, EventScope | null>();

/** Returns the channels, topics and conversations whose unread counts an event shows. Null if it does not change them. */
export function shownScopeOf(piece: Pick<EventPiece, 'event' | 'facts'>): EventScope | null {
  let scope = known.get(piece.event);
  if (scope === undefined) {
    const { type, op } = piece.event;
    scope = SCOPES[op === undefined ? type : `${type}/${op}`]?.(piece.facts, piece.event) ?? null;
    known.set(piece.event, scope);
  }
  return scope;
}

/** Returns the channels, topics and conversations whose unread counts an event shows. Empty if it does not change them. */
export const scopeOf = (piece: Pick<EventPiece, 'event' | 'facts'>): EventScope => shownScopeOf(piece) ?? NOTHING;
