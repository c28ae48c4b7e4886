import { shortWhile } from './slices.ts';

/** Our choice: how often it is looked whether the process is behind, and what it is to be called that. Milliseconds. */
const LOOK_MS = 10;
const BEHIND_MS = 20;
/** Our choice: of one account at a time while the process keeps up. More than a client has use for; few enough to be over soon. */
const AT_ONCE = 8;

/**
 * How much of a process one account may have: some requests at a time while the process keeps up, and one when it is
 * behind. The account's others wait for their turn, so that whoever asks for much waits for themselves. Between two turns
 * everybody else's requests are read.
 */
export class AccountShares {
  readonly #running = new Map<number, number>();
  readonly #lines = new Map<number, (() => void)[]>();
  readonly #timer: NodeJS.Timeout;
  #lookedAt = performance.now();
  /** How late the last looks were, the newest counting most. */
  #lateMs = 0;

  /** While a request of anybody's is under way. */
  readonly #endShort = shortWhile(() => this.#running.size > 0);

  constructor() {
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  /** Works on a request of an account when its turn comes: at once while the process keeps up. */
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

  /** Requests of one account, as of now: also when what keeps the process busy has not let it look. */
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
    // After requests that have arrived meanwhile.
    setImmediate(next);
  }
}
