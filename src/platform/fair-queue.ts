import { LRUCache } from 'lru-cache';
import { RequestTimeoutError } from './errors.ts';

interface Bounds {
  /** Maximum number of waiting tasks of one account. */
  readonly ofAccount: number;
  /** Maximum number of waiting tasks in total. */
  readonly total: number;
}

interface Waiting {
  readonly start: () => void;
  readonly refuse: (error: Error) => void;
}

/** Recent use of the queue by one account. */
interface Usage {
  readonly ms: number;
  readonly at: number;
}

/** Half-life of the recorded use of an account, in milliseconds. */
const HALF_LIFE_MS = 30_000;
/** Number of accounts whose use is recorded: the ones that used the queue last. */
const KEPT_ACCOUNTS = 1_000;

/**
 * A queue for expensive work that runs one task at a time. The next task belongs to the account whose recent use is lowest. So
 * an account with many tasks delays only itself, and an account without recent use is next.
 */
export class FairQueue {
  readonly #bounds: Bounds;
  /** Waiting tasks by account, oldest first. No list is empty. */
  readonly #lines = new Map<number, Waiting[]>();
  readonly #usage = new LRUCache<number, Usage>({ max: KEPT_ACCOUNTS });
  #isRunning = false;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  /** Number of waiting tasks. */
  get waiting(): number {
    return [...this.#lines.values()].reduce((sum, line) => sum + line.length, 0);
  }

  /**
   * Runs `work` when no other task is running and it is next in the queue. Resolves to the result of `work`.
   *
   * @throws RequestTimeoutError if too many tasks are waiting, of the account or in total.
   */
  async run<T>(account: number, work: () => Promise<T>): Promise<T> {
    if (this.#isRunning) await this.#wait(account);
    this.#isRunning = true;
    const startedAt = performance.now();
    try {
      return await work();
    } finally {
      const at = performance.now();
      this.#usage.set(account, { ms: this.#usedBy(account, at) + at - startedAt, at });
      this.#startNext();
    }
  }

  #wait(account: number): Promise<void> {
    const line = this.#lines.get(account) ?? [];
    if (line.length >= this.#bounds.ofAccount) throw new RequestTimeoutError();
    if (this.waiting >= this.#bounds.total) this.#dropNewestOfLongest(line.length + 1);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    line.push({ start: resolve, refuse: reject });
    this.#lines.set(account, line);
    return promise;
  }

  /**
   * Rejects the newest task of the account with the most waiting tasks.
   *
   * @throws RequestTimeoutError if no account has more than `length` waiting tasks.
   */
  #dropNewestOfLongest(length: number): void {
    const [account, longest] = [...this.#lines].reduce((a, b) => (b[1].length > a[1].length ? b : a));
    if (longest.length <= length) throw new RequestTimeoutError();
    longest.pop()?.refuse(new RequestTimeoutError());
    if (longest.length === 0) this.#lines.delete(account);
  }

  #usedBy(account: number, now: number): number {
    const used = this.#usage.get(account);
    return used === undefined ? 0 : used.ms * 0.5 ** ((now - used.at) / HALF_LIFE_MS);
  }

  /** Starts the next task. `#isRunning` stays true meanwhile, so that no other task can start. */
  #startNext(): void {
    const now = performance.now();
    let next: number | undefined;
    for (const account of this.#lines.keys()) {
      if (next === undefined || this.#usedBy(account, now) < this.#usedBy(next, now)) next = account;
    }
    const line = next === undefined ? undefined : this.#lines.get(next);
    if (next === undefined || line === undefined) {
      this.#isRunning = false;
      return;
    }
    const first = line.shift();
    if (line.length === 0) this.#lines.delete(next);
    first?.start();
  }
}
