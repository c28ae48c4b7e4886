import type { Client } from 'urql';
import { isSameTopic } from '../../contract/topic-key.ts';
import { newKey, withKey } from '../api/mutate.ts';
import { narrowKey } from '../api/narrow.ts';
import { createStore } from '../base/store.ts';
import {
  type MessageNarrowInput,
  OwnDocument,
  SendMessageDocument,
  type SendMessageInput,
  type TopicNameInput,
  type TopicRef,
} from '../generated/graphql.ts';
import { onEvent } from '../live/engine.ts';
import { position as cachedPosition, connection, queueId } from '../live/status.ts';
import { type TopicPlace, topicRef } from '../routing/place.ts';
import { refusalOf } from './refusal.ts';

// Messages that the user has sent, until the page receives their events. Session storage keeps them, so that they survive
// disconnects and reloads. Each one is sent under one idempotency key, so that retries create only one message.

/**
 * State of a pending message. `waiting`: to be sent. `sending`: in flight. `sent`: accepted, but its event has not arrived.
 * `failed`: refused by the service for `reason`. Only failed messages require a decision of the user. If the service is
 * temporarily unable to accept a message, the message stays `waiting`.
 */
export type PendingState = 'waiting' | 'sending' | 'sent' | 'failed';

export interface Pending {
  /** The idempotency key, which is also the `localId` that the event returns. */
  readonly id: string;
  /** `narrowKey` of the message's destination. */
  readonly place: string;
  readonly input: SendMessageInput;
  /** ID of the sender. A tab can also have unsent messages of a user who was signed in before. */
  readonly by: string;
  readonly state: PendingState;
  readonly reason?: string;
  /** Whether the service may have accepted the message: the page sent it, but received no response. */
  readonly isUnsure?: boolean;
  /** Number of consecutive attempts that the service refused temporarily. */
  readonly putOff?: number;
  /** Position of the message's event in the event log, once the service has returned that position. */
  readonly position?: number;
  /** Time at which the user sent the message, in ISO 8601. */
  readonly writtenAt: string;
}

const KEY = 'outbox';
const RETRY_MS = 2_000;
/**
 * Minimum and maximum pause, in milliseconds, after the service has refused a message temporarily. If the service requests a
 * longer pause, that pause is used.
 */
const [FIRST_REST_MS, LONGEST_REST_MS] = [500, 10_000];
/** Maximum random delay after the pause, in milliseconds, so that pages do not all send at the same time. */
const SPREAD_MS = 500;
/**
 * Maximum waits, in milliseconds, before messages are sent again after a disconnect: for a live connection (`LIVE_WITHIN_MS`),
 * and then for the missed events (`CAUGHT_UP_WITHIN_MS`). Afterwards, the messages are sent unless the browser is offline.
 */
const [LIVE_WITHIN_MS, CAUGHT_UP_WITHIN_MS] = [5_000, 500];

export const outbox = createStore<readonly Pending[]>(restored());

function restored(): readonly Pending[] {
  const kept = (JSON.parse(sessionStorage.getItem(KEY) ?? '[]') as Pending[]).map(inCurrentForm);
  // Messages whose events have not arrived are sent again. Their idempotency keys stay unchanged, so the service does not
  // create a second message.
  return kept.map((one) =>
    one.state === 'sending' || one.state === 'sent' ? { ...one, state: 'waiting', isUnsure: true } : one,
  );
}

/** Converts a message that the page of the previous version stored: its topic was given without `named`. */
function inCurrentForm(one: Pending): Pending {
  const { topic } = one.input.to as { readonly topic?: TopicRef | TopicNameInput };
  return topic !== undefined && 'name' in topic
    ? { ...one, input: { ...one.input, to: { topic: { named: topic } } } }
    : one;
}

function update(change: (pending: readonly Pending[]) => readonly Pending[]): void {
  outbox.set(change(outbox.get()));
  sessionStorage.setItem(KEY, JSON.stringify(outbox.get()));
}

const patch = (id: string, part: Partial<Pending>): void =>
  update((pending) => pending.map((one) => (one.id === id ? { ...one, ...part } : one)));

export const discard = (id: string): void => update((pending) => pending.filter((one) => one.id !== id));

/** Discards all messages of a user, so that none stay in the tab after sign-out. */
export const discardAllBy = (userId: string): void => update((pending) => pending.filter(({ by }) => by !== userId));

