import type { Client } from 'urql';
import { act } from '../api/act.ts';
import type { TopicPlace } from '../drafts/place.ts';
import {
  MarkChannelAsReadDocument,
  MarkTopicAsReadDocument,
  MoveMessagesDocument,
  SetSubscriptionDocument,
  SetTopicVisibilityDocument,
  type SubscriptionSettingsInput,
  TopicAtDocument,
  type TopicAtQuery,
  type TopicVisibility,
} from '../generated/graphql.ts';
import { notify } from '../ui/notices.tsx';
import { RESOLVED_MARK, withoutMark } from './topic-names.ts';

/** The newest message of a topic, with the topic and the viewer's permissions. */
export type TopicFound = NonNullable<TopicAtQuery['messages']>['nodes'][number];

/**
 * Reads a topic from the service, by its newest message.
 *
 * @returns Undefined if the topic has no message that the viewer can read, or if the request fails.
 */
export async function readTopic(client: Client, place: TopicPlace): Promise<TopicFound | undefined> {
  return (await newestIn(client, place))?.[0];
}

/** Returns whether the viewer can see no message in a topic. False if the request fails. */
export async function isEmpty(client: Client, place: TopicPlace): Promise<boolean> {
  return (await newestIn(client, place))?.length === 0;
}

async function newestIn(client: Client, { channelId, topic }: TopicPlace) {
  const { data } = await client
    .query(TopicAtDocument, { narrow: { channel: { id: channelId }, topic } }, { requestPolicy: 'network-only' })
    .toPromise();
  return data?.messages?.nodes;
}

/** Marks a topic as resolved or unresolved: moves all its messages to the topic with or without `RESOLVED_MARK`. */
export async function resolve(client: Client, { id, topic, topicName }: TopicFound, isResolved: boolean) {
  const name = topic?.name ?? topicName;
  const renamed = isResolved ? RESOLVED_MARK + name : withoutMark(name);
  await act(client, MoveMessagesDocument, { input: { messageId: id, topic: renamed, propagateMode: 'CHANGE_ALL' } });
}

const SAID: Readonly<Record<TopicVisibility, string>> = {
  FOLLOWED: 'You now follow this topic.',
  MUTED: 'This topic is muted.',
  UNMUTED: 'This topic is not muted.',
  INHERIT: 'This topic uses the default setting of its channel.',
};

export async function setVisibility(client: Client, place: TopicPlace, visibility: TopicVisibility): Promise<void> {
  const done = await act(client, SetTopicVisibilityDocument, { input: { ...place, visibility } });
  if (done !== undefined) notify(SAID[visibility]);
}

export const markTopicAsRead = (client: Client, place: TopicPlace): Promise<unknown> =>
  act(client, MarkTopicAsReadDocument, { input: { ...place } });

export const markChannelAsRead = (client: Client, channelId: string): Promise<unknown> =>
  act(client, MarkChannelAsReadDocument, { input: { channelId } });

export const setSubscription = (client: Client, settings: SubscriptionSettingsInput): Promise<unknown> =>
  act(client, SetSubscriptionDocument, { input: { subscriptions: [settings] } });
