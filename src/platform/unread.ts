/** An answer or a stream under way, or the connection of a socket. */
interface Outgoing {
  /** Bytes that wait in this process for the other end to read. */
  readonly writableLength: number;
  readonly destroyed: boolean;
  once(event: 'close', listener: () => void): unknown;
}

/** Our choice: an answer of 5,000 long messages, and some streams that lag. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * What each account has been sent and has not read, over all its clients of this process: who asks and never reads would
 * have the answers pile up here.
 */
export class Unread {
  /** What one account may leave unread. */
  readonly maxBytes: number;
  readonly #outgoing = new Map<number, Set<Outgoing>>();

  constructor(maxBytes = MAX_BYTES) {
    this.maxBytes = maxBytes;
  }

  /** How many answers, streams and connections are counted. */
  get size(): number {
    let size = 0;
    for (const held of this.#outgoing.values()) size += held.size;
    return size;
  }

  /** Counts what goes out to an account, until it is closed. */
  hold(userId: number, outgoing: Outgoing): void {
    // Closed while it was looked up whose it is: that is not told again.
    if (outgoing.destroyed) return;
    const held = this.#outgoing.get(userId) ?? new Set();
    if (held.has(outgoing)) return;
    held.add(outgoing);
    this.#outgoing.set(userId, held);
    outgoing.once('close', () => {
      held.delete(outgoing);
      if (held.size === 0 && this.#outgoing.get(userId) === held) this.#outgoing.delete(userId);
    });
  }

  /** Whether the account has more unread than it may. */
  isOver(userId: number): boolean {
    const held = this.#outgoing.get(userId);
    if (held === undefined) return false;
    let bytes = 0;
    for (const { writableLength } of held) bytes += writableLength;
    return bytes > this.maxBytes;
  }
}
