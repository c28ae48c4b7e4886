import { AsyncLocalStorage } from 'node:async_hooks';
import { FairLimiter, type KeyLimits } from './fair-limiter.ts';
import { shortWhile } from './time-slices.ts';

/** Interval, in milliseconds, at which the delay of the event loop is measured. */
const LOOK_MS = 10;
/** Delay of the event loop, in milliseconds, above which the process counts as overloaded. */
const OVERLOAD_DELAY_MS = 20;
/**
 * Limits for each account while the process is not overloaded. A client needs fewer than eight concurrent requests, and eight
 * requests of one account delay other accounts only briefly.
 */
const NORMAL: KeyLimits = { running: 8, waiting: Number.POSITIVE_INFINITY };
const OVERLOADED: KeyLimits = { ...NORMAL, running: 1 };

/**
 * A limiter for the number of concurrent requests of each account: eight, or one while the process is overloaded. Keys are user
 * ids. Further requests of the account wait, so an account with many requests delays only itself. Between two requests of one
 * account, the process accepts requests of other accounts.
 */
export class AccountLimiter extends FairLimiter<number> {
  readonly #delay: EventLoopDelay;
  /** Account of the request in whose asynchronous context this is read. */
  readonly #current = new AsyncLocalStorage<number>();
  /** Removes the callback that keeps time slices short while a request is in progress. */
  readonly #endShort = shortWhile(() => this.running > 0);

  constructor(delay = new EventLoopDelay()) {
    super({
      limitsOf: () => (delay.isLong ? OVERLOADED : NORMAL),
      // A waiting request starts only after the event loop has read the requests that have arrived meanwhile.
      resume: setImmediate,
    });
    this.#delay = delay;
  }

  override run<T>(userId: number, work: () => Promise<T>, client?: { readonly isGone: boolean }): Promise<T> {
    return super.run(userId, () => this.#current.run(userId, work), client);
  }

  /**
   * Runs a part of a request that waits for the client or for another server, such as the receipt of a file. Meanwhile, the request
   * does not count, so further requests of the account can start while the process is overloaded.
   */
  outside<T>(work: () => Promise<T>): Promise<T> {
    const userId = this.#current.getStore();
    return userId === undefined ? work() : this.aside(userId, () => this.#current.exit(work));
  }

  close(): void {
    this.#delay.close();
    this.#endShort();
  }
}

/** Measures the delay of the event loop: the time by which a timer fires late. */
class EventLoopDelay {
  readonly #timer = setInterval(() => this.#look(), LOOK_MS).unref();
  #lookedAt = performance.now();
  /**
   * Largest recent delay of the timer, in milliseconds. Each time the timer fires, the value is halved, or raised to the new
   * delay if that is larger.
   */
  #lateMs = 0;

  /**
   * Whether the process is overloaded: the largest recent delay is longer than `OVERLOAD_DELAY_MS`, or the timer is overdue by
   * more than `OVERLOAD_DELAY_MS`.
   */
  get isLong(): boolean {
    return this.#lateMs > OVERLOAD_DELAY_MS || performance.now() - this.#lookedAt - LOOK_MS > OVERLOAD_DELAY_MS;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const now = performance.now();
    this.#lateMs = Math.max(this.#lateMs / 2, now - this.#lookedAt - LOOK_MS);
    this.#lookedAt = now;
  }
}
