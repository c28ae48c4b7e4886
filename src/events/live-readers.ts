import { whenWritten } from '../platform/batched-writes.ts';
import { inTimeSlices, type SlicedWork } from '../platform/time-slices.ts';
import { receives } from './audience.ts';
import type { LogContext } from './context.ts';
import { definitionOf } from './define.ts';
import type { EventRecipient } from './recipient.ts';
import type { StoredEvent } from './stored.ts';
import type { QueueOptions } from './view.ts';

/**
 * Longest time that new events wait to be batched, after the previous batch was delivered and written. Applies if there are so
 * many readers that delivery keeps the process busy. A batch is sent to each reader in one write.
 */
const MAX_REST_MS = 5;
/** No pause below this length: timers cannot be shorter. */
const LONG_MS = 1;

/**
 * Deliveries per step of a time slice, which reads the clock after each step. A delivery is one event for one reader: reading
 * the clock for each would add notable cost.
 */
const DELIVERIES_PER_STEP = 16;
/** Up to this number, deliveries are made without yielding to the event loop, even if other deliveries are in progress. */
const FEW_DELIVERIES = 64;
/** Maximum number of events in one batch for a reader: a small part of the outbound backlog that a client may have. */
const MOST_TOGETHER = 64;
/** Number of waiting events above which deliveries get longer time slices. Otherwise the delay of readers would grow. */
const MANY_WAITING = 64;

/** A reader that has received everything up to the end of the log tail, except pending batches, and waits for more. */
export interface LiveReader {
  readonly recipient: EventRecipient;
  readonly options: QueueOptions;
  /** Position up to which the reader has everything. Infinite while it is not attached. Only `LiveReaders` writes it. */
  notifiedThrough: number;
  /** Receives the events for this reader, at least one, in id order. The reader then has everything up to `through`. */
  receive(events: readonly StoredEvent[], through: number): void;
  /** Records that no event up to `through` was for this reader. */
  pass(through: number): void;
  /** Ends the reader after a failure, so that its client reconnects. Must not throw. */
  broken(): void;
  /** Ends the reader because another epoch of the log has begun, which ends its queue. Must not throw. */
  restored(): void;
}

/** A batch of events for the readers. */
interface EventNotification {
  readonly events: StoredEvent[];
  /** End of the log tail after these events. */
  through: number;
  /** The readers that are attached when delivery begins. Undefined before, while the batch can still grow. */
  readers: readonly LiveReader[] | undefined;
  /** Number of `readers` that have been served. */
  turns: number;
}

/** Position of a reader that is not attached: no event is delivered to it. */
const GONE = Number.POSITIVE_INFINITY;

/** Whether the event matches the queue's types and narrow. `receives` decides whether its user is a recipient. */
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
  readonly realmId: number;
  /** Returns the number of commits whose events wait to be delivered. */
  readonly waiting: () => number;
  /** Called with each batch that was delivered to all readers. */
  readonly onNotified: (events: readonly StoredEvent[]) => void;
}

/** The readers that wait at the end of one organization's log, by user, and the delivery of new events to them. */
export class LiveReaders implements SlicedWork {
  readonly #start: ReadersStart;
  readonly #readers = new Map<number, Set<LiveReader>>();
  /** Batches to deliver, in order. */
  readonly #notifications: EventNotification[] = [];
  #count = 0;
  /** Time on the clock of `performance` until which new events wait to be batched, after a delivery. */
  #restUntil = 0;
  /** Time on the clock of `performance` at which the current delivery began. Undefined if none is in progress. */
  #began: number | undefined;
  /** Number of deliveries whose writes are not yet known to be complete. */
  #unwritten = 0;
  readonly priority = 1;

  constructor(start: ReadersStart) {
    this.#start = start;
  }

  get count(): number {
    return this.#count;
  }

  /** Whether batches are still to be delivered, or delivered ones are still to be written. */
  get isNotifying(): boolean {
    return this.#notifications.length > 0 || this.#unwritten > 0;
  }

