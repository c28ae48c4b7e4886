import { graphql } from 'relay-runtime';

// Input of relay-compiler. In an application, a bundler plugin replaces each document with its generated artifact. Here,
// `artifacts.ts` loads the artifacts, so no module imports this file.

graphql`
  fragment documentsMessage on Message {
    id content lastEditedAt viewerHasRead viewerHasStarred
    sender { id fullName }
    reactionGroups { emojiName count viewerHasReacted }
  }
`;

graphql`
  mutation documentsSignInMutation($input: FetchApiKeyInput!) {
    fetchApiKey(input: $input) { ... on FetchApiKeyPayload { email apiKey } }
  }
`;

graphql`
  fragment documentsChannel on Channel {
    id
    name
    messages(last: 100) @connection(key: "documents_messages") { edges { node { ...documentsMessage @relay(mask: false) } } }
  }
`;

graphql`
  query documentsScreenQuery($channelId: ID!) {
    channel(by: { id: $channelId }) { ...documentsChannel @relay(mask: false) }
  }
`;

graphql`
  mutation documentsFirstScreenMutation($channelId: ID!) {
    registerEventQueue(input: {}) {
      ... on RegisterEventQueuePayload {
        queueId
        position
        query { channel(by: { id: $channelId }) { ...documentsChannel @relay(mask: false) } }
      }
    }
  }
`;

graphql`
  subscription documentsEventsSubscription($queueId: String!) {
    events(queueId: $queueId) {
      __typename
      ... on MessageSentEvent { message { ...documentsMessage @relay(mask: false) channel { id } } }
      ... on MessageUpdatedEvent { message { id content lastEditedAt } }
      ... on MessageFlagsAddedEvent { messages { id viewerHasRead viewerHasStarred } }
      ... on MessageFlagsRemovedEvent { messages { id viewerHasRead viewerHasStarred } }
      ... on ReactionAddedEvent { message { id reactionGroups { emojiName count viewerHasReacted } } }
      ... on ReactionRemovedEvent { message { id reactionGroups { emojiName count viewerHasReacted } } }
    }
  }
`;

graphql`
  mutation documentsSendMutation($input: SendMessageInput!) {
    sendMessage(input: $input) { ... on SendMessagePayload { position } ... on ServiceError { code } }
  }
`;

graphql`
  query documentsOneComponentQuery($channelId: ID!) {
    organization { id name description }
    ownSettings { id timezone }
    channel(by: { id: $channelId }) { id topics(first: 5) { nodes { id name unreadCount } } }
  }
`;

graphql`
  query documentsOtherComponentQuery($channelId: ID!) {
    organization { id uuid nameChangesDisabled }
    ownSettings { id colorScheme enterSends }
    channel(by: { id: $channelId }) { id messages(last: 1) { nodes { id topic { id isResolved lastMessage { id } } } } }
  }
`;
