/** A tab of GraphiQL, as it is when the page opens. */
export interface Tab {
  readonly query: string;
  readonly variables?: string;
  readonly headers?: string;
}

const VIEWER = `# Who is signed in. Ctrl-Enter runs it.
query Viewer {
  viewer {
    databaseId
    fullName
    email
    role
  }
}
`;

const MESSAGES = `# The newest messages that the viewer may read.
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

const SEND_MESSAGE = `# Run it while the last tab listens: it arrives there, too.
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

const LIVE = `# What happens, as it happens. Stop, run again later:
# the queue keeps its place, and nothing is missing.
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
 * The tabs that GraphiQL opens with; each runs as it is.
 *
 * @param queueId What the last one listens to.
 * @param headers Of every tab, as JSON text; undefined: none.
 */
export function graphiqlTabs(queueId: string, headers: string | undefined): Tab[] {
  const message = {
    to: { topic: { channel: { name: 'general' }, name: 'hello' } },
    content: 'Hello from **GraphiQL**.',
  };
  return [
    { query: VIEWER },
    { query: MESSAGES, variables: pretty({ last: 5 }) },
    { query: SEND_MESSAGE, variables: pretty({ input: message }) },
    { query: LIVE, variables: pretty({ queueId }) },
  ].map((tab) => ({ ...tab, ...(headers !== undefined && { headers }) }));
}
