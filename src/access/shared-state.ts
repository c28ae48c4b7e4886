import { LRUCache } from 'lru-cache';
import { hasEventSince } from '../events/log-reads.ts';
import type { SqlClient } from '../platform/db/client.ts';
import { shareOfHeap } from '../platform/memory.ts';

/** A part of the initial state that many viewers share. */
export interface SharedPart<T> {
  readonly realmId: number;
  /**
   * Identifies the part by everything that it depends on besides the organization: the viewer's rights and the requested
   * options.
   */
  readonly name: string;
  /** Types of the events that can change the part. */
  readonly eventTypes: readonly string[];
  /** Reads the part from the snapshot. */
  read(): Promise<T>;
  /** Returns the approximate size of a value in memory, in bytes. */
  bytesOf(value: T): number;
}

/** The snapshot to read from, and the id of the last event in it. */
interface Moment {
  readonly db: SqlClient;
  readonly position: number;
}

interface Kept {
  readonly value: unknown;
  /** Id of an event. The log up to this event contains no change to the value. */
  position: number;
}

/** Size limit of the cache: enough for ten organizations of 10,000 users. It is lower in a process with a small heap. */
const [SHARE_OF_HEAP, MAX_BYTES] = [1 / 16, 128 * 1024 * 1024];
/** Lifetime of an entry, in milliseconds. Changes without events, by hand or by a restore, become visible after it. */
const MAX_AGE_MS = 5 * 60_000;
/**
 * Maximum number of log ids, since the entry was cached, that are searched for changes. If there are more, the part is read
 * again.
 */
const MAX_EVENTS = 20_000;

/**
 * A cache of parts of the state for the next clients that register. An entry is valid as long as the log contains no change to
 * it. This is checked in the snapshot of the registering client. So the result is what a read from that snapshot would return,
 * on any node.
 */
export class SharedState {
  readonly #kept: LRUCache<string, Kept>;
  readonly #making = new Map<string, Promise<Kept>>();

  constructor(maxSize = shareOfHeap(SHARE_OF_HEAP, MAX_BYTES)) {
    this.#kept = new LRUCache({ maxSize, ttl: MAX_AGE_MS });
  }

  /** Bytes held for all organizations. */
  get bytes(): number {
    return this.#kept.calculatedSize;
  }

  /** Returns the part as of a snapshot. If several callers need the part at the same time, one of them reads it. */
  async of<T>(moment: Moment, part: SharedPart<T>): Promise<T> {
    const key = `${part.realmId} ${part.name}`;
    // The cast below is safe: all entries with this key were made by parts of one type.
    const kept = this.#kept.get(key);
    if (kept !== undefined && (await isStill(kept, moment, part))) return kept.value as T;
    // If many callers find the entry outdated, one reads the part again and the others wait. If that result is too old for a
    // caller, that caller reads next.
    for (let making = this.#making.get(key); making !== undefined; making = this.#making.get(key)) {
      const made = await making.catch(() => undefined);
      if (made !== undefined && (await isStill(made, moment, part))) return made.value as T;
    }
    const making = part.read().then((value): Kept => ({ value, position: moment.position }));
    this.#making.set(key, making);
    try {
      const made = await making;
      this.#kept.set(key, made, { size: 1 + part.bytesOf(made.value as T) });
      return made.value as T;
    } finally {
      if (this.#making.get(key) === making) this.#making.delete(key);
    }
  }
}

/**
 * Returns whether a cached value is valid in a snapshot. False if the snapshot is older than the value, because validity cannot
 * be checked then.
 */
async function isStill(
  kept: Kept,
  { db, position }: Moment,
  { realmId, eventTypes }: Pick<SharedPart<unknown>, 'realmId' | 'eventTypes'>,
): Promise<boolean> {
  if (kept.position > position || position - kept.position > MAX_EVENTS) return false;
  if (kept.position < position && (await hasEventSince(db, realmId, { after: kept.position, types: eventTypes })))
    return false;
  kept.position = Math.max(kept.position, position);
  return true;
}
