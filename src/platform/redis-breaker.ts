import type { Redis } from 'ioredis';
import type { Logger } from 'pino';

/** Our choice: a Redis that answers later than this is taken for one that is away. */
export const REDIS_PATIENCE_MS = 500;
/** Our choice: one or two late answers may be a busy moment. */
const LATE_IN_A_ROW = 3;
/** Our choice: between two looks whether it answers again. */
const REST_MS = 1_000;
/** What ioredis says when `commandTimeout` has passed. */
const TIMED_OUT = 'Command timed out';
/** What it says of what was asked on a connection that is gone. */
const CLOSED = 'Connection is closed.';
/** Of what Redis itself refuses, such as a password, and of what was given up. */
const REFUSED = new Set(['ReplyError', 'AbortError', 'MaxRetriesPerRequestError']);

/**
 * Whether Redis does not answer, or refuses us: such faults come again until somebody mends them. They have no code, as
 * has what Node itself gives up under the same name.
 */
export const isRedisFault = (error: Error): boolean =>
  !('code' in error) && (error.message === TIMED_OUT || error.message === CLOSED || REFUSED.has(error.name));

/** Redis is not asked at present. */
export class RedisRestsError extends Error {
  override name = 'RedisRestsError';
}

/**
 * Asks Redis as long as it answers. One that is away refuses at once, but one that is paused, or behind a network that
 * swallows everything, costs each request the whole patience: after some late answers in a row it is not asked any more,
 * until it has answered a ping. These are sent by themselves, one at a time, so that no request waits for one.
 */
export class RedisBreaker {
  readonly #redis: Redis;
  readonly #log: Logger;
  readonly #without: string;
  #late = 0;
  #isOpen = false;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param redis With a `commandTimeout`.
   * @param options.without What is done while it is not asked, for the log.
   */
  constructor(redis: Redis, { log, without }: { log: Logger; without: string }) {
    this.#redis = redis;
    this.#log = log;
    this.#without = without;
  }

  /**
   * Runs a command.
   *
   * @throws RedisRestsError when Redis is not asked at present; else what the command rejects with.
   */
  async ask<T>(command: () => Promise<T>): Promise<T> {
    if (this.#isOpen) throw new RedisRestsError();
    try {
      const answer = await command();
      this.#late = 0;
      return answer;
    } catch (error) {
      if (!isLate(error)) this.#late = 0;
      else if (++this.#late >= LATE_IN_A_ROW && !this.#isOpen) this.#open();
      throw error;
    }
  }

  /** Looks no more whether Redis answers. */
  close(): void {
    clearTimeout(this.#timer);
  }

  #open(): void {
    this.#isOpen = true;
    this.#log.warn(`Redis does not answer and is not asked for now; ${this.#without}`);
    this.#lookSoon();
  }

  #lookSoon(): void {
    this.#timer = setTimeout(() => void this.#look(), REST_MS).unref();
  }

  async #look(): Promise<void> {
    try {
      await this.#redis.ping();
    } catch {
      this.#lookSoon();
      return;
    }
    this.#late = 0;
    this.#isOpen = false;
    this.#log.warn('Redis answers again');
  }
}

const isLate = (error: unknown): boolean => error instanceof Error && error.message === TIMED_OUT;
