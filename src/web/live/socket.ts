import { type Client, createClient } from 'graphql-ws';
import { GRAPHQL_PATH } from '../api/client.ts';
import { liveStatus, updateStatus } from './status.ts';

/** How often the service is asked whether it is there, and how long it may take to answer. */
const KEEP_ALIVE_MS = 10_000;
const SILENCE_MS = 5_000;
/** The close code of the service for a session that is over. */
const NO_LONGER_LET_IN = 4403;
const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [200, 5_000];

/**
 * The socket, which comes back by itself: after cuts, restarts of the service and sleep. With each connection it tells
 * the position that was heard last, so that nothing is missing and nothing comes twice.
 */
export function createSocket(): Client {
  let [asked, silence]: [number, ReturnType<typeof setTimeout> | undefined] = [0, undefined];
  const client = createClient({
    url: location.origin.replace(/^http/, 'ws') + GRAPHQL_PATH,
    shouldRetry: (reason) => !(reason instanceof CloseEvent && reason.code === NO_LONGER_LET_IN),
    retryAttempts: Number.POSITIVE_INFINITY,
    retryWait: (tries) => untilWorthTrying(Math.min(FIRST_WAIT_MS * 2 ** tries, LONGEST_WAIT_MS)),
    keepAlive: KEEP_ALIVE_MS,
    connectionParams: () => {
      const { queueId, position } = liveStatus.get();
      return queueId === null ? {} : { positions: { [queueId]: position } };
    },
    on: {
      connecting: () => updateStatus({ connection: navigator.onLine ? 'connecting' : 'offline' }),
      connected: () => updateStatus({ connection: 'live' }),
      closed: () => {
        // Or the question that was asked on this connection ends the next one.
        clearTimeout(silence);
        updateStatus({ connection: navigator.onLine ? 'connecting' : 'offline' });
      },
      ping: (isReceived) => {
        if (isReceived) return;
        asked = performance.now();
        silence = setTimeout(() => client.terminate(), SILENCE_MS);
      },
      pong: (isReceived) => {
        if (!isReceived) return;
        clearTimeout(silence);
        updateStatus({ answerMs: Math.round(performance.now() - asked) });
      },
      message: (message) => {
        const position = message.type === 'next' ? message.payload.extensions?.['position'] : undefined;
        if (typeof position === 'number') updateStatus({ position });
      },
    },
  });
  // Half-open connections of before are not waited for.
  addEventListener('online', () => client.terminate());
  addEventListener('offline', () => updateStatus({ connection: 'offline' }));
  return client;
}

/** Waits, but not once the network is back or somebody looks at the page again. */
export function untilWorthTrying(waitMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const woken = new AbortController();
  const wake = () => {
    clearTimeout(timer);
    woken.abort();
    resolve();
  };
  const timer = setTimeout(wake, waitMs + Math.random() * FIRST_WAIT_MS);
  addEventListener('online', wake, woken);
  document.addEventListener('visibilitychange', wake, woken);
  return promise;
}
