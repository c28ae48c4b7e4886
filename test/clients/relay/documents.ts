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
  fragment documentsConversation on DirectConversation {
    id unreadCount unreadMentionCount
    participants { id fullName }
  }
`;

graphql`
  fragment documentsSidebar on Query {
    viewer { id unreadCounts { id total channels conversations mentions } }
    subscriptions(first: 100) {
      nodes {
        id unreadCount unreadMentionCount
        channel {
          id
          name
          topics(last: 10, orderBy: { field: LAST_MESSAGE, direction: ASC }) {
            nodes { id name unreadCount unreadMentionCount }
          }
        }
      }
    }
    directConversations(last: 10, orderBy: { field: LAST_MESSAGE, direction: ASC }) {
      nodes { ...documentsConversation @relay(mask: false) }
    }
  }
`;

graphql`
  fragment documentsTopic on Query {
    topic(by: $topic) {
      id
      name
      channel { id name }
      movedTo { id }
      messages(last: 100) { nodes { ...documentsMessage @relay(mask: false) } }
    }
  }
`;

graphql`
  query documentsSidebarQuery {
    ...documentsSidebar @relay(mask: false)
  }
`;

graphql`
  query documentsTopicQuery($topic: TopicRef!) {
    ...documentsTopic @relay(mask: false)
  }
`;

graphql`
  mutation documentsFirstScreenMutation($topic: TopicRef!) {
    registerEventQueue(input: {}) {
      ... on RegisterEventQueuePayload {
        queueId
        position
        query {
          ...documentsSidebar @relay(mask: false)
          ...documentsTopic @relay(mask: false)
        }
      }
    }
  }
`;

graphql`
  subscription documentsEventsSubscription($queueId: String!) {
    events(queueId: $queueId) {
      __typename
      ... on UnreadEvent {
        unreadChange {
          counts { id total channels conversations mentions }
          subscriptions { id unreadCount unreadMentionCount }
          topics { id unreadCount unreadMentionCount }
          conversations { id unreadCount unreadMentionCount }
        }
      }
      ... on MessageSentEvent {
        message {
          ...documentsMessage @relay(mask: false)
          channel { id }
          topic { id name unreadCount unreadMentionCount }
          directConversation { ...documentsConversation @relay(mask: false) }
        }
      }
      ... on MessageUpdatedEvent { origTopic { id movedTo { id } } messages { id content lastEditedAt } }
      ... on MessagesDeletedEvent { messageIds @deleteRecord }
      ... on MessageFlagsAddedEvent { all messages { id viewerHasRead viewerHasStarred } }
      ... on MessageFlagsRemovedEvent { messages { id viewerHasRead viewerHasStarred } }
      ... on ReactionAddedEvent { message { id reactionGroups { emojiName count viewerHasReacted } } }
      ... on ReactionRemovedEvent { message { id reactionGroups { emojiName count viewerHasReacted } } }
      ... on SubscriptionsAddedEvent { subscriptions { id } }
      ... on SubscriptionsRemovedEvent { subscriptionIds }
    }
  }
`;

graphql`
  query documentsSearchQuery($text: String!) {
    messages(last: 20, narrow: { search: $text }) {
      totalCount
      edges { highlightedContent highlightedTopicName node { id content sender { id fullName } } }
      facets { senders { count sender { id fullName } } channels { count channel { id name } } }
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
