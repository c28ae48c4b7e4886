import { createClient } from 'graphql-sse';

// Listens with unmodified graphql-sse, which is configured to resume. The parent process kills this one.
const { URL: url = '', AUTHORIZATION: authorization = '', QUEUE_ID: queueId = '' } = process.env;

let position: number | undefined;
const client = createClient({
  url,
  retryAttempts: Number.POSITIVE_INFINITY,
  // The retry delay is shorter than in production, for the test.
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
