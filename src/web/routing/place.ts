import { isSameTopic, topicKey } from '../../contract/topic-key.ts';
import type { DraftRowFragment as Draft, DraftInput, MessageTarget, TopicRef } from '../generated/graphql.ts';
import type { Route } from './routes.ts';

/** Destination of unsent text: a topic of a channel, a new topic of a channel (`topic` is undefined), or users. */
export type Place =
  | { readonly channelId: string; readonly topic: string | undefined }
  | { readonly directTo: readonly string[] };

/** A topic by its channel and name. */
export interface TopicPlace {
  readonly channelId: string;
  readonly topic: string;
}

/** Returns a string that identifies a destination. Two equal destinations have equal strings. */
export const placeKey = (place: Place): string =>
  'channelId' in place
    ? JSON.stringify([place.channelId, place.topic === undefined ? null : topicKey(place.topic)])
    : JSON.stringify(place.directTo.toSorted());

/**
 * Returns whether a draft has the destination `place`.
 *
 * @param viewerId User who is ignored when the recipients are compared.
 */
export function isFor(draft: Draft, place: Place, viewerId: string): boolean {
  if ('channelId' in place) {
    return draft.channel?.id === place.channelId && isSameTopic(draft.topicName, place.topic ?? '');
  }
  if (draft.type !== 'DIRECT') return false;
  const others = (ids: readonly string[]) => JSON.stringify(ids.filter((id) => id !== viewerId).toSorted());
  return others(draft.recipients.map(({ id }) => id)) === others(place.directTo);
}

/** Returns the destination of a draft. Undefined if the draft has no destination, or if the viewer cannot see it. */
export function placeOf({ type, channel, topicName, recipients }: Draft): Place | undefined {
  if (channel !== null) return { channelId: channel.id, topic: topicName };
  if (type !== 'DIRECT' || recipients.length === 0) return undefined;
  return { directTo: recipients.map(({ id }) => id) };
}

/**
 * Returns the route to a destination.
 *
 * @param viewerId Id of the viewer, who is omitted from the URL of a conversation unless they are its only participant.
 */
export function routeTo(place: Place, viewerId: string): Route {
  if ('channelId' in place) {
    const { channelId, topic } = place;
    return { name: 'channel', channelId, ...(topic !== undefined && { topic }) };
  }
  const others = place.directTo.filter((id) => id !== viewerId);
  return { name: 'direct', userIds: others.length > 0 ? others : [viewerId] };
}

/**
 * Returns a destination as input for the service.
 *
 * @param newTopic Topic name typed in the composer. Used only if `place` is a new topic.
 */
export function targetOf(place: Place, newTopic = ''): MessageTarget {
  if ('directTo' in place) return { direct: [...place.directTo] };
  return { topic: topicRef({ channelId: place.channelId, topic: place.topic ?? newTopic }) };
}

/** Returns a topic as input for the service. */
export const topicRef = ({ channelId, topic }: TopicPlace): TopicRef => ({
  named: { channel: { id: channelId }, name: topic },
});

/**
 * Returns a draft as input for the service.
 *
 * @param newTopic Topic name typed in the composer. Used only if `place` is a new topic.
 */
export const draftOf = (place: Place, content: string, newTopic: string): DraftInput => ({
  to: targetOf(place, newTopic),
  content,
});
