import type { Client } from 'urql';
import { onEnd, pipe, subscribe } from 'wonka';
import { createStore } from '../api/store.ts';
import { EventsDocument, type EventsSubscription, RegisterDocument } from '../generated/graphql.ts';
import { keepCountsSettled } from './settle.ts';
import { untilWorthTrying } from './socket.ts';
import { cachedPosition, liveStatus, updateStatus } from './status.ts';

/** How long the service keeps the page's place while nobody reads: a night's sleep. A week would be the most. */
const IDLE_SECONDS = 12 * 60 * 60;
const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [300, 5_000];

export type LiveEvent = NonNullable<EventsSubscription['events']>;

/** Whether the first screen is in the cache; `refused` where nobody is signed in. */
export const engineState = createStore<'starting' | 'ready' | 'refused'>('starting');

const listeners = new Set<(event: LiveEvent) => void>();

/**
 * Tells of each event after the cache has it: for what is no part of the cache.
 *
 * @returns What ends it.
 */
export function onEvent(listener: (event: LiveEvent) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * Makes the page live: registers a queue together with the first screen, and reads it from there. What breaks is taken up
 * again where it broke; a queue that the service no longer has is followed by another, and all that is shown is read anew.
 *
 * @returns What ends it.
 */
export function startEngine(client: Client): () => void {
  const stopped = new AbortController();
  const { signal } = stopped;
  void run(client, signal);
  const unsettled = keepCountsSettled(client);
  return () => {
    stopped.abort();
    unsettled();
    engineState.set('starting');
    updateStatus({ queueId: null, position: -1 });
    cachedPosition.set(-1);
  };
}

async function run(client: Client, signal: AbortSignal): Promise<void> {
  let waitMs = FIRST_WAIT_MS;
  while (!signal.aborted) {
    const registered = await register(client, signal);
    if (registered === 'ready') {
      waitMs = FIRST_WAIT_MS;
      await listen(client, signal);
    } else if (registered === 'refused') {
      engineState.set('refused');
      return;
    } else {
      await untilWorthTrying(waitMs);
      waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
    }
  }
}

async function register(client: Client, signal: AbortSignal): Promise<'ready' | 'refused' | 'failed'> {
  const input = { idleTimeoutSeconds: IDLE_SECONDS };
  const { data, error } = await client.mutation(RegisterDocument, { input }).toPromise();
  if (signal.aborted) return 'failed';
  const result = data?.registerEventQueue;
  if (result?.__typename === 'RegisterEventQueuePayload' && result.queueId !== null) {
    updateStatus({ queueId: result.queueId, position: result.position });
    cachedPosition.set(result.position);
    engineState.set('ready');
    return 'ready';
  }
  const codes = [result?.__typename !== 'RegisterEventQueuePayload' && result?.code, ...codesOf(error)];
  return codes.some((code) => REFUSED.has(String(code))) ? 'refused' : 'failed';
}

const REFUSED = new Set([
  'UNAUTHORIZED',
  'INVALID_API_KEY',
  'AUTHENTICATION_FAILED',
  'USER_DEACTIVATED',
  'REALM_DEACTIVATED',
]);

const codesOf = (error: { readonly graphQLErrors: readonly { readonly extensions?: unknown }[] } | undefined) =>
  error?.graphQLErrors.map(({ extensions }) => (extensions as { readonly code?: string } | undefined)?.code) ?? [];

/** Reads the queue until the service says that it is lost, or ends it: whoever deletes a queue ends its readers. */
function listen(client: Client, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { queueId } = liveStatus.get();
  const { unsubscribe } = pipe(
    client.subscription(EventsDocument, { queueId: queueId ?? '' }),
    onEnd(resolve),
    subscribe(({ data, error }) => {
      const event = data?.events;
      if (event) {
        for (const listener of [...listeners]) listener(event);
        cachedPosition.set(event.position);
      }
      if (error !== undefined) resolve();
    }),
  );
  signal.addEventListener('abort', () => resolve());
  return promise.finally(unsubscribe);
}