  /** Milliseconds for which new events wait to be batched. 0 or less: no wait. */
  get restMs(): number {
    return this.#restUntil - performance.now();
  }

  has(userId: number): boolean {
    return this.#readers.has(userId);
  }

  /** Returns the current readers of one user. */
  of(userId: number): readonly LiveReader[] {
    return [...(this.#readers.get(userId) ?? [])];
  }

  /** Returns all current readers. */
  all(): readonly LiveReader[] {
    const all: LiveReader[] = [];
    for (const own of this.#readers.values()) all.push(...own);
    return all;
  }

  /**
   * Attaches a reader.
   *
   * @param through Position up to which the reader has everything: the end of the log tail.
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
    for (let at = 0; at === 0 || at < events.length; at += MOST_TOGETHER) {
      const some = events.slice(at, at + MOST_TOGETHER);
      const isLast = at + MOST_TOGETHER >= events.length;
      this.#add(some, isLast ? through : (some.at(-1) as StoredEvent).id);
    }
  }

  #add(events: readonly StoredEvent[], through: number): void {
    const last = this.#notifications.at(-1);
    const canJoin = last?.readers === undefined && (last?.events.length ?? 0) + events.length <= MOST_TOGETHER;
    if (last === undefined || !canJoin)
      this.#notifications.push({ events: [...events], through, readers: undefined, turns: 0 });
    else {
      last.events.push(...events);
      last.through = through;
    }
  }

  /** Begins the delivery, unless it is in progress. */
  start(): void {
    const [news] = this.#notifications;
    if (this.#began !== undefined || news === undefined) return;
    this.#began = performance.now();
    if (this.#count * Math.max(1, news.events.length) > FEW_DELIVERIES || this.#notifications.length > 1)
      inTimeSlices(this);
    else while (this.step());
  }

  /** Discards the batches, because the log was replaced. */
  drop(): void {
    this.#notifications.length = 0;
  }

  get isBehind(): boolean {
    const [, ...others] = this.#notifications;
    return this.#start.waiting() + others.reduce((sum, { events }) => sum + events.length, 0) > MANY_WAITING;
  }

  step(): boolean {
    const [news] = this.#notifications;
    if (news !== undefined) {
      news.readers ??= this.all();
      const { readers } = news;
      const share = Math.max(1, Math.floor(DELIVERIES_PER_STEP / Math.max(1, news.events.length)));
      for (const reader of readers.slice(news.turns, news.turns + share)) {
        news.turns++;
        this.#notify(reader, news);
      }
      if (news.turns < readers.length) return true;
      this.#notifications.shift();
      this.#start.onNotified(news.events);
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
    const rest = () => {
      this.#unwritten--;
      const writtenAt = performance.now();
      const tookMs = writtenAt - began;
      if (tookMs >= LONG_MS) this.#restUntil = writtenAt + Math.min(MAX_REST_MS, tookMs);
    };
    // Writes to a few readers are immediate, and do not wait for the writes of other organizations.
    if (this.#count > FEW_DELIVERIES) whenWritten(rest);
    else setImmediate(rest);
  }

  /** Delivers all pending batches to a reader now. Afterwards, the reader has everything up to the end of the log tail. */
  deliverTo(reader: LiveReader): void {
    for (const news of this.#notifications) this.#notify(reader, news);
  }

  #notify(reader: LiveReader, { events, through }: EventNotification): void {
    const { recipient, options, notifiedThrough } = reader;
    if (notifiedThrough >= through) return;
    reader.notifiedThrough = through;
    try {
      const heard = events.filter(
        (event) => event.id > notifiedThrough && matchesAndReceives(options, recipient, event),
      );
      if (heard.length > 0) reader.receive(heard, through);
      else reader.pass(through);
    } catch (err) {
      const { log, realmId } = this.#start;
      log.error({ err, realm: realmId, user: recipient.userId }, 'event reader failed');
      reader.broken();
    }
  }
}
