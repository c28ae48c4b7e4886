import type { Client } from 'urql';
import {
  MarkChannelAsReadDocument,
  MarkTopicAsReadDocument,
  ResolveTopicDocument,
  SetSubscriptionDocument,
  SetTopicVisibilityDocument,
  type SubscriptionSettingsInput,
  TopicAtDocument,
  type TopicAtQuery,
  type TopicVisibility,
  UnresolveTopicDocument,
} from '../generated/graphql.ts';
import { type TopicPlace, topicRef } from '../routing/place.ts';
import { act } from '../ui/act.ts';
import { notify } from '../ui/notices.tsx';

/** A topic with the permissions of the viewer. */
export type TopicFound = NonNullable<TopicAtQuery['topic']>;

/**
 * Reads a topic from the service.
 *
 * @returns Undefined if the topic has no message that the viewer can read, or if the request fails.
 */
export async function readTopic(client: Client, place: TopicPlace): Promise<TopicFound | undefined> {
  const found = await topicAt(client, place);
  return found?.lastMessage ? found : undefined;
}

/** Returns whether the viewer can see no message in a topic. False if the request fails. */
export async function isEmpty(client: Client, place: TopicPlace): Promise<boolean> {
  const found = await topicAt(client, place);
  return found !== undefined && !found?.lastMessage;
}

/** Returns a topic. Null if it has no message that the viewer can read. Undefined if the request fails. */
async function topicAt(client: Client, place: TopicPlace): Promise<TopicFound | null | undefined> {
  const variables = { by: topicRef(place) };
  return (await client.query(TopicAtDocument, variables, { requestPolicy: 'network-only' }).toPromise()).data?.topic;
}

/** Marks a topic as resolved or unresolved. */
export const resolve = (client: Client, { id }: Pick<TopicFound, 'id'>, isResolved: boolean): Promise<unknown> =>
  isResolved
    ? act(client, ResolveTopicDocument, { input: { topic: { id } } })
    : act(client, UnresolveTopicDocument, { input: { topic: { id } } });

const SAID: Readonly<Record<TopicVisibility, string>> = {
  FOLLOWED: 'You now follow this topic.',
  MUTED: 'This topic is muted.',
  UNMUTED: 'This topic is not muted.',
  INHERIT: 'This topic uses the default setting of its channel.',
};

export async function setVisibility(client: Client, place: TopicPlace, visibility: TopicVisibility): Promise<void> {
  const done = await act(client, SetTopicVisibilityDocument, { input: { topic: topicRef(place), visibility } });
  if (done !== undefined) notify(SAID[visibility]);
}

export const markTopicAsRead = (client: Client, place: TopicPlace): Promise<unknown> =>
  act(client, MarkTopicAsReadDocument, { input: { topic: topicRef(place) } });

export const markChannelAsRead = (client: Client, channelId: string): Promise<unknown> =>
  act(client, MarkChannelAsReadDocument, { input: { channelId } });

export const setSubscription = (client: Client, settings: SubscriptionSettingsInput): Promise<unknown> =>
  act(client, SetSubscriptionDocument, { input: { subscriptions: [settings] } });
