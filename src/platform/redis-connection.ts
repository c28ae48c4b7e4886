import { Redis, type RedisOptions } from 'ioredis';

/**
 * A connection to Redis. Errors are reported until the connection is closed, and ignored after that: the command line closes
 * some connections before they are established.
 */
export class RedisConnection {
  readonly redis: Redis;
  readonly #onFault: (error: Error) => void;
  #isClosed = false;

  constructor(url: string, options: Omit<RedisOptions, 'replyMapping'>, onFault: (error: Error) => void) {
    this.#onFault = onFault;
    this.redis = new Redis(url, options);
    this.redis.on('error', (error: Error) => this.report(error));
  }

  report(error: Error): void {
    if (!this.#isClosed) this.#onFault(error);
  }

  close(): void {
    this.#isClosed = true;
    this.redis.disconnect();
  }
}
