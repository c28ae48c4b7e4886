/** A response or stream in progress, or the connection of a WebSocket. */
interface Outgoing {
  /** Outbound backlog: bytes that wait in this process for the client to read. */
  readonly writableLength: number;
  readonly destroyed: boolean;
  once(event: 'close', listener: () => void): unknown;
}

/**
 * Default limit of the outbound backlog of one account, in bytes: enough for a response with 5,000 long messages and several
 * slow streams. Beyond it, further requests of the account are refused with `RateLimitHitError`.
 */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * The outbound backlog of each account: bytes that wait in this process until the clients of the account read them. Without a
 * limit, responses to clients that do not read would accumulate.
 */
export class OutboundBacklog {
  /** Maximum outbound backlog of one account, in bytes. Beyond it, `isOver` returns true. */
  readonly maxBytes: number;
  readonly #outgoing = new Map<number, Set<Outgoing>>();

  constructor(maxBytes = MAX_BYTES) {
    this.maxBytes = maxBytes;
  }

  /** Number of open responses, streams and connections whose backlog is counted. */
  get size(): number {
    let size = 0;
    for (const held of this.#outgoing.values()) size += held.size;
    return size;
  }

  /** Counts the backlog of `outgoing` for an account, until `outgoing` is closed. */
  hold(userId: number, outgoing: Outgoing): void {
    // A closed stream is ignored: the client disconnected while its account was looked up, and no `close` event follows.
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

  /** Returns whether the account's backlog is over the limit. */
  isOver(userId: number): boolean {
    const held = this.#outgoing.get(userId);
    if (held === undefined) return false;
    let bytes = 0;
    for (const { writableLength } of held) bytes += writableLength;
    return bytes > this.maxBytes;
  }
}
