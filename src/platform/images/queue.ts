import { LRUCache } from 'lru-cache';
import { FairLimiter } from '../fair-limiter.ts';

interface Bounds {
  /** Maximum number of tasks of one account that wait in the queue. Further tasks are refused with `RequestTimeoutError`. */
  readonly ofAccount: number;
  /** Maximum number of tasks of all accounts that wait in the queue. Further tasks are refused with `RequestTimeoutError`. */
  readonly total: number;
}

/** Recent use of the queue by one account. */
interface Usage {
  /**
   * Total duration of the account's tasks in milliseconds. Older durations count less: the total is halved each time
   * `HALF_LIFE_MS` passes. This is its value at the time `at`.
   */
  readonly ms: number;
  /** End of the account's last task, on the clock of `performance.now()`. */
  readonly at: number;
}

/** Half-life of the recorded use of an account, in milliseconds. */
const HALF_LIFE_MS = 30_000;
/** Maximum number of accounts whose use is recorded. The accounts that used the queue last are kept. */
const KEPT_ACCOUNTS = 1_000;

/**
 * A queue for expensive work that runs one task at a time. The next task belongs to the account whose recent use is lowest. So
 * an account with many tasks delays only itself, and an account without recent use is next.
 */
export class ImageQueue {
  readonly #limiter: FairLimiter<number>;
  readonly #usage = new LRUCache<number, Usage>({ max: KEPT_ACCOUNTS });

  constructor({ ofAccount, total }: Bounds) {
    const ofOne = { running: 1, waiting: ofAccount };
    this.#limiter = new FairLimiter({
      ...{ total: 1, waiting: total, limitsOf: () => ofOne },
      rankOf: (account) => this.#usedBy(account, performance.now()),
    });
  }

  /** Number of waiting tasks. */
  get waiting(): number {
    return this.#limiter.waiting;
  }

  /**
   * Runs `work` when no other task is running and `work` is next in the queue. Resolves to the result of `work`.
   *
   * @throws RequestTimeoutError if too many tasks are waiting, of the account or in total.
   */
  run<T>(account: number, work: () => Promise<T>): Promise<T> {
    return this.#limiter.run(account, async () => {
      const startedAt = performance.now();
      try {
        return await work();
      } finally {
        const at = performance.now();
        this.#usage.set(account, { ms: this.#usedBy(account, at) + at - startedAt, at });
      }
    });
  }

  #usedBy(account: number, now: number): number {
    const used = this.#usage.get(account);
    return used === undefined ? 0 : used.ms * 0.5 ** ((now - used.at) / HALF_LIFE_MS);
  }
}
