// GraphQL documents for the clients that read documents as text. Those for Relay are in `relay/documents.ts`.

const MESSAGE = `id content lastEditedAt viewerHasRead viewerHasStarred
  sender { id fullName } reactionGroups { emojiName count viewerHasReacted }`;

const UNREAD = 'unreadCount unreadMentionCount';
const CONVERSATION = `id ${UNREAD} participants { id fullName }`;
const OLDEST_FIRST = '{ field: LAST_MESSAGE, direction: ASC }';

export const SIGN_IN = `mutation ($input: FetchApiKeyInput!) {
  fetchApiKey(input: $input) { ... on FetchApiKeyPayload { email apiKey } }
}`;

const SIDEBAR_FIELDS = `viewer { id unreadCounts { id total channels conversations mentions } }
  subscriptions(first: 100) { nodes { id ${UNREAD} channel { id name
    topics(last: 10, orderBy: ${OLDEST_FIRST}) { nodes { id name ${UNREAD} } } } } }
  directConversations(last: 10, orderBy: ${OLDEST_FIRST}) { nodes { ${CONVERSATION} } }`;

const TOPIC_FIELDS = `topic(by: $topic) { id name channel { id name } movedTo { id }
  messages(last: 100) { nodes { ${MESSAGE} } } }`;

/** Query for the channels, topics and conversations of the viewer, with their unread counts. */
export const SIDEBAR = `query { ${SIDEBAR_FIELDS} }`;

/** Query for a topic with its messages, and the topic that has them now, if they were moved. */
export const TOPIC = `query ($topic: TopicRef!) { ${TOPIC_FIELDS} }`;

/** Mutation that registers an event queue and reads the displayed data. The queue starts at the log position of that data. */
export const FIRST_SCREEN = `mutation ($topic: TopicRef!) {
  registerEventQueue(input: {}) {
    ... on RegisterEventQueuePayload { queueId position query { ${SIDEBAR_FIELDS} ${TOPIC_FIELDS} } }
  }
}`;

export const EVENTS = `subscription ($queueId: String!) {
  events(queueId: $queueId) {
    ... on UnreadEvent { unreadChange {
      counts { id total channels conversations mentions }
      subscriptions { id ${UNREAD} } topics { id ${UNREAD} } conversations { id ${UNREAD} }
    } }
    ... on MessageSentEvent { message {
      ${MESSAGE} channel { id } topic { id name ${UNREAD} } directConversation { ${CONVERSATION} }
    } }
    ... on MessageUpdatedEvent { origTopic { id movedTo { id } } messages { id content lastEditedAt } }
    ... on MessagesDeletedEvent { messageIds }
    ... on MessageFlagsAddedEvent { all messages { id viewerHasRead viewerHasStarred } }
    ... on MessageFlagsRemovedEvent { messages { id viewerHasRead viewerHasStarred } }
    ... on ReactionAddedEvent { message { id reactionGroups { emojiName count viewerHasReacted } } }
    ... on ReactionRemovedEvent { message { id reactionGroups { emojiName count viewerHasReacted } } }
    ... on SubscriptionsAddedEvent { subscriptions { id } }
    ... on SubscriptionsRemovedEvent { subscriptionIds }
  }
}`;

export const SEND = `mutation ($input: SendMessageInput!) {
  sendMessage(input: $input) { ... on SendMessagePayload { position } ... on ServiceError { code } }
}`;

/** Query for a search: the newest matches, and the senders and channels of all matches. */
export const SEARCH = `query ($text: String!) {
  messages(last: 20, narrow: { search: $text }) {
    totalCount
    edges { highlightedContent highlightedTopicName node { id content sender { id fullName } } }
    facets { senders { count sender { id fullName } } channels { count channel { id name } } }
  }
}`;

/**
 * Queries of two user interface components that show the same message, but select different fields of its objects. They select
 * the topic on different paths.
 */
export const COMPONENTS = [
  `query ($channelId: ID!) {
    organization { id name description }
    ownSettings { id timezone }
    channel(by: { id: $channelId }) { id topics(first: 5) { nodes { id name unreadCount } } }
  }`,
  `query ($channelId: ID!) {
    organization { id uuid nameChangesDisabled }
    ownSettings { id colorScheme enterSends }
    channel(by: { id: $channelId }) { id messages(last: 1) { nodes { id topic { id isResolved lastMessage { id } } } } }
  }`,
] as const;

/** Arguments of the lists to which events add nodes, as the client caches store them. */
export const LISTS = {
  messages: { last: 100 },
  topics: { last: 10, orderBy: { field: 'LAST_MESSAGE', direction: 'ASC' } },
  directConversations: { last: 10, orderBy: { field: 'LAST_MESSAGE', direction: 'ASC' } },
};
