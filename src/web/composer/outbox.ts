import type { Client } from 'urql';
import { newKey, withKey } from '../api/mutate.ts';
import { narrowKey } from '../api/narrow.ts';
import { createStore } from '../api/store.ts';
import {
  type MessageNarrowInput,
  OwnDocument,
  SendMessageDocument,
  type SendMessageInput,
} from '../generated/graphql.ts';
import { onEvent } from '../live/engine.ts';
import { cachedPosition, liveStatus, whenLive } from '../live/status.ts';
import { refusalOf } from './refusal.ts';

// What was written and is not in the log yet. It is kept by the browser tab, so that neither a cut nor a reload loses it,
// and sent under one idempotency key for as long as it takes: however often, it is one message.

/**
 * `waiting` to be sent, being `sending`, `sent` and to be heard of, or `failed`: refused by the service, for `reason`.
 * Only what failed needs somebody to decide; what the service cannot take just now waits until it can.
 */
export type PendingState = 'waiting' | 'sending' | 'sent' | 'failed';

export interface Pending {
  /** The idempotency key, and the `localId` by which the event is known. */
  readonly id: string;
  /** `narrowKey` of where it belongs. */
  readonly place: string;
  readonly input: SendMessageInput;
  /** Who wrote it: in the same tab somebody else may sign in. */
  readonly by: string;
  readonly state: PendingState;
  readonly reason?: string;
  /** How often the service could not take it yet. */
  readonly putOff?: number;
  /** Of its event, once the service has said it. */
  readonly position?: number;
  /** ISO 8601. */
  readonly writtenAt: string;
}

const KEY = 'outbox';
const RETRY_MS = 2_000;
/** Our choice: how long the service is left alone that could not take a message, unless it says longer. */
const [FIRST_REST_MS, LONGEST_REST_MS] = [500, 10_000];
/** Our choice: at most so much later, so that not all pages come in the same moment. */
const SPREAD_MS = 500;

export const outbox = createStore<readonly Pending[]>(restored());

function restored(): readonly Pending[] {
  const kept = JSON.parse(sessionStorage.getItem(KEY) ?? '[]') as Pending[];
  // Nobody knows whether it arrived: it is sent again under its key.
  return kept.map((one) => (one.state === 'sending' || one.state === 'sent' ? { ...one, state: 'waiting' } : one));
}

function update(change: (pending: readonly Pending[]) => readonly Pending[]): void {
  outbox.set(change(outbox.get()));
  sessionStorage.setItem(KEY, JSON.stringify(outbox.get()));
}

const patch = (id: string, part: Partial<Pending>): void =>
  update((pending) => pending.map((one) => (one.id === id ? { ...one, ...part } : one)));

export const discard = (id: string): void => update((pending) => pending.filter((one) => one.id !== id));

/** Somebody wants to leave nothing behind in this tab. */
export const discardAllBy = (userId: string): void => update((pending) => pending.filter(({ by }) => by !== userId));

/** Puts a message into the outbox, which sends it as soon as that is possible. */
export function post(narrow: MessageNarrowInput, target: Omit<SendMessageInput, 'localId' | 'queueId'>): void {
  const id = newKey();
  const { queueId } = liveStatus.get();
  const input = { ...target, localId: id, ...(queueId !== null && { queueId }) };
  update((pending) => [
    ...pending,
    { id, place: narrowKey(narrow), input, by: viewerId(), state: 'waiting', writtenAt: new Date().toISOString() },
  ]);
  pump();
}

export function sendAgain(id: string): void {
  patch(id, { state: 'waiting', putOff: 0 });
  pump();
}

let sending: Client | undefined;

const viewerId = (): string => sending?.readQuery(OwnDocument, {})?.data?.viewer?.id ?? '';
/** Those of others wait until they are signed in again. */
const isToBeSent = ({ state, by }: Pending): boolean => state === 'waiting' && by === viewerId();

/** Sends what waits whenever that may work, in its order. @returns What ends it. */
export function startOutbox(client: Client): () => void {
  sending = client;
  restsUntil = 0;
  // What was on its way belongs to a session that is over: nobody else hears of it.
  outbox.set(restored());
  const stops = [
    onEvent((event) => {
      if (event.__typename === 'MessageSentEvent' && event.localMessageId !== null) discard(event.localMessageId);
    }),
    cachedPosition.watch(() => {
      // Heard of otherwise: what its event brought is in the lists.
      for (const { id, position } of outbox.get()) if (position !== undefined && isCached(position)) discard(id);
    }),
    whenLive(pump),
  ];
  const timer = setInterval(pump, RETRY_MS);
  pump();
  return () => {
    clearInterval(timer);
    sending = undefined;
    for (const stop of stops) stop();
  };
}

/** Whether the lists have what happened there: as long as they may not, it is shown by what is pending. */
const isCached = (position: number): boolean => position <= cachedPosition.get();

let isPumping = false;
/** By `performance.now()`: the service is not asked before. */
let restsUntil = 0;

/** Leaves the service alone for a while, also with what was written later: messages go in the order they were written in. */
function rest(restMs: number): void {
  restsUntil = performance.now() + restMs;
  setTimeout(pump, restMs);
}

function pump(): void {
  if (performance.now() < restsUntil) return;
  if (isPumping || sending === undefined || !outbox.get().some(isToBeSent)) return;
  isPumping = true;
  void sendNext(sending).finally(() => {
    isPumping = false;
  });
}

async function sendNext(client: Client): Promise<void> {
  for (;;) {
    const next = outbox.get().find(isToBeSent);
    if (next === undefined || !(await send(client, next))) return;
  }
}

/** @returns False when it is to be tried later. */
async function send(client: Client, { id, input, putOff = 0 }: Pending): Promise<boolean> {
  patch(id, { state: 'sending' });
  const { data, error } = await client.mutation(SendMessageDocument, { input }, withKey(id)).toPromise();
  const result = data?.sendMessage;
  if (result?.__typename === 'SendMessagePayload') {
    const position = result.position ?? -1;
    if (isCached(position)) discard(id);
    else patch(id, { state: 'sent', position });
    return true;
  }
  const refusal = refusalOf(data, error);
  if (refusal?.isForNow === false) {
    patch(id, { state: 'failed', reason: refusal.message });
    return true;
  }
  patch(id, { state: 'waiting', putOff: refusal === undefined ? 0 : putOff + 1 });
  if (refusal !== undefined) {
    const restMs = Math.min(FIRST_REST_MS * 2 ** putOff, LONGEST_REST_MS);
    rest(Math.max(refusal.retryAfterMs, restMs) + Math.random() * SPREAD_MS);
  }
  return false;
}
