import { shareOfHeap } from '../platform/memory.ts';

/**
 * Maximum share of the heap limit that the counted bytes of all log tails take. Beyond it, the tails used least recently drop
 * their oldest events. Only the JSON text of events is counted, and their objects take up to three times as many bytes. So more
 * than half of the heap remains for requests.
 */
const SHARE_OF_HEAP = 1 / 8;
/** Approximate bytes of an event besides its payload, so that many small events are not undercounted. */
const EVENT_BYTES = 512;

/** An object that holds events in memory and can release some of them. */
export interface EventHolder {
  /** Releases its oldest events until it has released this many bytes, or has none left. */
  giveUp(bytes: number): void;
}

/**
 * Returns the number of bytes that one event adds to the counted size of a log tail: the bytes of its payload and a fixed
 * overhead.
 */
export const weightOf = ({ bytes }: { readonly bytes: number }): number => bytes + EVENT_BYTES;

/**
 * The memory limit that all log tails of this process share. If it is exceeded, the tail that was read or extended least
 * recently releases its oldest events. Readers that still need these events read the table.
 */
export class TailMemory {
  readonly #limit: number;
  /** Number of bytes that each holder has in memory. The least recently used holder is first. */
  readonly #held = new Map<EventHolder, number>();
  #bytes = 0;

  /** @param limit Maximum bytes of all log tails together. */
  constructor(limit = shareOfHeap(SHARE_OF_HEAP)) {
    this.#limit = limit;
  }

  /** Bytes of events that all holders together have in memory. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Marks a holder as recently used: other holders release memory first. */
  use(holder: EventHolder): void {
    const held = this.#held.get(holder);
    if (held === undefined) return;
    this.#held.delete(holder);
    this.#held.set(holder, held);
  }

  /** Records the current bytes of a holder. Releases no memory. */
  note(holder: EventHolder, bytes: number): void {
    this.#bytes += bytes - (this.#held.get(holder) ?? 0);
    if (bytes === 0) this.#held.delete(holder);
    else this.#held.set(holder, bytes);
  }

  /** Releases the memory above the limit, from the least recently used holders first. */
  makeRoom(): void {
    for (const holder of this.#held.keys()) {
      const surplus = this.#bytes - this.#limit;
      if (surplus <= 0) return;
      holder.giveUp(surplus);
    }
  }
}
