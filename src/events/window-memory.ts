import { shareOfHeap } from '../platform/memory.ts';

/**
 * Our choice: an eighth. What is counted is about the events' JSON, of which objects take up to three times as much; half of
 * the heap and more is left to requests then, whatever organisations there are.
 */
const SHARE_OF_HEAP = 1 / 8;
/** About what an event takes besides its payload, so that many small ones count for what they are. */
const EVENT_BYTES = 512;

/** What holds events in memory, and can do with fewer. */
export interface EventHolder {
  /** Lets go of its oldest events until it has given up so many bytes, or has none left. */
  giveUp(bytes: number): void;
}

/** What one event counts for. */
export const weightOf = ({ bytes }: { readonly bytes: number }): number => bytes + EVENT_BYTES;

/**
 * The memory that all windows of this process have together. When it is full, the one that nobody has read or added to
 * for the longest time gives up its oldest events: whoever still wants these reads the table.
 */
export class WindowMemory {
  readonly #limit: number;
  /** What each holds, the least recently used first. */
  readonly #held = new Map<EventHolder, number>();
  #bytes = 0;

  /** @param limit Bytes. */
  constructor(limit = shareOfHeap(SHARE_OF_HEAP)) {
    this.#limit = limit;
  }

  /** Bytes held by all together. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Notes that a holder is in use: others are asked first. */
  use(holder: EventHolder): void {
    const held = this.#held.get(holder);
    if (held === undefined) return;
    this.#held.delete(holder);
    this.#held.set(holder, held);
  }

  /** Notes how much a holder holds by now. Never asks for anything back: `makeRoom` does. */
  note(holder: EventHolder, bytes: number): void {
    this.#bytes += bytes - (this.#held.get(holder) ?? 0);
    if (bytes === 0) this.#held.delete(holder);
    else this.#held.set(holder, bytes);
  }

  /** Has holders give up what is too much, the least recently used first. */
  makeRoom(): void {
    for (const holder of this.#held.keys()) {
      const surplus = this.#bytes - this.#limit;
      if (surplus <= 0) return;
      holder.giveUp(surplus);
    }
  }
}
