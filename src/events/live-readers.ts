import { inSlices, type SlicedWork } from '../platform/slices.ts';
import { whenWritten } from '../platform/write-together.ts';
import { hears } from './audience.ts';
import type { LogContext } from './context.ts';
import { definitionOf } from './define.ts';
import type { EventRecipient } from './recipient.ts';
import type { StoredEvent } from './stored.ts';
import type { QueueOptions } from './view.ts';

/**
 * Our choice: the longest that events wait for others of the same moment when the last were told and written, where there are
 * so many readers that this keeps the process busy. What is told at once goes out to each of them as one write.
 */
const MAX_REST_MS = 5;
/** What takes less leaves time enough: the shortest timer is as long. */
const LONG_MS = 1;

/** What a reader is told of one event is a delivery. A look at the clock for each would be a part of what it takes. */
const DELIVERIES_PER_STEP = 16;
/** Our choice: so few are made in one go, whatever others are told. */
const FEW_DELIVERIES = 64;
/** Our choice: a reader is told of so many events at once, which is little of what a client may leave unread. */
const MOST_TOGETHER = 64;
/** Our choice: with so much waiting to be told, others wait longer, or readers would fall further and further behind. */
const MANY_WAITING = 64;

/** A reader that has everything up to the window's end, but for what the window is about to tell it, and waits for more. */
export interface LiveReader {
  readonly recipient: EventRecipient;
  readonly options: QueueOptions;
  /** Up to where it was told, or knew before it was attached; endless while it is not. `LiveReaders` alone writes it. */
  toldThrough: number;
  /** Called in id order with the events this reader hears, at least one; it has everything up to `through` then. */
  hear(events: readonly StoredEvent[], through: number): void;
  /** Nothing in what passed was for this reader. */
  pass(through: number): void;
  /** The reader failed: it ends, and its client comes back. Must not throw. */
  broken(): void;
  /** Another epoch of the log has begun: the queue is over. Must not throw. */
  restored(): void;
}

/** What readers are to be told. */
interface News {
  readonly events: StoredEvent[];
  /** The window's end with them. */
  through: number;
  /** Those who wait at the end when they begin to be told; undefined before, when more can be told with it. */
  readers: readonly LiveReader[] | undefined;
  /** How many of them had their turn. */
  turns: number;
}

/** Of a reader that does not wait here: there is nothing to tell it. */
const GONE = Number.POSITIVE_INFINITY;

/** Whether a queue wants this event at all; that its user hears it is decided by `hears`. */
export function wants({ eventTypes, narrow }: QueueOptions, event: StoredEvent, userId: number): boolean {
  if (eventTypes !== null && !eventTypes.includes(event.type)) return false;
  if (narrow.length === 0) return true;
  return definitionOf(event.type, event.op)?.matches?.(event.payload as never, narrow, userId) ?? true;
}

const wantsAndHears = (options: QueueOptions, recipient: EventRecipient, event: StoredEvent): boolean =>
  wants(options, event, recipient.userId) && hears(event.audience, recipient, event.id, options.allPublicChannels);

interface ReadersStart {
  readonly log: LogContext['log'];
  readonly realmId: number;
  /** How many commits wait to be told. */
  readonly waiting: () => number;
  /** Called for what all were told of. */
  readonly onTold: (events: readonly StoredEvent[]) => void;
}

/** The readers that wait at the end of one realm's log, by user, and how they are told of more. */
export class LiveReaders implements SlicedWork {
  readonly #start: ReadersStart;
  readonly #readers = new Map<number, Set<LiveReader>>();
  /** What they are being told, in order. */
  readonly #news: News[] = [];
  #count = 0;
  /** On the clock of `performance`: until when events wait for others, after readers were told of some. */
  #restUntil = 0;
  /** On the same clock: since when they are told; undefined while they are not. */
  #began: number | undefined;
  /** Of what they were told, how often it is not known yet to be written. */
  #unwritten = 0;
  readonly priority = 1;

  constructor(start: ReadersStart) {
    this.#start = start;
  }

  get count(): number {
    return this.#count;
  }

  /** Whether some are still to be told of what was taken in, or what they were told is still to be written. */
  get isTelling(): boolean {
    return this.#news.length > 0 || this.#unwritten > 0;
  }

