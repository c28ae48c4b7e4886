import type { Client } from 'urql';
import { onEnd, pipe, subscribe } from 'wonka';
import { createStore } from '../base/store.ts';
import { untilWorthTrying } from '../base/worth-trying.ts';
import { EventsDocument, type EventsSubscription, RegisterDocument } from '../generated/graphql.ts';
import { cachedPosition, liveStatus, updateStatus } from './status.ts';

/**
 * Time in seconds after which the service deletes an event queue that is not read: 12 hours, so that a queue survives a night.
 * The service accepts at most a week.
 */
const IDLE_SECONDS = 12 * 60 * 60;
const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [300, 5_000];

export type LiveEvent = NonNullable<EventsSubscription['events']>;

/**
 * State of the data in the cache. `ready`: the cache contains the data of the first screen. `refused`: the user is not signed
 * in.
 */
export const engineState = createStore<'starting' | 'ready' | 'refused'>('starting');

/**
 * Code of the error that ended the session of the page, for example after a sign-out in another browser. Undefined until then.
 */
export const endedBy = createStore<string | undefined>(undefined);

const listeners = new Set<(event: LiveEvent) => void>();

/**
 * Calls a listener for each event, after the cache has stored the event. For data that the page keeps outside of the cache.
 *
 * @returns A function that removes the listener.
 */
export function onEvent(listener: (event: LiveEvent) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * Keeps the page up to date. One request registers an event queue and fetches the first screen. A subscription then delivers
 * the later events. After a disconnect, the subscription resumes where it stopped. If the service has deleted the queue,
 * another queue is registered, and all data on the screen is fetched again.
 *
 * @returns A function that stops the updates.
 */
export function startEngine(client: Client): () => void {
  const stopped = new AbortController();
  const { signal } = stopped;
  endedBy.set(undefined);
  void run(client, signal);
  return () => {
    stopped.abort();
    engineState.set('starting');
    updateStatus({ queueId: null, position: -1 });
    cachedPosition.set(-1);
  };
}

async function run(client: Client, signal: AbortSignal): Promise<void> {
  let waitMs = FIRST_WAIT_MS;
  while (!signal.aborted) {
    const registered = await register(client, signal);
    if (registered === 'refused') return engineState.set('refused');
    // A node of another version can accept the registration and reject the subscription. The next attempt is then delayed.
    if (registered === 'ready' && (await listen(client, signal))) waitMs = FIRST_WAIT_MS;
    else {
      await untilWorthTrying(waitMs);
      waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
    }
  }
}

const REFUSED: readonly unknown[] = [
  'UNAUTHORIZED',
  'INVALID_API_KEY',
  'AUTHENTICATION_FAILED',
  'USER_DEACTIVATED',
  'REALM_DEACTIVATED',
];

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
  const codes = [...(error?.graphQLErrors ?? []).map(({ extensions }) => extensions['code'])];
  if (result != null && 'code' in result) codes.push(result.code);
  const refusal = codes.find((code) => REFUSED.includes(code));
  if (refusal === undefined) return 'failed';
  // Before the first screen is loaded, it is unknown whether there was a session.
  if (engineState.get() === 'ready') endedBy.set(String(refusal));
  return 'refused';
}

/**
 * Reads the event queue until the service reports that the queue is lost, or ends the subscription because the queue was
 * deleted. Also stops if `signal` is aborted.
 *
 * @returns Whether at least one event was received.
 */
async function listen(client: Client, signal: AbortSignal): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let hasReceived = false;
  const { queueId } = liveStatus.get();
  const { unsubscribe } = pipe(
    client.subscription(EventsDocument, { queueId: queueId ?? '' }),
    onEnd(resolve),
    subscribe(({ data, error }) => {
      const event = data?.events;
      // After a response to a query, events are repeated for the cache (`api/replay.ts`).
      if (event && event.position > cachedPosition.get()) {
        hasReceived = true;
        for (const listener of [...listeners]) listener(event);
        cachedPosition.set(event.position);
      }
      if (error !== undefined) resolve();
    }),
  );
  signal.addEventListener('abort', () => resolve());
  await promise.finally(unsubscribe);
  return hasReceived;
}
