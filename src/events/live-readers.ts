import { inSlices, type SlicedWork } from '../platform/slices.ts';
import { hears } from './audience.ts';
import type { LogContext } from './context.ts';
import { definitionOf } from './define.ts';
import type { EventRecipient } from './recipient.ts';
import type { StoredEvent } from './stored.ts';
import type { QueueOptions } from './view.ts';

/**
 * Our choice: the longest that events wait for others of the same moment, where there are so many readers that telling them
 * keeps the process busy. What is told at once goes out to each of them as one write.
 */
const MAX_REST_MS = 5;
/** What takes less leaves time enough: the shortest timer is as long. */
const LONG_MS = 1;

/** A look at the clock for each of them would be a part of what telling takes. */
const READERS_PER_STEP = 16;
/** Our choice: so few are told in one go. */
const FEW = 64;
/** Our choice: with so many commits waiting to be told, others wait longer, or readers would fall further and further behind. */
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
  readonly events: readonly StoredEvent[];
  /** The window's end with them. */
  readonly through: number;
  /** Those who waited at the end before. */
  readonly readers: readonly LiveReader[];
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
  /** On the clock of `performance`: until when events wait for others, after readers were told of some. */
  #restUntil = 0;
  /** On the same clock: since when they are told; undefined while they are not. */
  #began: number | undefined;
  readonly priority = 1;

  constructor(start: ReadersStart) {
    this.#start = start;
  }

  get count(): number {
    let count = 0;
    for (const readers of this.#readers.values()) count += readers.size;
    return count;
  }

  /** Whether some are still to be told of what was taken in. */
  get isTelling(): boolean {
    return this.#news.length > 0;
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
    readers.add(reader);
    this.#readers.set(userId, readers);
    reader.toldThrough = through;
  }

  remove(reader: LiveReader): void {
    const { userId } = reader.recipient;
    const readers = this.#readers.get(userId);
    readers?.delete(reader);
    reader.toldThrough = GONE;
    if (readers?.size === 0) this.#readers.delete(userId);
  }

  /** Has all who wait now be told of events, after what they are still to be told. `start` begins with it. */
  announce(events: readonly StoredEvent[], through: number): void {
    this.#news.push({ events, through, readers: this.all(), turns: 0 });
  }

  /** Begins to tell, unless that is under way: a few at once, whatever others are told. */
  start(): void {
    if (this.#began !== undefined || this.#news.length === 0) return;
    this.#began = performance.now();
    if (this.#news.some(({ readers }) => readers.length > FEW)) inSlices(this);
    else while (this.step());
  }

  /** What was to be told is not so. */
  drop(): void {
    this.#news.length = 0;
  }

  get isBehind(): boolean {
    return this.#start.waiting() > MANY_WAITING;
  }

  step(): boolean {
    const [news] = this.#news;
    if (news !== undefined) {
      for (const end = news.turns + READERS_PER_STEP; news.turns < end; ) {
        const reader = news.readers[news.turns++];
        if (reader !== undefined) this.#tell(reader, news);
      }
      if (news.turns < news.readers.length) return true;
      this.#news.shift();
      this.#start.onTold(news.events);
    }
    if (this.#news.length > 0) return true;
    this.#rest();
    return false;
  }

  /** As long again as it took, with the writing that follows, for what else there is to do. */
  #rest(): void {
    const began = this.#began ?? 0;
    this.#began = undefined;
    setImmediate(() => {
      const toldAt = performance.now();
      const tookMs = toldAt - began;
      if (tookMs >= LONG_MS) this.#restUntil = toldAt + Math.min(MAX_REST_MS, tookMs);
    });
  }

  /** Tells a reader at once all that it is still to be told: it has everything up to the window's end then. */
  tellAll(reader: LiveReader): void {
    for (const news of this.#news) this.#tell(reader, news);
  }

  #tell(reader: LiveReader, { events, through }: News): void {
    if (reader.toldThrough >= through) return;
    reader.toldThrough = through;
    const { recipient, options } = reader;
    try {
      const heard = events.filter((event) => wantsAndHears(options, recipient, event));
      if (heard.length > 0) reader.hear(heard, through);
      else reader.pass(through);
    } catch (err) {
      this.#start.log.error({ err, user: recipient.userId }, 'a reader of events failed');
      reader.broken();
    }
  }
}
