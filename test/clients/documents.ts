// GraphQL documents for the clients that read them as text. `relay/documents.ts` has those of Relay.

const MESSAGE = `id content lastEditedAt viewerHasRead viewerHasStarred
  sender { id fullName } reactionGroups { emojiName count viewerHasReacted }`;

export const SIGN_IN = `mutation ($input: FetchApiKeyInput!) {
  fetchApiKey(input: $input) { ... on FetchApiKeyPayload { email apiKey } }
}`;

const CHANNEL = `channel(by: { id: $channelId }) { id name messages(last: 100) { nodes { ${MESSAGE} } } }`;

/** Query for the displayed data: a channel with its messages. */
export const SCREEN = `query ($channelId: ID!) { ${CHANNEL} }`;

/** Mutation that registers an event queue and reads the displayed data. The queue starts at the position of the data. */
export const FIRST_SCREEN = `mutation ($channelId: ID!) {
  registerEventQueue(input: {}) { ... on RegisterEventQueuePayload { queueId position query { ${CHANNEL} } } }
}`;

export const EVENTS = `subscription ($queueId: String!) {
  events(queueId: $queueId) {
    ... on MessageSentEvent { message { ${MESSAGE} channel { id } } }
    ... on MessageUpdatedEvent { message { id content lastEditedAt } }
    ... on MessageFlagsAddedEvent { messages { id viewerHasRead viewerHasStarred } }
    ... on MessageFlagsRemovedEvent { messages { id viewerHasRead viewerHasStarred } }
    ... on ReactionAddedEvent { message { id reactionGroups { emojiName count viewerHasReacted } } }
    ... on ReactionRemovedEvent { message { id reactionGroups { emojiName count viewerHasReacted } } }
  }
}`;

export const SEND = `mutation ($input: SendMessageInput!) {
  sendMessage(input: $input) { ... on SendMessagePayload { position } ... on ServiceError { code } }
}`;

/**
 * Queries of two components that show one message, but select different fields of its objects. They select the topic on
 * different paths.
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
