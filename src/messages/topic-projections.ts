import { EventProjection, type ProjectedFields, referenceProjection } from '../api/graphql/schema/event-projections.ts';
import type { ReaderValue } from '../api/graphql/schema/reader-values.ts';
import { isResolved } from '../channels/topic-name.ts';
import { topicKey } from '../contract/topic-key.ts';
import type { ReaderCounts } from './live-counts/counts.ts';
import { ofReader } from './live-counts/live-counts.ts';
import { type NamedTopic, topicId } from './topic-ids.ts';
import { channelRecipientId } from './wire.ts';

/**
 * Returns a reader field (a field whose value differs between the recipients of an event): its value is taken from the unread
 * counts of each reader, in events that show the topic (see `scopeOf`).
 */
export const ofTopic = (of: (counts: ReaderCounts, recipientId: number, key: string) => ReaderValue) =>
  ofReader(({ channelId, name }: NamedTopic) => {
    const [recipientId, key] = [channelRecipientId(channelId), topicKey(name)];
    return (counts: ReaderCounts) => of(counts, recipientId, key);
  });

/** Creates an event projection (the fields that an event alone provides) of a topic: its id, its unread counts and `fields`. */
export const countedTopic = <T extends NamedTopic = NamedTopic>(fields: ProjectedFields<T>) =>
  new EventProjection<T>(
    'Topic',
    { idOf: topicId },
    {
      ...fields,
      unreadCount: ofTopic((counts, recipientId, key) => counts.messagesIn(recipientId, key)),
      unreadMentionCount: ofTopic((counts, recipientId, key) => counts.mentionsIn(recipientId, key)),
    },
  );

/** Fields that are computed from the name of a topic, which must be spelled as in the last message of the topic. */
export const BY_NAME: ProjectedFields<NamedTopic> = {
  name: ({ name }) => name,
  isResolved: ({ name }) => isResolved(name),
};

/** A topic, with the message that was just sent to it and is its last one. */
export interface WrittenTopic extends NamedTopic {
  readonly messageId: number;
}

/** Event projection (fields computed from the event alone) of a topic to which a message was just sent. */
export const writtenTopic = countedTopic<WrittenTopic>({
  ...BY_NAME,
  lastMessage: { projection: referenceProjection('Message'), of: ({ messageId }) => messageId },
});

/**
 * Event projection of a topic, for events whose message may not be the last of the topic: its id and unread counts. It has no
 * name, because a topic is shown with the name in its last message, which can differ in letter case or Unicode form.
 */
export const topicReference = countedTopic({});
