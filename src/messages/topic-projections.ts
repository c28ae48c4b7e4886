import { EventProjection } from '../api/graphql/schema/event-projections.ts';
import { isResolved } from '../channels/topic-name.ts';
import { topicKey } from '../contract/topic-key.ts';

/** Channel and name of a topic in an event. */
export interface NamedTopic {
  readonly channelId: number;
  readonly name: string;
}

/**
 * Returns the part of a topic's GraphQL id that follows the name of the type: the channel id, and the key of the topic's name.
 */
export const topicId = ({ channelId, name }: NamedTopic): string => `${channelId}:${topicKey(name)}`;

/** Event projection of a topic to which a message was just sent. */
export const namedTopic = new EventProjection<NamedTopic>(
  'Topic',
  { idOf: topicId },
  { name: ({ name }) => name, isResolved: ({ name }) => isResolved(name) },
);

/**
 * Event projection of a topic, for events whose message need not be its last. The name is omitted: the topic has the name of
 * its last message, and this message may have the name in another letter case or Unicode form.
 */
export const topicReference = new EventProjection<NamedTopic>('Topic', { idOf: topicId }, {});
