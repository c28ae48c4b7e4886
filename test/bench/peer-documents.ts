import { QUERY as VIEWER } from './reads.ts';

const PERSON = 'databaseId fullName avatarUrl';
const REACTION = 'emojiName emojiCode reactionType user { databaseId fullName }';
const MESSAGE = `databaseId content renderedContent topicName sentAt lastEditedAt flags sender { ${PERSON} }
  reactions { ${REACTION} }`;

const TOPIC = `query ($channelId: ID!, $topic: String!) {
  messages(first: 50, narrow: { channel: { id: $channelId }, topic: $topic }) { nodes { ${MESSAGE} } } }`;

/** The compared reads, as GraphQL documents for the service, and for the peer server that has the service's schema. */
export const DOCUMENTS = {
  viewer: VIEWER,
  channels: `{ channels(first: 20) { nodes { databaseId name description isPrivate createdAt subscriberCount
    folder { databaseId name } creator { ${PERSON} }
    messages(first: 5) { nodes { databaseId content topicName sentAt sender { ${PERSON} } } } } } }`,
  topic: TOPIC,
  ownTopic: TOPIC,
  screen: `{ viewer { ${PERSON} role unreadCounts { total channels conversations } }
    subscriptions(first: 300) { nodes { color isMuted pinToTop unreadCount channel { databaseId name isPrivate } } }
    messages(first: 50) { nodes { ${MESSAGE} channel { databaseId name } } } }`,
} as const;

const BY_CONNECTION = MESSAGE.replace(`{ ${REACTION} }`, `(orderBy: [ROW_ID_ASC]) { nodes { ${REACTION} } }`);

const TOPIC_OF_ROWS = `query ($channelId: Int!, $topic: String!) {
    messages: allMessages(first: 50, condition: { channelId: $channelId, topicKey: $topic }, orderBy: [DATABASE_ID_DESC]) {
      nodes { ${BY_CONNECTION} } } }`;

/** The compared reads for the peer server whose schema follows the tables: lists of rows, filtered and ordered by columns. */
export const OF_ROWS: Readonly<Record<ReadName, string>> = {
  viewer: VIEWER,
  channels: DOCUMENTS.channels
    .replace('channels(first: 20)', 'channels: allChannels(first: 20, orderBy: [SORT_NAME_ASC])')
    .replace('messages(first: 5)', 'messages(first: 5, orderBy: [DATABASE_ID_DESC])'),
  topic: TOPIC_OF_ROWS,
  ownTopic: TOPIC_OF_ROWS,
  screen: `{ viewer { ${PERSON} role unreadCounts { total channels conversations } }
    subscriptions: allChannelSubscriptions(first: 300, orderBy: [CHANNEL_ID_ASC]) {
      nodes { color isMuted pinToTop unreadCount channel { databaseId name isPrivate } } }
    messages: allMessages(first: 50, condition: { isReceived: true }, orderBy: [DATABASE_ID_DESC]) {
      nodes { ${BY_CONNECTION} channel { databaseId name } } } }`,
};

export type ReadName = keyof typeof DOCUMENTS;

/** Returns whether the document has variables for a channel and a topic. */
export const hasTopic = (name: ReadName): boolean => name === 'topic' || name === 'ownTopic';
