import { EventProjection } from '../../api/graphql/event-projections.ts';
import { isResolved } from '../../channels/topic-name.ts';
import { topicKey } from '../../contract/topic-key.ts';

/** A topic in an event: its channel and its name. */
export interface NamedTopic {
  readonly channelId: number;
  readonly name: string;
}

/** Returns the part of a topic's global id after the type's name: the channel, and the key of the topic's name. */
export const topicId = ({ channelId, name }: NamedTopic): string => `${channelId}:${topicKey(name)}`;

/** The projection of a topic to which a message has just been written. */
export const namedTopic = new EventProjection<NamedTopic>(
  'Topic',
  { idOf: topicId },
  { name: ({ name }) => name, isResolved: ({ name }) => isResolved(name) },
);

/** The projection of a topic that contains a message. Without the name, which may come from a different message. */
export const topicReference = new EventProjection<NamedTopic>('Topic', { idOf: topicId }, {});
