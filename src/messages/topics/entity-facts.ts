import { EntityFacts } from '../../api/graphql/entity-facts.ts';
import { isResolved, topicKey } from '../../channels/topic-name.ts';

/** A topic of which an event knows the channel and the name. */
export interface NamedTopic {
  readonly channelId: number;
  readonly name: string;
}

/** What stands behind the type's name in a topic's global id: the channel, and the name as it is compared. */
export const topicId = ({ channelId, name }: NamedTopic): string => `${channelId}:${topicKey(name)}`;

/** What is known of a topic to which a message has just been written. */
export const namedTopic = new EntityFacts<NamedTopic>(
  'Topic',
  { idOf: topicId },
  { name: ({ name }) => name, isResolved: ({ name }) => isResolved(name) },
);

/** A topic in which a message stands: it may be another that its name is from. */
export const topicReference = new EntityFacts<NamedTopic>('Topic', { idOf: topicId }, {});
