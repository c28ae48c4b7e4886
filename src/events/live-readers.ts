import { whenWritten } from '../platform/batched-writes.ts';
import { inTimeSlices, type SlicedWork } from '../platform/time-slices.ts';
import { beginSpan, type OpenSpan } from '../platform/tracing.ts';
import { receives } from './audience.ts';
import type { LogContext } from './context.ts';
import { definitionOf } from './define.ts';
import type { EventRecipient } from './recipient.ts';
import type { StoredEvent } from './stored.ts';
import type { QueueOptions } from './view.ts';

/**
 * Maximum pause after a batch was delivered and written, in milliseconds. During the pause, new events are collected into the
 * next batch, which each reader receives in one write. There is a pause only if delivery and writing took at least `LONG_MS`.
 */
const MAX_REST_MS = 5;
/** Minimum length of the pause, in milliseconds. Shorter pauses are omitted, because timers cannot be shorter. */
const LONG_MS = 1;

/**
 * Number of deliveries in one step of a time slice. A delivery is one event for one reader. The clock is read only after each
 * step, because reading it after each delivery would be expensive.
 */
const DELIVERIES_PER_STEP = 16;
/**
 * Maximum number of deliveries that are made without yielding to the event loop, even if other deliveries are in progress. More
 * deliveries are made in time slices.
 */
const FEW_DELIVERIES = 64;
/**
 * Maximum number of events in one batch for a reader. Further events are in the next batch. So many events are a small part of
 * a client's outbound backlog limit.
 */
const MAX_BATCH_EVENTS = 64;
/**
 * Number of undelivered events above which deliveries get longer time slices. Otherwise the delay of readers would grow. Events
 * that are not in a batch yet count as one per commit.
 */
const MANY_WAITING = 64;

/**
 * A reader that has received all its events up to the end of the log tail, except pending batches, and waits for later events.
 */
export interface LiveReader {
  readonly recipient: EventRecipient;
  readonly options: QueueOptions;
  /**
   * Position up to which the reader has received all its events. Infinite while the reader is not attached. Only `LiveReaders`
   * writes this field.
   */
  notifiedThrough: number;
  /** Receives the events for this reader, at least one, in id order. The reader then has all its events up to `through`. */
  receive(events: readonly StoredEvent[], through: number): void;
  /** Records that no event up to `through` was for this reader. */
  pass(through: number): void;
  /** Ends the reader after a failure, so that its client reconnects. Must not throw. */
  broken(): void;
  /** Ends the reader because another epoch of the log has begun, and its queue has ended. Must not throw. */
  restored(): void;
}

/** A batch of events that is delivered to all live readers of an organization's log. */
interface EventNotification {
  readonly events: StoredEvent[];
  /** Position of the end of the log tail after the events of the batch. */
  through: number;
  /** The readers that are attached when delivery begins. Undefined until then: the batch can still grow. */
  readers: readonly LiveReader[] | undefined;
  /** Number of `readers` to which the batch has been delivered so far. */
  turns: number;
}

/** Position of a reader that is not attached: no event is delivered to it. */
const GONE = Number.POSITIVE_INFINITY;

/**
 * Returns whether the event matches the queue's types and narrow (message filter). `receives` decides whether the queue's user
 * is a recipient.
 */
export function matchesQueue({ eventTypes, narrow }: QueueOptions, event: StoredEvent, userId: number): boolean {
  if (eventTypes !== null && !eventTypes.includes(event.type)) return false;
  if (narrow.length === 0) return true;
  return definitionOf(event.type, event.op)?.matches?.(event.payload as never, narrow, userId) ?? true;
}

const matchesAndReceives = (options: QueueOptions, recipient: EventRecipient, event: StoredEvent): boolean =>
  matchesQueue(options, event, recipient.userId) &&
  receives(event.audience, recipient, event.id, options.allPublicChannels);

interface ReadersStart {
  readonly log: LogContext['log'];
  readonly organizationId: number;
  /** Returns the number of commits whose events are not in a batch yet. */
  readonly waiting: () => number;
  /** Called with the events of each batch that was delivered to all readers. */
  readonly onNotified: (events: readonly StoredEvent[]) => void;
}

/** The readers that wait at the end of one organization's log, by user, and the delivery of new events to them. */
export class LiveReaders implements SlicedWork {
  readonly #start: ReadersStart;
  readonly #readers = new Map<number, Set<LiveReader>>();
  /** Batches that are not completely delivered yet, in id order. */
  readonly #notifications: EventNotification[] = [];
  #count = 0;
  /** Time on the clock of `performance` until which new events are collected into the next batch, after a delivery. */
  #restUntil = 0;
  /** Time on the clock of `performance` at which the current delivery began. Undefined if none is in progress. */
  #began: number | undefined;
  /**
   * The span of the current delivery, in the trace of the request whose change caused it. Undefined if no spans are exported,
   * or there are no readers.
   */
  #span: OpenSpan | undefined;
  /** Number of events of the current delivery, and of readers when it began. */
  #deliveredEvents = 0;
  #deliveredTo = 0;
  /** Number of deliveries whose writes are not yet known to be complete. */
  #unwritten = 0;
  readonly priority = 1;

  constructor(start: ReadersStart) {
    this.#start = start;
  }

  get count(): number {
    return this.#count;
  }

  /** Whether batches are still to be delivered, or delivered batches are still to be written to the clients. */
  get isNotifying(): boolean {
    return this.#notifications.length > 0 || this.#unwritten > 0;
  }

  /** Milliseconds for which new events are still collected into the next batch. 0 or less: no wait. */
  get restMs(): number {
    return this.#restUntil - performance.now();
  }

