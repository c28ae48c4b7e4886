import { FairLimiter, type KeyLimits } from './fair-limiter.ts';
import { shortWhile } from './time-slices.ts';

/** Interval of the checks for event loop delay, and delay above which the process counts as overloaded. Milliseconds. */
const LOOK_MS = 10;
const BEHIND_MS = 20;
/** Limits while the process is not overloaded: more than a client needs, but few enough requests to finish soon. */
const NORMAL: KeyLimits = { running: 8, waiting: Number.POSITIVE_INFINITY };
const OVERLOADED: KeyLimits = { ...NORMAL, running: 1 };

/**
 * A limiter of the concurrent requests of each account, by user id: eight normally, and one while the process is overloaded.
 * Further requests of the account wait, so an account with many requests delays only itself. Between two requests of one
 * account, the process accepts requests of other accounts.
 */
export class AccountLimiter extends FairLimiter<number> {
  readonly #delay: EventLoopDelay;
  /** Keeps time slices short while any request is in progress. */
  readonly #endShort = shortWhile(() => this.running > 0);

  constructor(delay = new EventLoopDelay()) {
    super({
      limitsOf: () => (delay.isLong ? OVERLOADED : NORMAL),
      // A request starts after the event loop has read requests that arrived meanwhile.
      resume: setImmediate,
    });
    this.#delay = delay;
  }

  close(): void {
    this.#delay.close();
    this.#endShort();
  }
}

/** Measures the delay of the event loop by a timer. */
class EventLoopDelay {
  readonly #timer = setInterval(() => this.#look(), LOOK_MS).unref();
  #lookedAt = performance.now();
  /** Largest recent delay of the checks. It halves with each check. */
  #lateMs = 0;

  /** Whether the process is overloaded. A check that is overdue counts as overload too. */
  get isLong(): boolean {
    return this.#lateMs > BEHIND_MS || performance.now() - this.#lookedAt - LOOK_MS > BEHIND_MS;
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
