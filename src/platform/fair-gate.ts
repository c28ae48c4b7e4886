import type { Caller } from './caller.ts';
import { AbandonedError, RateLimitHitError } from './errors.ts';

/** How many may pass, and wait. */
interface Bounds {
  /** How many pieces of work run at a time. */
  readonly atOnce: number;
  /** How many of one network's wait. */
  readonly placesOfNetwork: number;
  /** How many wait in all. */
  readonly places: number;
}

interface Waiting {
  /** Undefined for the server's operator. */
  readonly caller: Caller | undefined;
  readonly network: string;
  start(): void;
  refuse(error: Error): void;
}

/** The server's operator waits in a line of their own. */
const OPERATOR = '';
/** Our choice: the new time's share in the average of times. */
const WEIGHT = 0.2;

/**
 * Lets a few pieces of work run at a time, and the others wait in one line for each network, which take turns: a
 * network that sends a thousand pieces delays itself alone. Work that nobody waits for any more is dropped.
 */
export class FairGate {
  readonly #bounds: Bounds;
  /** Lines that are not empty; whose turn was longest ago first. */
  readonly #lines = new Map<string, Waiting[]>();
  /** How many pieces of a network's work run. */
  readonly #running = new Map<string, number>();
  /** Of a piece of work, from its turn to its end. */
  #averageMs: number;

  /** @param expectedMs How long a piece of work takes, until it is known. */
  constructor(bounds: Bounds, expectedMs: number) {
    this.#bounds = bounds;
    this.#averageMs = expectedMs;
  }

  /** How many wait. */
  get waiting(): number {
    return sum([...this.#lines.values()].map((line) => line.length));
  }

  /**
   * Runs `work` when its turn comes.
   *
   * @param caller Undefined for the server's operator, who is never refused.
   * @throws RateLimitHitError when there is no place left to wait in; it says when there may be one.
   * @throws AbandonedError when the caller went away before the turn came; `work` was not begun.
   */
  async run<T>(caller: Caller | undefined, work: () => Promise<T>): Promise<T> {
    const network = caller?.network ?? OPERATOR;
    await this.#turn(caller, network);
    const startedAt = performance.now();
    try {
      return await work();
    } finally {
      this.#averageMs += WEIGHT * (performance.now() - startedAt - this.#averageMs);
      this.#leave(network);
      this.#startNext();
    }
  }

  /** Resolves when the turn has come, which it has at once while nobody waits. */
  async #turn(caller: Caller | undefined, network: string): Promise<void> {
    if (caller?.isGone === true) throw new AbandonedError();
    if (sum(this.#running.values()) < this.#bounds.atOnce) {
      this.#enter(network);
      return;
    }
    if (caller !== undefined) this.#makeRoom(network);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const line = this.#lines.get(network) ?? [];
    line.push({ caller, network, start: resolve, refuse: reject });
    this.#lines.set(network, line);
    await promise;
  }

  /** @throws RateLimitHitError when there is none for one more of the network. */
  #makeRoom(network: string): void {
    const { placesOfNetwork, places } = this.#bounds;
    if (this.#lengthOf(network) >= placesOfNetwork || this.waiting >= places) this.#dropAbandoned();
    const own = this.#lengthOf(network);
    if (own >= placesOfNetwork) throw this.#refusal(network);
    if (this.waiting - this.#lengthOf(OPERATOR) < places) return;
    // When all places are taken, the newest of the network with the most waiting gives way to a network with fewer.
    const longest = [...this.#lines]
      .filter(([of]) => of !== OPERATOR)
      .reduce((most, each) => (each[1].length > most[1].length ? each : most));
    if (longest[1].length <= own + 1) throw this.#refusal(network);
    longest[1].pop()?.refuse(this.#refusal(longest[0]));
  }

  #dropAbandoned(): void {
    for (const [network, line] of this.#lines) {
      const gone = line.filter(({ caller }) => caller?.isGone === true);
      if (gone.length === 0) continue;
      const left = line.filter((waiting) => !gone.includes(waiting));
      if (left.length === 0) this.#lines.delete(network);
      else this.#lines.set(network, left);
      for (const { refuse } of gone) refuse(new AbandonedError());
    }
  }

  #startNext(): void {
    for (;;) {
      const network = this.#networkInTurn();
      const line = network === undefined ? undefined : this.#lines.get(network);
      if (network === undefined || line === undefined) return;
      const next = line.shift();
      // To the end of the turns.
      this.#lines.delete(network);
      if (line.length > 0) this.#lines.set(network, line);
      if (next === undefined) continue;
      if (next.caller?.isGone === true) {
        next.refuse(new AbandonedError());
        continue;
      }
      this.#enter(network);
      next.start();
      return;
    }
  }

  /** Of those with the least under way, the one whose turn was longest ago. */
  #networkInTurn(): string | undefined {
    let inTurn: string | undefined;
    for (const network of this.#lines.keys()) {
      if (inTurn === undefined || this.#runningOf(network) < this.#runningOf(inTurn)) inTurn = network;
    }
    return inTurn;
  }

  /** After what is before the next one of the network, the others' turns between included. */
  #refusal(network: string): RateLimitHitError {
    const own = this.#lengthOf(network);
    const before = sum([...this.#lines.values()].map((line) => Math.min(line.length, own + 1)));
    const rounds = (before + this.#bounds.atOnce) / this.#bounds.atOnce;
    const seconds = Math.max(1, Math.ceil((rounds * this.#averageMs) / 1000));
    return new RateLimitHitError(
      seconds,
      undefined,
      `Too many sign-ins are waiting; try again in ${seconds} second${seconds === 1 ? '' : 's'}`,
    );
  }

  #enter(network: string): void {
    this.#running.set(network, this.#runningOf(network) + 1);
  }

  #leave(network: string): void {
    const left = this.#runningOf(network) - 1;
    if (left > 0) this.#running.set(network, left);
    else this.#running.delete(network);
  }

  #runningOf(network: string): number {
    return this.#running.get(network) ?? 0;
  }

  #lengthOf(network: string): number {
    return this.#lines.get(network)?.length ?? 0;
  }
}

function sum(numbers: Iterable<number>): number {
  let total = 0;
  for (const number of numbers) total += number;
  return total;
}
