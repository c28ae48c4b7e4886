import type { Writable } from 'node:stream';
import { inTimeSlices, type SlicedWork } from './time-slices.ts';

/**
 * Maximum number of connections that are flushed as soon as the task of the event loop that wrote to them ends. If the task
 * wrote to more connections, all of them are queued.
 */
const FEW = 64;
/**
 * Number of connections that are flushed between two readings of the clock. Reading the clock takes a tenth as long as a flush.
 */
const WRITES_PER_STEP = 16;
/**
 * Number of queued connections at which the queue of connections to flush is full. If the queue is full, its connections are
 * flushed before further events are delivered.
 */
const MANY = 8_192;
/** Number of queued bytes at which the queue of connections to flush is full. */
const MANY_BYTES = 8 * 1024 * 1024;
/**
 * Time since the queue was empty, in milliseconds, after which its connections are flushed before further events are delivered.
 */
const LONG_MS = 100;

/**
 * Connections to which the current task of the event loop has written, each with the number of bytes that its buffer held
 * before the task.
 */
const written = new Map<Writable, number>();

/** Queue of connections that wait to be flushed, oldest first. */
class Held implements SlicedWork {
  readonly #connections = new Set<Writable>();
  /** Callbacks by connection. They run when the connection is flushed. */
  readonly #afterwards = new Map<Writable, (() => void)[]>();
  #last: Writable | undefined;
  /** Approximate number of queued bytes. Bytes that are added to connections already in the queue are not counted. */
  #bytes = 0;
  /** Whether the queue has reached `MANY` or `MANY_BYTES`. Stays true until the queue is empty. */
  #isFull = false;
  /** Time at which the first connection was queued, on the clock of `performance`. */
  #since = 0;
  readonly isBehind = false;

  /**
   * Priority of the flushes. It is above the priority of event delivery if the queue is full or has not been empty for
   * `LONG_MS`, and below it otherwise.
   */
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
 * when the task ends. If there are many connections, they are flushed in time slices, after the frames for all of them are
 * encoded. Bytes that are written to a connection in the queue are flushed with its earlier bytes.
 *
 * One event for a thousand connections then causes a thousand consecutive writes, without the encoding of a frame between two
 * writes. With two cores, this is twice as fast, because the receiving processes do not sleep between two writes. The bytes of
 * a connection keep their order.
 */
export function batchWrites(connection: Writable): void {
  if (written.has(connection) || held.has(connection)) return;
  if (written.size === 0) queueMicrotask(settle);
  written.set(connection, connection.writableLength);
  connection.cork();
}

/** Calls `call`, in a later iteration of the event loop, when all bytes written so far are flushed. `call` must not throw. */
export function whenWritten(call: () => void): void {
  // Waits for the end of the current task, because only then are its connections queued.
  setImmediate(() => held.whenWritten(call));
}

/**
 * Flushes the connections to which the current task has written. Up to `FEW` connections are flushed immediately, so that they
 * do not wait behind a large fan-out. If the task has written to more connections, all of them are queued.
 */
function settle(): void {
  if (written.size <= FEW) for (const connection of written.keys()) letGo(connection);
  else {
    for (const [connection, before] of written) held.add(connection, connection.writableLength - before);
    inTimeSlices(held);
  }
  written.clear();
}

/** Flushes a connection. If that fails, closes this connection, so that the flushes of other connections continue. */
function letGo(connection: Writable): void {
  try {
    connection.uncork();
  } catch (error) {
    connection.destroy(error as Error);
  }
}
