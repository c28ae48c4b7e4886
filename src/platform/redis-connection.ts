import { Redis, type RedisOptions } from 'ioredis';

/**
 * A connection to Redis. Its errors are passed to `onFault` until `close` is called, and ignored after that. Some connections
 * are closed before they are established, for example by the command line.
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
