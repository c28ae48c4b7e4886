import type { Caller } from '../platform/caller.ts';
import { RateLimitHitError } from '../platform/errors.ts';
import { FairLimiter, type KeyLimits } from '../platform/fair-limiter.ts';

/** Limits on the tasks that hash passwords. A task that can neither run nor wait is refused with `RateLimitHitError`. */
interface Bounds {
  /** Maximum number of passwords that are hashed at the same time. Further tasks wait. */
  readonly atOnce: number;
  /** Maximum number of waiting tasks for clients of one network. Further tasks of the network are refused. */
  readonly waitingOfNetwork: number;
  /** Maximum number of waiting tasks in total. Further tasks are refused. Tasks of the server's operator do not count. */
  readonly places: number;
}

/** Limits on the tasks of the server's operator. */
const UNLIMITED: KeyLimits = { running: Number.POSITIVE_INFINITY, waiting: Number.POSITIVE_INFINITY };
/** Weight of the latest task in the moving average of the durations of tasks. */
const WEIGHT = 0.2;

/** A fair limiter of the hashing of passwords, by the network of the client. */
export class HashingLimiter {
  /** The keys are networks of clients. The key of the server's operator is undefined. */
  readonly #limiter: FairLimiter<string | undefined>;
  readonly #atOnce: number;
  /** Moving average of the durations of tasks in milliseconds, without the time that they waited. */
  #averageMs: number;

  /** @param expectedMs Initial value of `#averageMs`, the average duration of a task in milliseconds. */
  constructor({ atOnce, waitingOfNetwork, places }: Bounds, expectedMs: number) {
    const ofNetwork: KeyLimits = { running: atOnce, waiting: waitingOfNetwork };
    this.#limiter = new FairLimiter<string | undefined>({
      ...{ total: atOnce, waiting: places },
      limitsOf: (network) => (network === undefined ? UNLIMITED : ofNetwork),
      refusal: (network) => this.#refusal(network),
    });
    this.#atOnce = atOnce;
    this.#averageMs = expectedMs;
  }

  /** Number of waiting tasks. */
  get waiting(): number {
    return this.#limiter.waiting;
  }

  /**
   * Runs `work` as soon as the limits permit. Resolves to the result of `work`.
   *
   * @param caller Undefined for the server's operator, whose tasks are never refused.
   * @throws RateLimitHitError if the queue is full. Its `retry-after` is an estimate.
   * @throws AbandonedError if the caller disconnected before `work` was started.
   */
  run<T>(caller: Caller | undefined, work: () => Promise<T>): Promise<T> {
    const timed = async () => {
      const startedAt = performance.now();
      try {
        return await work();
      } finally {
        this.#averageMs += WEIGHT * (performance.now() - startedAt - this.#averageMs);
      }
    };
    return this.#limiter.run(caller?.network, timed, caller);
  }

  /**
   * Returns the error for a task that cannot wait, because too many tasks are waiting. The time in its `retry-after` covers the
   * network's waiting tasks and the tasks of other networks that run between them.
   */
  #refusal(network: string | undefined): RateLimitHitError {
    const rounds = (this.#limiter.waitingBefore(network) + this.#atOnce) / this.#atOnce;
    const seconds = Math.max(1, Math.ceil((rounds * this.#averageMs) / 1000));
    return new RateLimitHitError(
      seconds,
      undefined,
      `Too many sign-ins are waiting; try again in ${seconds} second${seconds === 1 ? '' : 's'}`,
    );
  }
}
