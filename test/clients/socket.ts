import { type Client, createClient } from 'graphql-ws';

/** What a client has heard of its one queue. */
export interface Place {
  queueId: string;
  position: number;
}

/** graphql-ws for one queue, whatever makes the subscription: it comes back by itself, and nothing comes twice. */
export function resumingSocket(url: string, authorization: () => string, place: Place): Client {
  return createClient({
    url: url.replace(/^http/, 'ws'),
    shouldRetry: () => true,
    retryAttempts: Number.POSITIVE_INFINITY,
    retryWait: () => new Promise((resolve) => setTimeout(resolve, 100)),
    connectionParams: () => ({
      authorization: authorization(),
      positions: { [place.queueId]: place.position },
    }),
    on: {
      message(message) {
        if (message.type === 'next') place.position = (message.payload.extensions as { position: number }).position;
      },
    },
  });
}