  has(userId: number): boolean {
    return this.#readers.has(userId);
  }

  /** Returns the readers of one user that are attached now. */
  of(userId: number): readonly LiveReader[] {
    return [...(this.#readers.get(userId) ?? [])];
  }

  all(): readonly LiveReader[] {
    const all: LiveReader[] = [];
    for (const own of this.#readers.values()) all.push(...own);
    return all;
  }

  /**
   * Attaches a reader.
   *
   * @param through Position up to which the reader has all its events: the end of the log tail.
   */
  add(reader: LiveReader, through: number): void {
    const { userId } = reader.recipient;
    const readers = this.#readers.get(userId) ?? new Set();
    if (!readers.has(reader)) this.#count++;
    readers.add(reader);
    this.#readers.set(userId, readers);
    reader.notifiedThrough = through;
  }

  remove(reader: LiveReader): void {
    const { userId } = reader.recipient;
    const readers = this.#readers.get(userId);
    if (readers?.delete(reader) === true) this.#count--;
    reader.notifiedThrough = GONE;
    if (readers?.size === 0) this.#readers.delete(userId);
  }

  /** Queues events for all current readers, after the batches that are still to be delivered. `start` begins the delivery. */
  announce(events: readonly StoredEvent[], through: number): void {
    for (let at = 0; at === 0 || at < events.length; at += MAX_BATCH_EVENTS) {
      const some = events.slice(at, at + MAX_BATCH_EVENTS);
      const isLast = at + MAX_BATCH_EVENTS >= events.length;
      this.#add(some, isLast ? through : (some.at(-1) as StoredEvent).id);
    }
  }

  #add(events: readonly StoredEvent[], through: number): void {
    const last = this.#notifications.at(-1);
    const canJoin = last?.readers === undefined && (last?.events.length ?? 0) + events.length <= MAX_BATCH_EVENTS;
    if (last === undefined || !canJoin)
      this.#notifications.push({ events: [...events], through, readers: undefined, turns: 0 });
    else {
      last.events.push(...events);
      last.through = through;
    }
  }

  /** Begins the delivery of the queued batches, unless a delivery is in progress. */
  start(): void {
    const [notification] = this.#notifications;
    if (this.#began !== undefined || notification === undefined) return;
    this.#began = performance.now();
    if (this.#count > 0) this.#span = beginSpan('deliver events');
    this.#deliveredEvents = 0;
    this.#deliveredTo = this.#count;
    if (this.#count * Math.max(1, notification.events.length) > FEW_DELIVERIES || this.#notifications.length > 1)
      inTimeSlices(this);
    else while (this.step());
  }

  /** Discards the batches that are not delivered yet, because the log was replaced. */
  drop(): void {
    this.#notifications.length = 0;
  }

  get isBehind(): boolean {
    const [, ...others] = this.#notifications;
    return this.#start.waiting() + others.reduce((sum, { events }) => sum + events.length, 0) > MANY_WAITING;
  }

  step(): boolean {
    const [notification] = this.#notifications;
    if (notification !== undefined) {
      notification.readers ??= this.all();
      const { readers } = notification;
      const share = Math.max(1, Math.floor(DELIVERIES_PER_STEP / Math.max(1, notification.events.length)));
      for (const reader of readers.slice(notification.turns, notification.turns + share)) {
        notification.turns++;
        this.#notify(reader, notification);
      }
      if (notification.turns < readers.length) return true;
      this.#notifications.shift();
      this.#deliveredEvents += notification.events.length;
      this.#start.onNotified(notification.events);
    }
    if (this.#notifications.length > 0) return true;
    this.#rest();
    return false;
  }

  /**
   * Once the delivered events are written, pauses for as long as delivery and writing took, at most 5 ms, so that other work
   * can run.
   */
  #rest(): void {
    const began = this.#began ?? 0;
    this.#began = undefined;
    this.#unwritten++;
    const span = this.#span;
    this.#span = undefined;
    const attributes = {
      ...{ 'chat.organization_id': this.#start.organizationId, 'chat.events': this.#deliveredEvents },
      'chat.readers': this.#deliveredTo,
    };
    const rest = () => {
      span?.end(attributes);
      this.#unwritten--;
      const writtenAt = performance.now();
      const tookMs = writtenAt - began;
      if (tookMs >= LONG_MS) this.#restUntil = writtenAt + Math.min(MAX_REST_MS, tookMs);
    };
    // Writes to a few readers are immediate, and do not wait for the writes of other organizations.
    if (this.#count > FEW_DELIVERIES) whenWritten(rest);
    else setImmediate(rest);
  }

  /** Delivers all pending batches to a reader now. Afterwards, the reader has all its events up to the end of the log tail. */
  deliverTo(reader: LiveReader): void {
    for (const notification of this.#notifications) this.#notify(reader, notification);
  }

  #notify(reader: LiveReader, { events, through }: EventNotification): void {
    const { recipient, options, notifiedThrough } = reader;
    if (notifiedThrough >= through) return;
    reader.notifiedThrough = through;
    try {
      const received = events.filter(
        (event) => event.id > notifiedThrough && matchesAndReceives(options, recipient, event),
      );
      if (received.length === 0) reader.pass(through);
      else if (this.#span === undefined) reader.receive(received, through);
      else this.#span.run(() => reader.receive(received, through));
    } catch (err) {
      const { log, organizationId } = this.#start;
      log.error({ err, organization: organizationId, user: recipient.userId }, 'event reader failed');
      reader.broken();
    }
  }
}
