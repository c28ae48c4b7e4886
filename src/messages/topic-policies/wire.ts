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

/** The name of a channel, a topic, and the time when it was muted, in UNIX seconds. */
export type WireMutedTopic = readonly [channelName: string, topic: string, since: number];

/** The data of a topic policy in events and registrations. */
export type TopicPolicySnapshot = Pick<UserTopic, 'channelId' | 'topic' | 'lastUpdated'> & {
  readonly policy: TopicPolicy;
};

export function toWire({ channelId, topic, lastUpdated, policy }: TopicPolicySnapshot): WireUserTopic {
  return {
    stream_id: channelId,
    topic_name: topic,
    last_updated: Math.floor(lastUpdated.getTime() / 1000),
    visibility_policy: policy,
  };
}

/** Returns the policy with the topic's name as the client expects it, see `shownTopic`. */
export function withShownTopic(entry: WireUserTopic, emptyTopicName: string, knowsEmptyTopic: boolean): WireUserTopic {
  return { ...entry, topic_name: shownTopic(entry.topic_name, emptyTopicName, knowsEmptyTopic) };
}

/** Returns the list with the topics' names as the client expects them, see `shownTopic`. */
export const withShownTopics = (
  list: readonly WireMutedTopic[],
  emptyTopicName: string,
  knowsEmptyTopic: boolean,
): WireMutedTopic[] =>
  list.map(([name, topic, since]) => [name, shownTopic(topic, emptyTopicName, knowsEmptyTopic), since]);
