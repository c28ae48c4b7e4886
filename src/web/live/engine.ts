import type { Client } from 'urql';
import { onEnd, pipe, subscribe } from 'wonka';
import { createStore } from '../api/store.ts';
import { untilWorthTrying } from '../api/worth-trying.ts';
import { EventsDocument, type EventsSubscription, RegisterDocument } from '../generated/graphql.ts';
import { keepCountsSettled, keepTopicsListed } from './settle.ts';
import { cachedPosition, liveStatus, updateStatus } from './status.ts';

/** Time after which the service deletes a queue that is not read: long enough for a night. The maximum is a week. */
const IDLE_SECONDS = 12 * 60 * 60;
const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [300, 5_000];

export type LiveEvent = NonNullable<EventsSubscription['events']>;

/** State of the page's data. `ready`: the cache contains the first screen. `refused`: the user is not signed in. */
export const engineState = createStore<'starting' | 'ready' | 'refused'>('starting');

/** Code of the error that ended the page's session, such as after a sign-out in another browser. Undefined until then. */
export const endedBy = createStore<string | undefined>(undefined);

const listeners = new Set<(event: LiveEvent) => void>();

/**
 * Calls a listener for each event, after the cache has stored the event. Listeners keep data that the cache does not contain.
 *
 * @returns A function that removes the listener.
 */
export function onEvent(listener: (event: LiveEvent) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * Keeps the page up to date. One request registers an event queue and fetches the first screen. A subscription then delivers
 * the later events. After a disconnect, it resumes where it stopped. If the service no longer has the queue, another one is
 * registered, and all data on the screen is fetched again.
 *
 * @returns A function that stops the updates.
 */
export function startEngine(client: Client): () => void {
  const stopped = new AbortController();
  const { signal } = stopped;
  endedBy.set(undefined);
  void run(client, signal);
  const stops = [keepCountsSettled(client), keepTopicsListed(client)];
  return () => {
    stopped.abort();
    for (const stop of stops) stop();
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
  const refusal = codes.find((code) => REFUSED.has(String(code)));
  if (refusal === undefined) return 'failed';
  // Before the first screen is loaded, it is unknown whether there was a session.
  if (engineState.get() === 'ready') endedBy.set(String(refusal));
  return 'refused';
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

/** Reads the queue until the service reports that the queue is lost, or ends the subscription because the queue was deleted. */
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
