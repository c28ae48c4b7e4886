/** A tab that GraphiQL shows when it opens. */
export interface Tab {
  readonly query: string;
  readonly variables?: string;
  readonly headers?: string;
}

const VIEWER = `# The user who is signed in. Press Ctrl-Enter to run the query.
query Viewer {
  viewer {
    databaseId
    fullName
    email
    role
  }
}
`;

const MESSAGES = `# The newest messages that the viewer can read.
query Messages($last: Int!) {
  messages(last: $last) {
    nodes {
      databaseId
      sentAt
      sender {
        fullName
      }
      channel {
        name
      }
      topicName
      content
    }
  }
}
`;

const SEND_MESSAGE = `# Run this while the last tab is subscribed: the event arrives there.
mutation SendMessage($input: SendMessageInput!) {
  sendMessage(input: $input) {
    __typename
    ... on SendMessagePayload {
      sentMessage {
        databaseId
        content
      }
    }
    ... on ServiceError {
      code
      message
    }
  }
}
`;

const LIVE = `# Events as they happen. Stop, and run it again later:
# the queue keeps its position, and no event is missing.
subscription Live($queueId: String!) {
  events(queueId: $queueId) {
    position
    type
    ... on MessageSentEvent {
      message {
        sender {
          fullName
        }
        channel {
          name
        }
        topicName
        content
      }
    }
    ... on ReactionAddedEvent {
      user {
        fullName
      }
      emojiName
    }
    ... on TypingStartedEvent {
      sender {
        fullName
      }
    }
  }
}
`;

const pretty = (value: unknown) => JSON.stringify(value, null, 2);

/**
 * Returns the tabs that GraphiQL shows when it opens. Their operations run without changes.
 *
 * @param queueId Id of the event queue to which the last tab subscribes.
 * @param headers Headers of every tab, as JSON text. Undefined: none.
 */
export function graphiqlTabs(queueId: string, headers: string | undefined): Tab[] {
  const message = {
    to: { topic: { named: { channel: { name: 'general' }, name: 'hello' } } },
    content: 'Hello from **GraphiQL**.',
  };
  return [
    { query: VIEWER },
    { query: MESSAGES, variables: pretty({ last: 5 }) },
    { query: SEND_MESSAGE, variables: pretty({ input: message }) },
    { query: LIVE, variables: pretty({ queueId }) },
  ].map((tab) => ({ ...tab, ...(headers !== undefined && { headers }) }));
}