/** Puts a message into the outbox, which sends it as soon as possible. */
export function post(narrow: MessageNarrowInput, target: Omit<SendMessageInput, 'localId' | 'queueId'>): void {
  const id = newKey();
  const queue = queueId.get();
  const input = { ...target, localId: id, ...(queue !== null && { queueId: queue }) };
  update((pending) => [
    ...pending,
    { id, place: narrowKey(narrow), input, by: viewerId(), state: 'waiting', writtenAt: new Date().toISOString() },
  ]);
  pump();
}

/**
 * Redirects messages to the new location of a topic, if the messages wait to be sent or were refused. Messages that the service
 * may have accepted keep their destination, because an idempotency key belongs to one input.
 */
export function redirect(from: TopicPlace, to: TopicPlace): void {
  const [before, after] = [from, to].map(({ channelId, topic }) =>
    narrowKey({ channel: { id: channelId }, topicNamed: topic }),
  );
  update((pending) =>
    pending.map((one) => {
      const topic = one.input.to.topic?.named;
      const isThere = topic?.channel.id === from.channelId && isSameTopic(topic.name, from.topic);
      if (!isThere || one.isUnsure === true || (one.state !== 'waiting' && one.state !== 'failed')) return one;
      const id = newKey();
      const address = { topic: topicRef(to) };
      const place = one.place === before ? (after ?? one.place) : one.place;
      return { ...one, id, place, input: { ...one.input, localId: id, to: address } };
    }),
  );
}

export function sendAgain(id: string): void {
  patch(id, { state: 'waiting', putOff: 0 });
  pump();
}

let sending: Client | undefined;

const viewerId = (): string => sending?.readQuery(OwnDocument, {})?.data?.viewer?.id ?? '';
/** Returns whether a message can be sent now. Messages of another user wait until that user signs in again. */
const isToBeSent = ({ state, by }: Pending): boolean => state === 'waiting' && by === viewerId();

/**
 * Starts to send the waiting messages, in order, whenever the service may accept them.
 *
 * @returns A function that stops sending.
 */
export function startOutbox(client: Client): () => void {
  sending = client;
  restsUntil = 0;
  holdsUntil = 0;
  // Messages in flight belong to the previous session. Their responses will not arrive, so they are sent again.
  outbox.set(restored());
  const stops = [
    onEvent((event) => {
      if (event.__typename === 'MessageSentEvent' && event.localId !== null) discard(event.localId);
    }),
    cachedPosition.watch(() => {
      // If the event arrived without the `localId`, the listener above has not removed the entry. Once the lists contain the
      // event, the entry is removed by its position.
      for (const { id, position } of outbox.get()) if (position !== undefined && isCached(position)) discard(id);
    }),
    watchConnection(),
  ];
  const timer = setInterval(pump, RETRY_MS);
  pump();
  return () => {
    clearInterval(timer);
    sending = undefined;
    for (const stop of stops) stop();
  };
}

/**
 * Returns whether the cached lists include the event at a position of the event log. Until then, the page shows the pending
 * message.
 */
const isCached = (position: number): boolean => position <= cachedPosition.get();

let isPumping = false;
/** Time (`performance.now()`) before which nothing is sent, because the service has refused a message temporarily. */
let restsUntil = 0;

/** Pauses sending. Later messages are delayed too, because messages are sent in the order in which they were written. */
function rest(restMs: number): void {
  restsUntil = performance.now() + restMs;
  setTimeout(pump, restMs);
}

/** Time (`performance.now()`) before which nothing is sent, because events of an offline period may still be missing. */
let holdsUntil = 0;

function hold(holdMs: number): void {
  holdsUntil = performance.now() + holdMs;
  setTimeout(pump, holdMs);
}

/** Delays sending after each reconnect, so that missed events about moved topics can redirect the messages first. */
function watchConnection(): () => void {
  let before = connection.get();
  return connection.watch(() => {
    if (connection.get() === 'live') hold(CAUGHT_UP_WITHIN_MS);
    else if (before === 'offline') hold(LIVE_WITHIN_MS);
    before = connection.get();
  });
}

function pump(): void {
  if (connection.get() === 'offline' || performance.now() < Math.max(restsUntil, holdsUntil)) return;
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

/** Sends a message. @returns False if it must be retried later. */
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
  if (refusal === undefined) patch(id, { state: 'waiting', putOff: 0, isUnsure: true });
  else patch(id, { state: 'waiting', putOff: putOff + 1 });
  if (refusal !== undefined) {
    const restMs = Math.min(FIRST_REST_MS * 2 ** putOff, LONGEST_REST_MS);
    rest(Math.max(refusal.retryAfterMs, restMs) + Math.random() * SPREAD_MS);
  }
  return false;
}
