import { AbandonedError, RequestTimeoutError } from './errors.ts';

/** Limits on the tasks of one key, such as an account. Tasks beyond `running` wait. Tasks beyond `waiting` are refused. */
export interface KeyLimits {
  /** Maximum number of running tasks of the key. A key without running tasks can start a task, whatever this number is. */
  readonly running: number;
  /**
   * Maximum number of waiting tasks of the key. If it is infinite, the tasks of the key do not count in the total of waiting
   * tasks.
   */
  readonly waiting: number;
}

export interface LimiterOptions<K> {
  /** Maximum number of running tasks in total. Further tasks wait. Default: unlimited. */
  readonly total?: number;
  /** Number of tasks, out of `total`, that only keys without running tasks can start. Default: 0. */
  readonly spare?: number;
  /** Maximum number of waiting tasks in total. Further tasks are refused with the error of `refusal`. Default: unlimited. */
  readonly waiting?: number;
  /**
   * Maximum time that a task waits, in milliseconds. Afterwards, it is refused with `RequestTimeoutError`. Default: unlimited.
   */
  readonly maxWaitMs?: number;
  /** Returns the current limits of a key. Called whenever a limit is checked. */
  limitsOf(key: K): KeyLimits;
  /**
   * Returns new limits for a key after a failed task. Undefined: the limits of the key stay the same. New limits apply until a
   * task of the key succeeds or the key has no tasks. The failed task counts as running until the promise resolves.
   */
  limitsAfter?(key: K, error: unknown): Promise<KeyLimits | undefined>;
  /**
   * Returns the rank of a key with waiting tasks. The key with the lowest rank is served next. Among keys of equal rank, the
   * key that was served least recently is next. Default: the number of running tasks of the key.
   */
  rankOf?(key: K): number;
  /** Returns the error for a task that cannot wait, because too many tasks are waiting. Default: RequestTimeoutError. */
  refusal?(key: K): Error;
  /** Starts a task that has waited, immediately or later. Default: immediately. */
  resume?(start: () => void): void;
}

/** The client that waits for the result of a task. */
type Client = { readonly isGone: boolean };

interface Waiting {
  readonly start: () => void;
  readonly refuse: (error: Error) => void;
  readonly client: Client | undefined;
  timer?: NodeJS.Timeout;
}

/** A key with running or waiting tasks. */
interface ActiveKey<K> {
  readonly key: K;
  running: number;
  /** Number of tasks that are in `aside`. They do not count as running. */
  aside: number;
  /** Waiting tasks of the key, oldest first. */
  waiting: Waiting[];
  /** Limits of the key that `limitsAfter` returned. Undefined: the limits that `limitsOf` returns apply. */
  limits: KeyLimits | undefined;
}

/**
 * A limiter for the number of concurrent tasks, in total and per key. The keys take turns, so a key with a thousand tasks
 * delays only its own tasks. The waiting tasks of a key start in the order of arrival. Keys are, for example, networks,
 * accounts or organizations.
 */
export class FairLimiter<K> {
  readonly #options: LimiterOptions<K>;
  readonly #total: number;
  /** `total` minus `spare`. While this many tasks are running, only keys without running tasks can start a task. */
  readonly #shared: number;
  readonly #keys = new Map<K, ActiveKey<K>>();
  /** Keys with waiting tasks, least recently served first. */
  readonly #queue = new Set<ActiveKey<K>>();
  #running = 0;

  constructor(options: LimiterOptions<K>) {
    this.#options = options;
    this.#total = options.total ?? Number.POSITIVE_INFINITY;
    this.#shared = this.#total - (options.spare ?? 0);
  }

  /** Number of running tasks. */
  get running(): number {
    return this.#running;
  }

  /** Number of waiting tasks. */
  get waiting(): number {
    return sum(this.#queue, ({ waiting }) => waiting.length);
  }

  /** Returns whether the key has no running or waiting tasks. */
  isFree(key: K): boolean {
    return !this.#keys.has(key);
  }

  /** Returns whether a task of the key would start immediately. */
  isOpen(key: K): boolean {
    const known = this.#keys.get(key);
    return known === undefined ? this.#running < this.#total : this.#isOpen(known);
  }

  /** Returns the number of tasks that would start before a new task of the key, if keys with waiting tasks take turns. */
  waitingBefore(key: K): number {
    const own = this.#keys.get(key)?.waiting.length ?? 0;
    return sum(this.#queue, ({ waiting }) => Math.min(waiting.length, own + 1));
  }

  /**
   * Runs `work` as soon as the limits permit. Resolves to the result of `work`.
   *
   * @param work Must not wait for another task of this limiter.
   * @param client If the client is gone, `work` is not started.
   * @throws AbandonedError if the client disconnected before `work` was started.
   * @throws RequestTimeoutError, or the error that the option `refusal` returns, if too many tasks are waiting.
   * @throws RequestTimeoutError if the task has waited too long.
   */
  async run<T>(key: K, work: () => Promise<T>, client?: Client): Promise<T> {
    if (client?.isGone === true) throw new AbandonedError();
    const own: ActiveKey<K> = this.#keys.get(key) ?? { key, running: 0, aside: 0, waiting: [], limits: undefined };
    if (this.#isOpen(own)) this.#enter(own);
    else await this.#wait(own, client);
    try {
      const result = await work();
      own.limits = undefined;
      return result;
    } catch (error) {
      own.limits = (await this.#options.limitsAfter?.(key, error)) ?? own.limits;
      throw error;
    } finally {
      this.#leave(own);
    }
  }

  /**
   * Runs `work` while the calling task does not count as running. Afterwards, the task continues immediately, even if the limits
   * are exceeded. For work that waits for a client or another server.
   *
   * @param key Key of the calling task, which must be running.
   */
  async aside<T>(key: K, work: () => Promise<T>): Promise<T> {
    const own = this.#keys.get(key);
    if (own === undefined || own.running === 0) return work();
    own.aside++;
    this.#leave(own);
    try {
      return await work();
    } finally {
      own.aside--;
      this.#enter(own);
    }
  }

  #limitsOf({ key, limits }: ActiveKey<K>): KeyLimits {
    return limits ?? this.#options.limitsOf(key);
  }

  #isOpen(own: ActiveKey<K>): boolean {
    return own.waiting.length === 0 && this.#hasPermit(own);
  }

  #hasPermit(own: ActiveKey<K>): boolean {
    if (own.running === 0) return this.#running < this.#total;
    return this.#running < this.#shared && own.running < this.#limitsOf(own).running;
  }

  #enter(own: ActiveKey<K>): void {
    if (own.running === 0) this.#keys.set(own.key, own);
    own.running++;
    this.#running++;
  }

