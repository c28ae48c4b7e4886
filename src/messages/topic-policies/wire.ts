import type { UserTopic } from '../../generated/prisma/client.ts';
import { shownTopic } from '../wire.ts';
import type { TopicPolicy } from './policies.ts';

export interface WireUserTopic {
  readonly stream_id: number;
  readonly topic_name: string;
  /** UNIX seconds. */
  readonly last_updated: number;
  readonly visibility_policy: TopicPolicy;
}

/** A channel by its name, a topic, and since when it is muted, in UNIX seconds. */
export type WireMutedTopic = readonly [channelName: string, topic: string, since: number];

/** What is told of a topic's policy. */
export type TopicPolicyFacts = Pick<UserTopic, 'channelId' | 'topic' | 'lastUpdated'> & {
  readonly policy: TopicPolicy;
};

export function toWire({ channelId, topic, lastUpdated, policy }: TopicPolicyFacts): WireUserTopic {
  return {
    stream_id: channelId,
    topic_name: topic,
    last_updated: Math.floor(lastUpdated.getTime() / 1000),
    visibility_policy: policy,
  };
}

/** The policy for a client that may not know the empty topic. */
export function withShownTopic(entry: WireUserTopic, emptyTopicName: string, knowsEmptyTopic: boolean): WireUserTopic {
  return { ...entry, topic_name: shownTopic(entry.topic_name, emptyTopicName, knowsEmptyTopic) };
}

/** The list for a client that may not know the empty topic. */
export const withShownTopics = (
  list: readonly WireMutedTopic[],
  emptyTopicName: string,
  knowsEmptyTopic: boolean,
): WireMutedTopic[] =>
  list.map(([name, topic, since]) => [name, shownTopic(topic, emptyTopicName, knowsEmptyTopic), since]);
