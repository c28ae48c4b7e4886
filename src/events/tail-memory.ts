import { shareOfHeap } from '../platform/memory.ts';

/**
 * Part of the heap limit that the counted bytes of all log tails may reach. Only the JSON text of events is counted, and their
 * objects take up to three times as many bytes. So more than half of the heap remains for requests.
 */
const SHARE_OF_HEAP = 1 / 8;
/** Approximate bytes of an event besides its payload, so that many small events are not undercounted. */
const EVENT_BYTES = 512;

/** An object that holds events in memory and can release some of them. */
export interface EventHolder {
  /** Releases its oldest events until it has released this many bytes, or has none left. */
  giveUp(bytes: number): void;
}

/** Returns the bytes that one event adds to the counted size of a log tail: those of its payload, and a fixed overhead. */
export const weightOf = ({ bytes }: { readonly bytes: number }): number => bytes + EVENT_BYTES;

/**
 * The memory limit that all log tails of this process share. If it is exceeded, the tail that was read or extended least
 * recently releases its oldest events. Readers that still need these events read the table.
 */
export class TailMemory {
  readonly #limit: number;
  /** Bytes of each holder, the least recently used first. */
  readonly #held = new Map<EventHolder, number>();
  #bytes = 0;

  /** @param limit Bytes. */
  constructor(limit = shareOfHeap(SHARE_OF_HEAP)) {
    this.#limit = limit;
  }

  /** Bytes held by all holders. */
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

  /** Records the current bytes of a holder. Never releases memory: `makeRoom` does. */
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
