import type { UserTopic } from '../../generated/prisma/client.ts';
import { shownTopic } from '../wire.ts';
import type { TopicPolicy } from './policies.ts';

export interface WireUserTopic {
  readonly stream_id: number;
  readonly topic_name: string;
  /** Time of the last change, in UNIX seconds. */
  readonly last_updated: number;
  readonly visibility_policy: TopicPolicy;
}

/** A muted topic as JSON: name of the channel, name of the topic, and the time when the topic was muted in UNIX seconds. */
export type WireMutedTopic = readonly [channelName: string, topic: string, since: number];

/** Data of a topic policy from which events and initial states are rendered. */
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

/** Replaces the empty topic name in a policy, if the client does not accept "" as a topic name. See `shownTopic`. */
export function withShownTopic(entry: WireUserTopic, emptyTopicName: string, knowsEmptyTopic: boolean): WireUserTopic {
  return { ...entry, topic_name: shownTopic(entry.topic_name, emptyTopicName, knowsEmptyTopic) };
}

/** Replaces empty topic names in a list of muted topics, if the client does not accept "" as a topic name. See `shownTopic`. */
export const withShownTopics = (
  list: readonly WireMutedTopic[],
  emptyTopicName: string,
  knowsEmptyTopic: boolean,
): WireMutedTopic[] =>
  list.map(([name, topic, since]) => [name, shownTopic(topic, emptyTopicName, knowsEmptyTopic), since]);
