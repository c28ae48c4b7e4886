/** The part of the service's schema that the compared documents use, with the same names. */
export const SCHEMA = `
  scalar DateTime
  scalar LongId
  enum UserRole { OWNER ADMINISTRATOR MODERATOR MEMBER GUEST }
  enum MessageFlag { READ STARRED COLLAPSED MENTIONED CHANNEL_WILDCARD_MENTIONED TOPIC_WILDCARD_MENTIONED HAS_ALERT_WORD HISTORICAL }
  enum ReactionType { UNICODE_EMOJI REALM_EMOJI SERVICE_EXTRA_EMOJI }
  enum BotType { GENERIC INCOMING_WEBHOOK OUTGOING_WEBHOOK EMBEDDED }

  type User {
    databaseId: Int!
    deliveryEmail: String
    email: String!
    fullName: String!
    joinedAt: DateTime!
    isActive: Boolean!
    role: UserRole!
    isBot: Boolean!
    botType: BotType
    timezone: String!
    avatarUrl: String!
    avatarVersion: Int!
    isImportedStub: Boolean!
    unreadCounts: UnreadCounts
  }
  type UnreadCounts { total: Int! channels: Int! conversations: Int! }
  type ChannelFolder { databaseId: Int! name: String! }
  type Channel {
    databaseId: Int!
    name: String!
    description: String!
    isPrivate: Boolean!
    createdAt: DateTime!
    subscriberCount: Int!
    folder: ChannelFolder
    creator: User
    messages(last: Int!): MessageConnection
  }
  type ChannelConnection { nodes: [Channel!]! }
  type ChannelSubscription {
    color: String!
    isMuted: Boolean!
    pinToTop: Boolean!
    unreadCount: Int!
    channel: Channel!
  }
  type ChannelSubscriptionConnection { nodes: [ChannelSubscription!]! }
  type Reaction { emojiName: String! emojiCode: String! reactionType: ReactionType! user: User! }
  type Message {
    databaseId: LongId!
    content: String!
    renderedContent: String!
    topicName: String!
    sentAt: DateTime!
    lastEditedAt: DateTime
    flags: [MessageFlag!]!
    sender: User!
    reactions: [Reaction!]!
    channel: Channel
  }
  type MessageConnection { nodes: [Message!]! }
  input ChannelRef { id: ID }
  input MessageNarrowInput { channel: ChannelRef, topicNamed: String }
  type Query {
    viewer: User
    channels(first: Int!): ChannelConnection
    subscriptions(first: Int!): ChannelSubscriptionConnection
    messages(last: Int!, narrow: MessageNarrowInput): MessageConnection
  }
`;
