import { type Client, createClient } from 'graphql-ws';

/** The event queue of a client, and the position of the last event that it received. */
export interface QueuePosition {
  queueId: string;
  position: number;
}

/** Configures graphql-ws for one queue: it reconnects by itself and resumes after the last event, without duplicates. */
export function resumingSocket(url: string, authorization: () => string, place: QueuePosition): Client {
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
