import { createClient } from 'graphql-sse';

// Program that receives events with unmodified graphql-sse, which is configured to resume after it has reconnected. The test
// ends the program with a signal.
const { URL: url = '', AUTHORIZATION: authorization = '', QUEUE_ID: queueId = '' } = process.env;

let position: number | undefined;
const client = createClient({
  url,
  retryAttempts: Number.POSITIVE_INFINITY,
  // In production, the retry delay is longer.
  retry: () => new Promise((resolve) => setTimeout(resolve, 100)),
  headers: () => ({ authorization, ...(position !== undefined && { 'last-event-id': String(position) }) }),
});

const query = 'subscription ($queueId: String!) { event: events(queueId: $queueId) { __typename } }';
client.subscribe<{ event: object }, { position: number }>(
  { query, variables: { queueId } },
  {
    next({ data, extensions, errors }) {
      position = extensions?.position;
      console.log(JSON.stringify({ ...data?.event, ...extensions, errors }));
    },
    error: (error) => console.log(JSON.stringify({ error: String(error) })),
    complete: () => console.log(JSON.stringify({ error: 'complete' })),
  },
);
