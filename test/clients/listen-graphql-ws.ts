import { createClient } from 'graphql-ws';

// Program that receives events with unmodified graphql-ws, which is configured to resume after it has reconnected. The test
// ends the program with a signal.
const { URL: url = '', AUTHORIZATION: authorization, QUEUE_ID: queueId = '' } = process.env;

const positions: Record<string, number> = {};
const client = createClient({
  url: url.replace(/^http/, 'ws'),
  shouldRetry: () => true,
  retryAttempts: Number.POSITIVE_INFINITY,
  // In production, the retry delay is longer.
  retryWait: () => new Promise((resolve) => setTimeout(resolve, 100)),
  connectionParams: () => ({ authorization, positions }),
  on: {
    message(message) {
      if (message.type !== 'next') return;
      positions[queueId] = (message.payload.extensions as { position: number }).position;
    },
  },
});

const query = 'subscription ($queueId: String!) { event: events(queueId: $queueId) { __typename } }';
client.subscribe<{ event: object }, { position: number }>(
  { query, variables: { queueId } },
  {
    next: ({ data, extensions, errors }) => console.log(JSON.stringify({ ...data?.event, ...extensions, errors })),
    error: (error) => console.log(JSON.stringify({ error: String(error) })),
    complete: () => console.log(JSON.stringify({ error: 'complete' })),
  },
);