  #leave(own: ActiveKey<K>): void {
    // While fewer than `#shared` tasks run, every other key with waiting tasks has reached its own limit. So only this key can
    // start another task.
    const gaining = this.#running < this.#shared ? [own] : this.#queue;
    own.running--;
    this.#running--;
    if (this.#queue.size > 0) this.#startWaiting(gaining);
    this.#forgetIdle(own);
  }

  #forgetIdle({ key, running, aside, waiting }: ActiveKey<K>): void {
    if (running === 0 && aside === 0 && waiting.length === 0) this.#keys.delete(key);
  }

  #wait(own: ActiveKey<K>, client: Client | undefined): Promise<void> {
    this.#requirePlace(own);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const one: Waiting = { start: resolve, refuse: reject, client };
    const { maxWaitMs } = this.#options;
    if (maxWaitMs !== undefined)
      one.timer = setTimeout(() => this.#refuse(own, one, new RequestTimeoutError()), maxWaitMs);
    own.waiting.push(one);
    this.#keys.set(own.key, own);
    this.#queue.add(own);
    return promise;
  }

  /**
   * Checks that another task of the key can wait. If too many tasks are waiting in total, refuses a waiting task of a key that
   * has more waiting tasks than this key.
   *
   * @throws RequestTimeoutError, or the error that the option `refusal` returns, if no task of the key can wait now.
   */
  #requirePlace(own: ActiveKey<K>): void {
    const { waiting: most } = this.#limitsOf(own);
    const { waiting: total } = this.#options;
    if (most === Number.POSITIVE_INFINITY) return;
    const isFull = () => total !== undefined && sum(this.#boundedKeys(), ({ waiting }) => waiting.length) >= total;
    if (own.waiting.length >= most || isFull()) this.#dropAbandoned();
    if (own.waiting.length >= most) throw this.#refusal(own);
    if (!isFull()) return;
    // The newest task of the key with the most waiting tasks is refused in favor of a key with fewer tasks.
    const longest = this.#boundedKeys().reduce((a, b) => (b.waiting.length > a.waiting.length ? b : a), own);
    const newest = longest.waiting.at(-1);
    if (newest === undefined || longest.waiting.length <= own.waiting.length + 1) throw this.#refusal(own);
    this.#remove(longest, newest);
    newest.refuse(this.#refusal(longest));
  }

  /** Returns the keys whose waiting tasks count in the total of waiting tasks. */
  #boundedKeys(): ActiveKey<K>[] {
    return [...this.#queue].filter((each) => this.#limitsOf(each).waiting !== Number.POSITIVE_INFINITY);
  }

  #dropAbandoned(): void {
    for (const each of this.#queue) {
      for (const one of each.waiting.filter(({ client }) => client?.isGone === true))
        this.#refuse(each, one, new AbandonedError());
    }
  }

  #refusal({ key }: ActiveKey<K>): Error {
    return this.#options.refusal?.(key) ?? new RequestTimeoutError();
  }

  #refuse(own: ActiveKey<K>, one: Waiting, error: Error): void {
    this.#remove(own, one);
    this.#forgetIdle(own);
    one.refuse(error);
  }

  #remove(own: ActiveKey<K>, one: Waiting): void {
    clearTimeout(one.timer);
    own.waiting.splice(own.waiting.indexOf(one), 1);
    if (own.waiting.length === 0) this.#queue.delete(own);
  }

  /** Starts the waiting tasks of `keys` for which there are permits. */
  #startWaiting(keys: Iterable<ActiveKey<K>>): void {
    for (let own = this.#next(keys); own !== undefined; own = this.#next(keys)) {
      const [first] = own.waiting;
      if (first === undefined) return;
      if (first.client?.isGone === true) {
        this.#refuse(own, first, new AbandonedError());
        continue;
      }
      this.#enter(own);
      this.#remove(own, first);
      // The key that is served moves to the end of the queue.
      if (this.#queue.delete(own)) this.#queue.add(own);
      if (this.#options.resume === undefined) first.start();
      else this.#options.resume(first.start);
    }
  }

  /** Returns the key whose waiting task is started next. Undefined if none of `keys` has a permit for a waiting task. */
  #next(keys: Iterable<ActiveKey<K>>): ActiveKey<K> | undefined {
    let next: ActiveKey<K> | undefined;
    let lowest = Number.POSITIVE_INFINITY;
    for (const own of keys) {
      if (own.waiting.length === 0 || !this.#hasPermit(own)) continue;
      const rank = this.#options.rankOf?.(own.key) ?? own.running;
      if (rank >= lowest) continue;
      [next, lowest] = [own, rank];
      if (rank === 0) break;
    }
    return next;
  }
}

function sum<T>(items: Iterable<T>, of: (item: T) => number): number {
  let total = 0;
  for (const item of items) total += of(item);
  return total;
}
