import type { Writable } from 'node:stream';
import { inSlices, type SlicedWork } from './slices.ts';

/** Our choice: so few are written to at once, and wait for nobody. */
const FEW = 64;
/** A look at the clock takes as long as a tenth of a write. */
const WRITES_PER_STEP = 16;
/** Our choice: beyond any of these, what is held is written before more is made for others. */
const [MOST_CONNECTIONS, MOST_BYTES, MOST_MS] = [8_192, 8 * 1024 * 1024, 100];

/** Written to in this turn of the event loop. */
const written = new Set<Writable>();

/** The connections that wait for their bytes to be written; whose are oldest first. */
class Held implements SlicedWork {
  readonly #connections = new Set<Writable>();
  #bytes = 0;
  /** Until all are written to. */
  #isFull = false;
  /** On the clock of `performance`: when the first was held. */
  #since = 0;
  readonly isBehind = false;

  /** Before other frames are made, or after all of them. */
  get priority(): number {
    return this.#isFull || performance.now() - this.#since > MOST_MS ? 2 : 0;
  }

  has(connection: Writable): boolean {
    return this.#connections.has(connection);
  }

  add(connection: Writable): void {
    if (this.#connections.size === 0) this.#since = performance.now();
    this.#connections.add(connection);
    this.#bytes += connection.writableLength;
    this.#isFull ||= this.#connections.size >= MOST_CONNECTIONS || this.#bytes >= MOST_BYTES;
  }

  step(): boolean {
    let count = 0;
    for (const connection of this.#connections) {
      this.#connections.delete(connection);
      letGo(connection);
      if (++count === WRITES_PER_STEP) break;
    }
    if (this.#connections.size > 0) return true;
    this.#bytes = 0;
    this.#isFull = false;
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
  written.add(connection);
  connection.cork();
}

/** A few who are told something do not wait for those many whom others tell something. */
function settle(): void {
  if (written.size <= FEW) for (const connection of written) letGo(connection);
  else {
    for (const connection of written) held.add(connection);
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
