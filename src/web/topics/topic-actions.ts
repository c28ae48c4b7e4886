import type { Client } from 'urql';
import { act } from '../api/act.ts';
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

/** A topic by where it is. */
export interface TopicPlace {
  readonly channelId: string;
  readonly topic: string;
}

/** The newest message of a topic, with the topic and what the viewer may do. */
export type TopicFound = NonNullable<TopicAtQuery['messages']>['nodes'][number];

/** Reads a topic anew; undefined where it holds nothing the viewer may read. */
export async function readTopic(client: Client, { channelId, topic }: TopicPlace): Promise<TopicFound | undefined> {
  const { data } = await client
    .query(TopicAtDocument, { narrow: { channel: { id: channelId }, topic } }, { requestPolicy: 'network-only' })
    .toPromise();
  return data?.messages?.nodes[0];
}

/** Marks a topic as resolved or takes the mark away, by moving all its messages to the other name. */
export async function resolve(client: Client, { id, topic, topicName }: TopicFound, isResolved: boolean) {
  const name = topic?.name ?? topicName;
  const renamed = isResolved ? RESOLVED_MARK + name : withoutMark(name);
  await act(client, MoveMessagesDocument, { input: { messageId: id, topic: renamed, propagateMode: 'CHANGE_ALL' } });
}

/** @returns Whether the names are those of one topic, before it was resolved or after. */
export const isSameButResolved = (one: string, other: string): boolean =>
  withoutMark(one).toLowerCase() === withoutMark(other).toLowerCase();

const SAID: Readonly<Record<TopicVisibility, string>> = {
  FOLLOWED: 'You follow the topic.',
  MUTED: 'The topic is muted.',
  UNMUTED: 'The topic is not muted.',
  INHERIT: 'The topic is as its channel is.',
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
