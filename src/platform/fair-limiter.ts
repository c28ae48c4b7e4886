import type { Caller } from './caller.ts';
import { AbandonedError, RateLimitHitError } from './errors.ts';

/** Limits of the running and waiting tasks. */
interface Bounds {
  /** Maximum number of running tasks. */
  readonly atOnce: number;
  /** Maximum number of waiting tasks of one network. */
  readonly waitingOfNetwork: number;
  /** Maximum number of waiting tasks in total, not counting those of the server's operator. */
  readonly places: number;
}

interface Waiting {
  /** Client that sent the task. Undefined: the task belongs to the server's operator. */
  readonly caller: Caller | undefined;
  readonly network: string;
  start(): void;
  refuse(error: Error): void;
}

/** Key of the queue of the server's operator. */
const OPERATOR = '';
/** Weight of the latest duration in the moving average. */
const WEIGHT = 0.2;

/**
 * A limiter that runs a few tasks at a time. The others wait in one queue per network, and the networks take turns: a
 * network with a thousand tasks delays only itself. Tasks of closed connections are dropped.
 */
export class FairLimiter {
  readonly #bounds: Bounds;
  /** Queues that are not empty, least recently served first. */
  readonly #lines = new Map<string, Waiting[]>();
  /** Number of running tasks of each network. */
  readonly #running = new Map<string, number>();
  /** Average duration of a task, without its wait. */
  #averageMs: number;

  /** @param expectedMs Initial value of the average duration of a task. */
  constructor(bounds: Bounds, expectedMs: number) {
    this.#bounds = bounds;
    this.#averageMs = expectedMs;
  }

  /** Number of waiting tasks. */
  get waiting(): number {
    return sum([...this.#lines.values()].map((line) => line.length));
  }

  /**
   * Runs `work` as soon as the limits permit. Resolves to the result of `work`.
   *
   * @param caller Undefined for the server's operator, whose tasks are never refused.
   * @throws RateLimitHitError if the queue is full. Its `retry-after` is an estimate.
   * @throws AbandonedError if the caller disconnected before `work` was started.
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

  /** Resolves when a task may start: immediately if fewer than `atOnce` are running. */
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

  /**
   * Checks that one more task of the network can wait, dropping others if necessary. @throws RateLimitHitError if it cannot.
   */
  #makeRoom(network: string): void {
    const { waitingOfNetwork, places } = this.#bounds;
    if (this.#lengthOf(network) >= waitingOfNetwork || this.waiting >= places) this.#dropAbandoned();
    const own = this.#lengthOf(network);
    if (own >= waitingOfNetwork) throw this.#refusal(network);
    if (this.waiting - this.#lengthOf(OPERATOR) < places) return;
    // If the total is reached, the newest task of the network with the most waiting tasks is refused in favor of a network with
    // fewer tasks.
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
      // Moves the network to the end of the order.
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

  /**
   * Returns the waiting network with the fewest running tasks. If several networks have the fewest, returns the one that was
   * served least recently.
   */
  #networkInTurn(): string | undefined {
    let inTurn: string | undefined;
    for (const network of this.#lines.keys()) {
      if (inTurn === undefined || this.#runningOf(network) < this.#runningOf(inTurn)) inTurn = network;
    }
    return inTurn;
  }

  /**
   * Returns the error for a task that does not fit into the queue. The estimated time covers the network's waiting tasks and
   * the tasks of other networks that run between them.
   */
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
