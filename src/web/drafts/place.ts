import { isSameTopic } from '../api/narrow.ts';
import type { DraftRowFragment as Draft, DraftInput, MessageTarget } from '../generated/graphql.ts';
import type { Route } from '../routing/routes.ts';

/** Where something is written: to a topic of a channel, to one that is yet to be named, or to people. */
export type Place =
  | { readonly channelId: string; readonly topic: string | undefined }
  | { readonly directTo: readonly string[] };

/** The same text for the same place. */
export const placeKey = (place: Place): string =>
  'channelId' in place
    ? JSON.stringify([place.channelId, place.topic?.toLowerCase() ?? null])
    : JSON.stringify(place.directTo.toSorted());

/** @param viewerId Who need not be named among those it is for. */
export function isFor(draft: Draft, place: Place, viewerId: string): boolean {
  if ('channelId' in place) {
    return draft.channel?.id === place.channelId && isSameTopic(draft.topicName, place.topic ?? '');
  }
  if (draft.type !== 'DIRECT') return false;
  const others = (ids: readonly string[]) => JSON.stringify(ids.filter((id) => id !== viewerId).toSorted());
  return others(draft.recipients.map(({ id }) => id)) === others(place.directTo);
}

/** Where a draft is written; undefined where it has no place, or none that the viewer still sees. */
export function placeOf({ type, channel, topicName, recipients }: Draft): Place | undefined {
  if (channel !== null) return { channelId: channel.id, topic: topicName };
  if (type !== 'DIRECT' || recipients.length === 0) return undefined;
  return { directTo: recipients.map(({ id }) => id) };
}

/** @param viewerId Who is no part of a conversation's address, unless they talk to themselves. */
export function routeTo(place: Place, viewerId: string): Route {
  if ('channelId' in place) {
    const { channelId, topic } = place;
    return { name: 'channel', channelId, ...(topic !== undefined && { topic }) };
  }
  const others = place.directTo.filter((id) => id !== viewerId);
  return { name: 'direct', userIds: others.length > 0 ? others : [viewerId] };
}

/** A place as the service is told of it. @param newTopic What a new topic is called by now. */
export function targetOf(place: Place, newTopic = ''): MessageTarget {
  if ('directTo' in place) return { direct: [...place.directTo] };
  return { topic: { channel: { id: place.channelId }, name: place.topic ?? newTopic } };
}

/** @param newTopic What a new topic is called by now. */
export const draftOf = (place: Place, content: string, newTopic: string): DraftInput => ({
  to: targetOf(place, newTopic),
  content,
});