  /** For how long what comes is to wait for more, in milliseconds; 0 and less: no longer. */
  get restMs(): number {
    return this.#restUntil - performance.now();
  }

  has(userId: number): boolean {
    return this.#readers.has(userId);
  }

  /** @returns Of one user, those of now. */
  of(userId: number): readonly LiveReader[] {
    return [...(this.#readers.get(userId) ?? [])];
  }

  /** @returns All of now. */
  all(): readonly LiveReader[] {
    const all: LiveReader[] = [];
    for (const own of this.#readers.values()) all.push(...own);
    return all;
  }

  /** @param through Up to where the reader has everything: the end of what was taken in. */
  add(reader: LiveReader, through: number): void {
    const { userId } = reader.recipient;
    const readers = this.#readers.get(userId) ?? new Set();
    if (!readers.has(reader)) this.#count++;
    readers.add(reader);
    this.#readers.set(userId, readers);
    reader.toldThrough = through;
  }

  remove(reader: LiveReader): void {
    const { userId } = reader.recipient;
    const readers = this.#readers.get(userId);
    if (readers?.delete(reader) === true) this.#count--;
    reader.toldThrough = GONE;
    if (readers?.size === 0) this.#readers.delete(userId);
  }

  /** Has all who wait now be told of events, after what they are still to be told. `start` begins with it. */
  announce(events: readonly StoredEvent[], through: number): void {
    for (let at = 0; at === 0 || at < events.length; at += MOST_TOGETHER) {
      const some = events.slice(at, at + MOST_TOGETHER);
      const isLast = at + MOST_TOGETHER >= events.length;
      this.#add(some, isLast ? through : (some.at(-1) as StoredEvent).id);
    }
  }

  #add(events: readonly StoredEvent[], through: number): void {
    const last = this.#news.at(-1);
    const canJoin = last?.readers === undefined && (last?.events.length ?? 0) + events.length <= MOST_TOGETHER;
    if (last === undefined || !canJoin) this.#news.push({ events: [...events], through, readers: undefined, turns: 0 });
    else {
      last.events.push(...events);
      last.through = through;
    }
  }

  /** Begins to tell, unless that is under way. */
  start(): void {
    const [news] = this.#news;
    if (this.#began !== undefined || news === undefined) return;
    this.#began = performance.now();
    if (this.#count * Math.max(1, news.events.length) > FEW_DELIVERIES || this.#news.length > 1) inSlices(this);
    else while (this.step());
  }

  /** What was to be told is not so. */
  drop(): void {
    this.#news.length = 0;
  }

  get isBehind(): boolean {
    const [, ...others] = this.#news;
    return this.#start.waiting() + others.reduce((sum, { events }) => sum + events.length, 0) > MANY_WAITING;
  }

  step(): boolean {
    const [news] = this.#news;
    if (news !== undefined) {
      news.readers ??= this.all();
      const { readers } = news;
      const share = Math.max(1, Math.floor(DELIVERIES_PER_STEP / Math.max(1, news.events.length)));
      for (const reader of readers.slice(news.turns, news.turns + share)) {
        news.turns++;
        this.#tell(reader, news);
      }
      if (news.turns < readers.length) return true;
      this.#news.shift();
      this.#start.onTold(news.events);
    }
    if (this.#news.length > 0) return true;
    this.#rest();
    return false;
  }

  /** When what they were told is written, as long again as both took is left to what else there is to do. */
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
    // A few are written to at once, and do not wait for what others write.
    if (this.#count > FEW_DELIVERIES) whenWritten(rest);
    else setImmediate(rest);
  }

  /** Tells a reader at once all that it is still to be told: it has everything up to the window's end then. */
  tellAll(reader: LiveReader): void {
    for (const news of this.#news) this.#tell(reader, news);
  }

  #tell(reader: LiveReader, { events, through }: News): void {
    const { recipient, options, toldThrough } = reader;
    if (toldThrough >= through) return;
    reader.toldThrough = through;
    try {
      const heard = events.filter((event) => event.id > toldThrough && wantsAndHears(options, recipient, event));
      if (heard.length > 0) reader.hear(heard, through);
      else reader.pass(through);
    } catch (err) {
      const { log, realmId } = this.#start;
      log.error({ err, realm: realmId, user: recipient.userId }, 'a reader of events failed');
      reader.broken();
    }
  }
}
