import { LRUCache } from 'lru-cache';
import { hasEventSince } from '../events/log-reads.ts';
import type { SqlClient } from '../platform/db/client.ts';
import { shareOfHeap } from '../platform/memory.ts';

/** A part of the initial state, which a client receives when it registers. Many viewers share the part. */
export interface SharedPart<T> {
  readonly organizationId: number;
  /**
   * Identifies the part by everything that it depends on besides the organization: the viewer's rights and the requested
   * options.
   */
  readonly name: string;
  /** Types of the events that can report a change of this part of the state. */
  readonly eventTypes: readonly string[];
  /** Reads this part of the state from the snapshot of the caller. */
  read(): Promise<T>;
  /** Returns the approximate size of a value in memory, in bytes. */
  bytesOf(value: T): number;
}

/** The snapshot from which a part of the state is read, and the id of the last event in the snapshot. */
interface Moment {
  readonly db: SqlClient;
  readonly position: number;
}

interface Kept {
  readonly value: unknown;
  /** Id of an event. The cached value includes the effect of all events up to this one. */
  position: number;
}

/**
 * Maximum size of the cache, as a share of the heap limit and in bytes; the lower one applies. Beyond it, the entry used least
 * recently is dropped. The bytes are enough for ten organizations of 10,000 users.
 */
const [SHARE_OF_HEAP, MAX_BYTES] = [1 / 16, 128 * 1024 * 1024];
/**
 * Lifetime of a cached entry, in milliseconds. Changes of the database without events, by hand or by a restore, become visible
 * after this time.
 */
const MAX_AGE_MS = 5 * 60_000;
/**
 * Maximum number of event ids that are searched for changes to a cached entry. If the log has more ids since the entry was last
 * valid, the part is read again.
 */
const MAX_EVENTS = 20_000;

/**
 * A cache of parts of the initial state, for the next clients that register. A cached entry is valid as long as the log
 * contains no change to its part of the state. Validity is checked in the snapshot of the registering client. So the result is
 * what a read from that snapshot would return, on any node.
 */
export class SharedState {
  readonly #kept: LRUCache<string, Kept>;
  readonly #making = new Map<string, Promise<Kept>>();

  constructor(maxSize = shareOfHeap(SHARE_OF_HEAP, MAX_BYTES)) {
    this.#kept = new LRUCache({ maxSize, ttl: MAX_AGE_MS });
  }

  /** Approximate bytes of all cached entries, for all organizations. */
  get bytes(): number {
    return this.#kept.calculatedSize;
  }

  /**
   * Returns a part of the state as it is in a snapshot. If several callers need the part at the same time, one of them reads
   * it.
   */
  async of<T>(moment: Moment, part: SharedPart<T>): Promise<T> {
    const key = `${part.organizationId} ${part.name}`;
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
  { organizationId, eventTypes }: Pick<SharedPart<unknown>, 'organizationId' | 'eventTypes'>,
): Promise<boolean> {
  if (kept.position > position || position - kept.position > MAX_EVENTS) return false;
  if (
    kept.position < position &&
    (await hasEventSince(db, organizationId, { after: kept.position, types: eventTypes }))
  )
    return false;
  kept.position = Math.max(kept.position, position);
  return true;
}
