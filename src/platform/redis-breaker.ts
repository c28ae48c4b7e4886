import type { Redis } from 'ioredis';
import type { Logger } from 'pino';

/** Maximum response time of Redis, in milliseconds. A command that takes longer fails. */
export const REDIS_PATIENCE_MS = 500;
/** Number of consecutive timeouts that open the circuit breaker. A short load peak can cause one or two timeouts. */
const LATE_IN_A_ROW = 3;
/** Pause between two pings of Redis while the circuit breaker is open, in milliseconds. */
const REST_MS = 1_000;
/** Error message of ioredis for a command that took longer than `commandTimeout`. */
const TIMED_OUT = 'Command timed out';
/** Error message of ioredis for a command on a closed connection. */
const CLOSED = 'Connection is closed.';
/** Matches the error messages of ioredis and of the rate limiter while Redis is not ready for commands. */
const NOT_READY = /^(Stream isn't writeable|Redis connection is not ready)/;
/** Names of errors for commands that Redis refused, for example because of a password, or that ioredis aborted. */
const REFUSED = new Set(['ReplyError', 'AbortError', 'MaxRetriesPerRequestError']);

/**
 * Returns whether an error means that Redis does not respond or refuses commands. Such errors repeat until an operator fixes
 * the cause. Node's own errors can have these names too, but unlike errors of Redis they have a `code`.
 */
export const isRedisFault = (error: Error): boolean =>
  !('code' in error) &&
  (error.message === TIMED_OUT || error.message === CLOSED || NOT_READY.test(error.message) || REFUSED.has(error.name));

/** Thrown instead of sending a command while the circuit breaker is open. */
export class RedisRestsError extends Error {
  override name = 'RedisRestsError';
}

/**
 * A circuit breaker for Redis. Commands to an unreachable Redis fail immediately. But if Redis is paused, or the network drops
 * all packets, each command fails only after `REDIS_PATIENCE_MS`. After some consecutive timeouts no command is sent until
 * Redis has answered a ping. Pings are sent in the background, one at a time, so no request waits for them.
 */
export class RedisBreaker {
  readonly #redis: Redis;
  readonly #log: Logger;
  readonly #without: string;
  #late = 0;
  #isOpen = false;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param redis Client with a `commandTimeout`.
   * @param options.without Text for the log: how the node works without Redis while the breaker is open.
   */
  constructor(redis: Redis, { log, without }: { log: Logger; without: string }) {
    this.#redis = redis;
    this.#log = log;
    this.#without = without;
  }

  /**
   * Runs a command of Redis, and returns its result.
   *
   * @throws RedisRestsError if the breaker is open, or the error with which the command rejects.
   */
  async ask<T>(command: () => Promise<T>): Promise<T> {
    if (this.#isOpen) throw new RedisRestsError();
    try {
      const answer = await command();
      this.#late = 0;
      return answer;
    } catch (error) {
      this.#reportRefusal(error);
      if (!isLate(error)) this.#late = 0;
      else if (++this.#late >= LATE_IN_A_ROW && !this.#isOpen) this.#open();
      throw error;
    }
  }

  /** Stops the pings of Redis. */
  close(): void {
    clearTimeout(this.#timer);
  }

  /**
   * Logs that Redis is connected but refuses commands. For example, it is out of memory, a replica or a node of a cluster,
   * denies access, or is loading its data. `RedisConnection` reports an unreachable Redis.
   */
  #reportRefusal(err: unknown): void {
    if (!(err instanceof Error)) return;
    const { status } = this.#redis;
    // Status of ioredis: connected, but not ready for commands.
    if (err.name !== 'ReplyError' && status !== 'connect') return;
    this.#log.warn({ err, status }, `redis refuses commands, ${this.#without}`);
  }

  #open(): void {
    this.#isOpen = true;
    this.#log.warn(`redis not responding, commands paused, ${this.#without}`);
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
    this.#log.warn('redis available again');
  }
}

const isLate = (error: unknown): boolean => error instanceof Error && error.message === TIMED_OUT;
