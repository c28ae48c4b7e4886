import type { Writable } from 'node:stream';
import { inTimeSlices, type SlicedWork } from './time-slices.ts';

/** Maximum number of connections that are flushed immediately, without the queue. */
const FEW = 64;
/** Number of flushes between two readings of the clock. Reading it takes a tenth of the time of a flush. */
const WRITES_PER_STEP = 16;
/**
 * Bounds of the queue: number of connections, bytes, and milliseconds. If a bound is reached, the queued connections are
 * flushed before further events are delivered.
 */
const MANY = 8_192;
const MANY_BYTES = 8 * 1024 * 1024;
const LONG_MS = 100;

/**
 * Connections that were written to in this iteration of the event loop, with their outbound backlog before it, in
 * bytes.
 */
const written = new Map<Writable, number>();

/** Queue of connections that wait to be flushed, oldest first. */
class Held implements SlicedWork {
  readonly #connections = new Set<Writable>();
  /** Callbacks that run when the connection is flushed. */
  readonly #afterwards = new Map<Writable, (() => void)[]>();
  #last: Writable | undefined;
  /** Approximate number of queued bytes. Bytes that are added to connections already in the queue are not counted. */
  #bytes = 0;
  /** Whether a bound was reached. Stays true until the queue is empty. */
  #isFull = false;
  /** Time at which the first connection was queued, on the clock of `performance`. */
  #since = 0;
  readonly isBehind = false;

  /** Above the priority of event delivery if a bound was reached, otherwise below it. */
  get priority(): number {
    return this.#isFull || performance.now() - this.#since > LONG_MS ? 2 : 0;
  }

  has(connection: Writable): boolean {
    return this.#connections.has(connection);
  }

  add(connection: Writable, bytes: number): void {
    if (this.#connections.size === 0) this.#since = performance.now();
    this.#connections.add(connection);
    this.#last = connection;
    this.#bytes += bytes;
    this.#isFull ||= this.#connections.size >= MANY || this.#bytes >= MANY_BYTES;
  }

  /** Calls `call` when all connections that are in the queue now are flushed. */
  whenWritten(call: () => void): void {
    const last = this.#last;
    if (last === undefined || !this.has(last)) call();
    else this.#afterwards.set(last, [...(this.#afterwards.get(last) ?? []), call]);
  }

  step(): boolean {
    let count = 0;
    for (const connection of this.#connections) {
      this.#connections.delete(connection);
      letGo(connection);
      for (const call of this.#afterwards.get(connection) ?? []) call();
      this.#afterwards.delete(connection);
      if (++count === WRITES_PER_STEP) break;
    }
    if (this.#connections.size > 0) return true;
    this.#bytes = 0;
    this.#isFull = false;
    this.#last = undefined;
    return false;
  }
}

const held = new Held();

/**
 * Holds the bytes that are written to a connection during the current task of the event loop, and flushes them as one write
 * after it. If there are many connections, they are flushed in time slices, after the frames for all of them are encoded. Bytes
 * that are added to a waiting connection are flushed with the rest.
 *
 * One event for a thousand connections then becomes a thousand consecutive writes. This is faster than encoding the next frame
 * between two writes: twice as fast with two cores, where reading processes would sleep in between. The bytes of a connection
 * keep their order.
 */
export function batchWrites(connection: Writable): void {
  if (written.has(connection) || held.has(connection)) return;
  if (written.size === 0) queueMicrotask(settle);
  written.set(connection, connection.writableLength);
  connection.cork();
}

/**
 * Calls `call`, in another iteration of the event loop, when all bytes written so far are flushed. `call` must not
 * throw.
 */
export function whenWritten(call: () => void): void {
  // Connections of the current task are queued when the task is over.
  setImmediate(() => held.whenWritten(call));
}

/**
 * Flushes the connections of the current task. Up to `FEW` are flushed immediately, and do not wait for a large fan-out; more
 * are queued.
 */
function settle(): void {
  if (written.size <= FEW) for (const connection of written.keys()) letGo(connection);
  else {
    for (const [connection, before] of written) held.add(connection, connection.writableLength - before);
    inTimeSlices(held);
  }
  written.clear();
}

/** Flushes a connection. If that fails, this connection is closed, and the flushes of other connections continue. */
function letGo(connection: Writable): void {
  try {
    connection.uncork();
  } catch (error) {
    connection.destroy(error as Error);
  }
}
