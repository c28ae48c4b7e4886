import { QUERY as VIEWER } from './reads.ts';

const PERSON = 'databaseId fullName avatarUrl';
const MESSAGE = `databaseId content renderedContent topicName sentAt lastEditedAt flags sender { ${PERSON} }
  reactions { emojiName emojiCode reactionType user { databaseId fullName } }`;

/** The reads that are compared, as the service and its closest peer are asked for them. */
export const DOCUMENTS = {
  viewer: VIEWER,
  channels: `{ channels(first: 20) { nodes { databaseId name description isPrivate createdAt subscriberCount
    folder { databaseId name } creator { ${PERSON} }
    messages(first: 5) { nodes { databaseId content topicName sentAt sender { ${PERSON} } } } } } }`,
  topic: `query ($channelId: ID!, $topic: String!) {
    messages(first: 50, narrow: { channelId: $channelId, topic: $topic }) { nodes { ${MESSAGE} } } }`,
  screen: `{ viewer { ${PERSON} role unreadCounts { total channels conversations } }
    subscriptions(first: 300) { nodes { color isMuted pinToTop unreadCount channel { databaseId name isPrivate } } }
    messages(first: 50) { nodes { ${MESSAGE} channel { databaseId name } } } }`,
} as const;

export type ReadName = keyof typeof DOCUMENTS;
