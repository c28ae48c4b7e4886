import { type Client, createClient } from 'graphql-ws';
import { GRAPHQL_PATH } from '../api/client.ts';
import { untilWorthTrying } from '../base/worth-trying.ts';
import { connection, position, queueId } from './status.ts';

/**
 * Interval of the pings to the service (`KEEP_ALIVE_MS`), and maximum wait for the pong (`SILENCE_MS`), in milliseconds.
 * Without a pong in this time, the page closes the connection and connects again.
 */
const KEEP_ALIVE_MS = 10_000;
const SILENCE_MS = 5_000;
/** WebSocket close code that the service sends if the session has ended. */
const NO_LONGER_LET_IN = 4403;
const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [200, 5_000];

/**
 * Creates the WebSocket client of the page. The client reconnects by itself after disconnects, restarts of the service and
 * sleep. On each connection it sends the position of the last processed event, so that no event is lost.
 */
export function createSocket(): Client {
  let silence: ReturnType<typeof setTimeout> | undefined;
  const disconnected = () => connection.set(navigator.onLine ? 'connecting' : 'offline');
  const client = createClient({
    url: location.origin.replace(/^http/, 'ws') + GRAPHQL_PATH,
    shouldRetry: (reason) => !(reason instanceof CloseEvent && reason.code === NO_LONGER_LET_IN),
    retryAttempts: Number.POSITIVE_INFINITY,
    retryWait: (tries) => untilWorthTrying(Math.min(FIRST_WAIT_MS * 2 ** tries, LONGEST_WAIT_MS)),
    keepAlive: KEEP_ALIVE_MS,
    connectionParams: () => ({ positions: { [queueId.get() ?? '']: position.get() } }),
    on: {
      connecting: disconnected,
      connected: () => connection.set('live'),
      closed: () => {
        // Otherwise the timer of a ping on this connection would terminate the next connection.
        clearTimeout(silence);
        disconnected();
      },
      ping: (isReceived) => {
        if (!isReceived) silence = setTimeout(() => client.terminate(), SILENCE_MS);
      },
      pong: (isReceived) => {
        if (isReceived) clearTimeout(silence);
      },
    },
  });
  // Closes half-open connections immediately, without waiting for a timeout.
  addEventListener('online', () => client.terminate());
  addEventListener('offline', () => connection.set('offline'));
  return client;
}
