import type { Client } from 'urql';
import { onEnd, pipe, subscribe } from 'wonka';
import { forgetStored, isFromStore } from '../api/offline.ts';
import { createStore } from '../base/store.ts';
import { untilWorthTrying } from '../base/worth-trying.ts';
import { EventsDocument, type EventsSubscription, RegisterDocument } from '../generated/graphql.ts';
import { connection, position, queueId } from './status.ts';

/** Time in seconds after which the service deletes an event queue that is not read: a night. It accepts at most a week. */
const IDLE_SECONDS = 12 * 60 * 60;
const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [300, 5_000];
/** Matches the codes of errors after which the page asks the user to sign in. */
const REFUSED = /^(UNAUTHORIZED|INVALID_API_KEY|AUTHENTICATION_FAILED|USER_DEACTIVATED|REALM_DEACTIVATED)$/;

export type LiveEvent = NonNullable<EventsSubscription['events']>;

/** `ready`: the cache contains the data of the first screen. `refused`: the user is not signed in. */
export const engineState = createStore<'starting' | 'ready' | 'refused'>('starting');

/** Code of the error that ended the session of the page, for example after a sign-out elsewhere. Undefined until then. */
export const endedBy = createStore<string | undefined>(undefined);

const listeners = new Set<(event: LiveEvent) => void>();

/** Calls a listener for each event, after the cache has stored the event. @returns A function that removes the listener. */
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
  endedBy.set(undefined);
  void run(client, stopped.signal);
  return () => {
    stopped.abort();
    engineState.set('starting');
    queueId.set(null);
    position.set(-1);
  };
}

async function run(client: Client, signal: AbortSignal): Promise<void> {
  for (let waitMs = FIRST_WAIT_MS; !signal.aborted; ) {
    await register(client, signal);
    if (signal.aborted || engineState.get() === 'refused') return;
    // A node of another version can accept the registration and reject the subscription. The next attempt is then delayed.
    if (queueId.get() !== null && (await listen(client, signal))) waitMs = FIRST_WAIT_MS;
    else {
      await untilWorthTrying(waitMs);
      waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
    }
  }
}

/** Registers an event queue and reads the first screen. */
async function register(client: Client, signal: AbortSignal): Promise<void> {
  queueId.set(null);
  // Becomes true again if the response to this request is a stored one too.
  isFromStore.set(false);
  const input = { idleTimeoutSeconds: IDLE_SECONDS };
  const { data, error } = await client.mutation(RegisterDocument, { input }).toPromise();
  const result = data?.registerEventQueue;
  if (signal.aborted) return;
  if (result?.__typename === 'RegisterEventQueuePayload') {
    queueId.set(result.queueId);
    position.set(result.position);
    engineState.set('ready');
    return;
  }
  const codes = [result?.code, ...(error?.graphQLErrors ?? []).map(({ extensions }) => extensions['code'])];
  const refusal = codes.map(String).find((code) => REFUSED.test(code));
  if (refusal === undefined) return;
  // Before the first screen is loaded, it is unknown whether there was a session.
  if (engineState.get() === 'ready') endedBy.set(refusal);
  void forgetStored();
  engineState.set('refused');
}

/**
 * Reads the event queue until it is lost or `signal` is aborted.
 *
 * @returns Whether at least one event was received.
 */
async function listen(client: Client, signal: AbortSignal): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let hasReceived = false;
  const { unsubscribe } = pipe(
    client.subscription(EventsDocument, { queueId: queueId.get() ?? '' }),
    onEnd(resolve),
    subscribe(({ data, error }) => {
      const event = data?.events;
      // Events are repeated for the cache after a response to a query (`api/replay.ts`), and after a disconnect.
      if (event && event.position > position.get()) {
        hasReceived = true;
        for (const listener of [...listeners]) listener(event);
        position.set(event.position);
      }
      if (error !== undefined) resolve();
    }),
  );
  signal.addEventListener('abort', () => resolve());
  // Stored responses can miss changes before the position of the queue. With a new queue, all data is read again.
  const renew = () => connection.get() === 'live' && isFromStore.get() && resolve();
  const stops = [connection.watch(renew), isFromStore.watch(renew)];
  await promise.finally(() => {
    unsubscribe();
    for (const stop of stops) stop();
  });
  return hasReceived;
}
