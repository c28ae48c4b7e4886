import type { Writable } from 'node:stream';
import { inSlices, type SlicedWork } from './slices.ts';

/** Our choice: so few are written to at once, and wait for nobody. */
const FEW = 64;
/** A look at the clock takes as long as a tenth of a write. */
const WRITES_PER_STEP = 16;
/** Our choice: when so many connections are held, so many bytes or for so long, they are written before more is told. */
const MANY = 8_192;
const MANY_BYTES = 8 * 1024 * 1024;
const LONG_MS = 100;

/** Written to in this turn of the event loop, and how many bytes waited for each before. */
const written = new Map<Writable, number>();

/** The connections that wait for their bytes to be written, in the order in which they began to. */
class Held implements SlicedWork {
  readonly #connections = new Set<Writable>();
  /** Of whom was held last, who is to be called when it is written to. */
  readonly #afterwards = new Map<Writable, (() => void)[]>();
  #last: Writable | undefined;
  /** About: without what comes for those that are held already. */
  #bytes = 0;
  /** Until all are written to. */
  #isFull = false;
  /** On the clock of `performance`: when the first was held. */
  #since = 0;
  readonly isBehind = false;

  /** Before more is told, or after all that is. */
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

  /** Calls back when all are written to that are held now. */
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
 * Holds what is written to a connection in this turn of the event loop, and writes it as one when the turn's work is done;
 * where they are many, in slices, when frames have been made for all of them. What comes meanwhile for one that still waits
 * goes out with the rest of its bytes.
 *
 * One event for a thousand connections is a thousand writes then, one right after the other: the system is quicker at
 * that than when each of them waits for the next one's frame to be made (twice as quick on a machine of two cores, where
 * whoever reads falls asleep in between). Order is kept: other bytes for the connection come after those held.
 */
export function writeTogether(connection: Writable): void {
  if (written.has(connection) || held.has(connection)) return;
  if (written.size === 0) queueMicrotask(settle);
  written.set(connection, connection.writableLength);
  connection.cork();
}

/** Calls back, in another turn of the event loop, when all that was written so far has gone out. Must not throw. */
export function whenWritten(call: () => void): void {
  // What is written in this turn is held when it is over.
  setImmediate(() => held.whenWritten(call));
}

/** A few who are told something do not wait for those many whom others tell something. */
function settle(): void {
  if (written.size <= FEW) for (const connection of written.keys()) letGo(connection);
  else {
    for (const [connection, before] of written) held.add(connection, connection.writableLength - before);
    inSlices(held);
  }
  written.clear();
}

/** One that fails must not keep the others waiting. */
function letGo(connection: Writable): void {
  try {
    connection.uncork();
  } catch (error) {
    connection.destroy(error as Error);
  }
}
