import { LRUCache } from 'lru-cache';
import { isToldSince } from '../events/log-reads.ts';
import type { SqlClient } from '../platform/db/client.ts';
import { shareOfHeap } from '../platform/memory.ts';

/** A part of the state that many see alike. */
export interface SharedPart<T> {
  readonly realmId: number;
  /** What it is, with all that it hangs on besides the organisation: the rights of who reads, what they asked for. */
  readonly name: string;
  /** The types of the events without which it stays as it is. */
  readonly toldBy: readonly string[];
  /** Reads it in the snapshot. */
  read(): Promise<T>;
  /** About what it takes of memory. */
  bytesOf(value: T): number;
}

/** Where a snapshot is read, and what the log had come to. */
interface Moment {
  readonly db: SqlClient;
  readonly position: number;
}

interface Kept {
  readonly value: unknown;
  /** The log tells of no change to it up to here. */
  position: number;
}

/** Our choice: ten organisations of 10,000 people in a usual process, and less in a small one. */
const [SHARE_OF_HEAP, MAX_BYTES] = [1 / 16, 128 * 1024 * 1024];
/** What was changed past the log, by hand in the database or by a restore of it, is seen after that. */
const MAX_AGE_MS = 5 * 60_000;
/** So many events are looked through; where there are more, it is read anew. */
const MAX_EVENTS = 20_000;

/**
 * Parts of the state that are kept for the next who registers, as long as the log tells of no change to them. Whether it
 * does is read in the snapshot of who registers, so they get what that snapshot would have given, on any node.
 */
export class SharedState {
  readonly #kept: LRUCache<string, Kept>;
  readonly #making = new Map<string, Promise<Kept>>();

  constructor(maxSize = shareOfHeap(SHARE_OF_HEAP, MAX_BYTES)) {
    this.#kept = new LRUCache({ maxSize, ttl: MAX_AGE_MS });
  }

  /** Bytes held for all organisations together. */
  get bytes(): number {
    return this.#kept.calculatedSize;
  }

  /** What the part is as of a moment. Of those who come together one reads it. */
  async of<T>(moment: Moment, part: SharedPart<T>): Promise<T> {
    const key = `${part.realmId} ${part.name}`;
    // Under one key is what one `read` gave.
    const kept = this.#kept.get(key);
    if (kept !== undefined && (await isStill(kept, moment, part))) return kept.value as T;
    // Of many who find that it is another by now, one reads it anew; and of those whom that is too old for, one again.
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

/** Whether what was kept is what this snapshot has. One that is older than it cannot tell. */
async function isStill(
  kept: Kept,
  { db, position }: Moment,
  { realmId, toldBy }: Pick<SharedPart<unknown>, 'realmId' | 'toldBy'>,
): Promise<boolean> {
  if (kept.position > position || position - kept.position > MAX_EVENTS) return false;
  if (kept.position < position && (await isToldSince(db, realmId, { after: kept.position, types: toldBy })))
    return false;
  kept.position = Math.max(kept.position, position);
  return true;
}
