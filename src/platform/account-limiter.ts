import { shortWhile } from './time-slices.ts';

/** Interval of the checks for event loop delay, and delay above which the process counts as overloaded. Milliseconds. */
const LOOK_MS = 10;
const BEHIND_MS = 20;
/**
 * Maximum number of concurrent requests of one account while the process is not overloaded. More than a client needs, but few
 * enough to finish soon.
 */
const AT_ONCE = 8;

/**
 * A limiter of the concurrent requests of each account: `AT_ONCE` normally, and one while the process is overloaded. Further
 * requests of the account wait, so an account with many requests delays only itself. Between two requests of one account, the
 * process accepts requests of other accounts.
 */
export class AccountLimiter {
  readonly #running = new Map<number, number>();
  readonly #lines = new Map<number, (() => void)[]>();
  readonly #timer: NodeJS.Timeout;
  #lookedAt = performance.now();
  /** Largest recent delay of the checks. It halves with each check. */
  #lateMs = 0;

  /** Keeps time slices short while any request is in progress. */
  readonly #endShort = shortWhile(() => this.#running.size > 0);

  constructor() {
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  /** Runs `work`, a request of an account, as soon as the account is below its limit. Resolves to the result of `work`. */
  async run<T>(userId: number, work: () => Promise<T>): Promise<T> {
    if (this.#lines.has(userId) || this.#runningOf(userId) >= this.#allowed()) await this.#wait(userId);
    else this.#enter(userId);
    try {
      return await work();
    } finally {
      this.#leave(userId);
    }
  }

  close(): void {
    clearInterval(this.#timer);
    this.#endShort();
  }

  #look(): void {
    const now = performance.now();
    this.#lateMs = Math.max(this.#lateMs / 2, now - this.#lookedAt - LOOK_MS);
    this.#lookedAt = now;
  }

  /** Returns the current limit of requests per account. A check that is overdue counts as overload too. */
  #allowed(): number {
    const isBehind = this.#lateMs > BEHIND_MS || performance.now() - this.#lookedAt - LOOK_MS > BEHIND_MS;
    return isBehind ? 1 : AT_ONCE;
  }

  #runningOf(userId: number): number {
    return this.#running.get(userId) ?? 0;
  }

  #wait(userId: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const line = this.#lines.get(userId) ?? [];
    line.push(resolve);
    this.#lines.set(userId, line);
    return promise;
  }

  #leave(userId: number): void {
    const left = this.#runningOf(userId) - 1;
    if (left > 0) this.#running.set(userId, left);
    else this.#running.delete(userId);
    for (let free = this.#allowed() - left; free > 0; free--) this.#startNext(userId);
  }

  #enter(userId: number): void {
    this.#running.set(userId, this.#runningOf(userId) + 1);
  }

  #startNext(userId: number): void {
    const line = this.#lines.get(userId);
    const next = line?.shift();
    if (line?.length === 0) this.#lines.delete(userId);
    if (next === undefined) return;
    this.#enter(userId);
    // The next request starts after the event loop has read requests that arrived meanwhile.
    setImmediate(next);
  }
}
