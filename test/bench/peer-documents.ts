import { QUERY as VIEWER } from './reads.ts';

const PERSON = 'databaseId fullName avatarUrl';
const REACTION = 'emojiName emojiCode reactionType user { databaseId fullName }';
const MESSAGE = `databaseId content renderedContent topicName sentAt lastEditedAt flags sender { ${PERSON} }
  reactions { ${REACTION} }`;

const IN_TOPIC = `messages(last: 50, narrow: { channel: { id: $channelId }, topicNamed: $topic }) { nodes { ${MESSAGE} } }`;
const TOPIC = `query ($channelId: ID!, $topic: String!) { ${IN_TOPIC} }`;
const NEWEST = `databaseId content sentAt sender { ${PERSON} }`;

/** The compared reads as GraphQL documents. They are for the service, and for the peer server that has the service's schema. */
export const DOCUMENTS = {
  viewer: VIEWER,
  channels: `{ channels(first: 20) { nodes { databaseId name description isPrivate createdAt subscriberCount
    folder { databaseId name } creator { ${PERSON} }
    messages(last: 5) { nodes { databaseId content topicName sentAt sender { ${PERSON} } } } } } }`,
  topic: TOPIC,
  ownTopic: TOPIC,
  screen: `query ($channelId: ID!, $topic: String!) {
    viewer { ${PERSON} role unreadCounts { total channels conversations } }
    subscriptions(first: 300) { nodes { color isMuted pinToTop unreadCount channel { databaseId name isPrivate } } }
    ${IN_TOPIC} }`,
  sidebar: `{ subscriptions(first: 300) { nodes { unreadCount channel { databaseId name
    messages(last: 1) { nodes { ${NEWEST} } } } } } }`,
} as const;

const BY_CONNECTION = MESSAGE.replace(`{ ${REACTION} }`, `(orderBy: [ROW_ID_ASC]) { nodes { ${REACTION} } }`);

const IN_TOPIC_OF_ROWS = `
    messages: allMessages(first: 50, condition: { channelId: $channelId, topicKey: $topic }, orderBy: [DATABASE_ID_DESC]) {
      nodes { ${BY_CONNECTION} } }`;
const TOPIC_OF_ROWS = `query ($channelId: Int!, $topic: String!) { ${IN_TOPIC_OF_ROWS} }`;

/**
 * The compared reads as GraphQL documents for the peer server whose schema follows the tables: lists of rows, filtered and
 * ordered by columns.
 */
export const OF_ROWS: Readonly<Record<ReadName, string>> = {
  viewer: VIEWER,
  channels: DOCUMENTS.channels
    .replace('channels(first: 20)', 'channels: allChannels(first: 20, orderBy: [SORT_NAME_ASC])')
    .replace('messages(last: 5)', 'messages(first: 5, orderBy: [DATABASE_ID_DESC])'),
  topic: TOPIC_OF_ROWS,
  ownTopic: TOPIC_OF_ROWS,
  screen: `query ($channelId: Int!, $topic: String!) {
    viewer { ${PERSON} role unreadCounts { total channels conversations } }
    subscriptions: allChannelSubscriptions(first: 300, orderBy: [CHANNEL_ID_ASC]) {
      nodes { color isMuted pinToTop unreadCount channel { databaseId name isPrivate } } } ${IN_TOPIC_OF_ROWS} }`,
  sidebar: `{ subscriptions: allChannelSubscriptions(first: 300, orderBy: [CHANNEL_ID_ASC]) {
      nodes { unreadCount channel { databaseId name
        messages(first: 1, orderBy: [DATABASE_ID_DESC]) { nodes { ${NEWEST} } } } } } }`,
};

export type ReadName = keyof typeof DOCUMENTS;

/** Returns whether the document of a read has variables for a channel and a topic. */
export const hasTopic = (name: ReadName): boolean => name === 'topic' || name === 'ownTopic' || name === 'screen';
