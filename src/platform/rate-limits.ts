import type { IncomingMessage } from 'node:http';
import { isIPv4, isIPv6 } from 'node:net';
import { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';

import type { Budget } from './budget.ts';
import type { Config } from './config.ts';
import { RateLimitHitError } from './errors.ts';
import { REDIS_PATIENCE_MS, RedisBreaker } from './redis-breaker.ts';
import { redisPrefix } from './redis-names.ts';

const WINDOW_SECONDS = 60;

/** Where a request comes from. */
export type Origin = Pick<IncomingMessage, 'headers' | 'socket'>;

/** The count of one kind of caller; undefined where nothing is counted. */
interface Count {
  /** Counts one request. */
  readonly one: (caller: string) => Promise<Budget>;
  /** Counts what else is asked for with one that was counted. */
  readonly more: (caller: string, requests: number, left: Budget) => Promise<Budget>;
}

/**
 * How many requests each account, and each address without one, has left: counted in memory, or in Redis for all nodes
 * together, and in memory again while Redis is away, or does not answer.
 *
 * A window begins with the caller's first request, and a minute later the budget is full again. What is refused takes
 * nothing from the next window.
 */
export class RateLimits {
  readonly #byUser: Count | undefined;
  readonly #byAddress: Count | undefined;
  readonly #trustedProxies: number;
  readonly #store: Store | undefined;

  constructor(config: Config, log: Logger) {
    const { rateLimitPerUser, rateLimitPerIp, redisUrl } = config;
    const isOn = rateLimitPerUser !== undefined || rateLimitPerIp !== undefined;
    this.#store = isOn && redisUrl !== undefined ? connect(redisUrl, log) : undefined;
    const prefix = redisPrefix(config);
    this.#byUser = counting(`${prefix}api_by_user`, rateLimitPerUser, this.#store);
    this.#byAddress = counting(`${prefix}api_by_ip`, rateLimitPerIp, this.#store);
    this.#trustedProxies = config.trustedProxies;
  }

  /**
   * Counts a request of an account: one budget for all its clients, over REST and GraphQL.
   *
   * @returns Undefined when accounts are not limited.
   * @throws RateLimitHitError when none was left.
   */
  async countUser(userId: number): Promise<Budget | undefined> {
    return this.#byUser?.one(String(userId));
  }

  /**
   * Counts a request without an account: one that carries no credentials, or none that are good.
   *
   * @returns Undefined when addresses are not limited.
   * @throws RateLimitHitError when none was left.
   */
  async countAddress(origin: Origin): Promise<Budget | undefined> {
    return this.#byAddress?.one(this.#networkOf(origin));
  }

  /**
   * Counts a request that was counted already as so many more, on the same account or address: what it asks for is known
   * by then.
   *
   * @param userId Undefined without an account.
   * @param left What was left when it was counted.
   * @throws RateLimitHitError when so many were not left; it then stays counted as one.
   */
  async countMore(
    origin: Origin,
    userId: number | undefined,
    requests: number,
    left: Budget,
  ): Promise<Budget | undefined> {
    return userId === undefined
      ? this.#byAddress?.more(this.#networkOf(origin), requests, left)
      : this.#byUser?.more(String(userId), requests, left);
  }

  #networkOf(origin: Origin): string {
    return networkOf(addressOf(origin, this.#trustedProxies));
  }

  close(): void {
    this.#store?.breaker.close();
    this.#store?.redis.disconnect();
  }
}

/** Where the requests of all nodes are counted together. */
interface Store {
  readonly redis: Redis;
  readonly breaker: RedisBreaker;
}

function connect(url: string, log: Logger): Store {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: REDIS_PATIENCE_MS,
  });
  redis.on('error', (err: Error) => log.warn({ err }, 'Redis is out of reach; requests are counted on each node'));
  return { redis, breaker: new RedisBreaker(redis, { log, without: 'requests are counted on each node' }) };
}

function counting(keyPrefix: string, points: number | undefined, store: Store | undefined): Count | undefined {
  if (points === undefined) return undefined;
  const options = { keyPrefix, points, duration: WINDOW_SECONDS };
  const consume = consuming(options, store);
  const take = async (caller: string, requests: number): Promise<Budget> => {
    try {
      return budgetOf(points, await consume(caller, requests));
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal;
      throw new RateLimitHitError(refusal.msBeforeNext / 1000, budgetOf(points, refusal));
    }
  };
  return {
    one: (caller) => take(caller, 1),
    more: async (caller, requests, left) => {
      // Asked before it is taken: what is refused for its size leaves the rest to smaller ones.
      if (left.remaining < requests) throw tooManyAtOnce(requests + 1, left);
      return take(caller, requests);
    },
  };
}

type Consume = (caller: string, requests: number) => Promise<RateLimiterRes>;

/** Takes from the budget that all nodes share; from this node's own where that cannot be had. */
function consuming(
  options: { keyPrefix: string; points: number; duration: number },
  store: Store | undefined,
): Consume {
  const memory = new RateLimiterMemory(options);
  const here: Consume = (caller, requests) => memory.consume(caller, requests);
  if (store === undefined) return here;
  const { redis, breaker } = store;
  const shared = new RateLimiterRedis({ ...options, storeClient: redis, rejectIfRedisNotReady: true });
  return async (caller, requests) => {
    try {
      return await breaker.ask(() => shared.consume(caller, requests));
    } catch (refusal) {
      if (refusal instanceof RateLimiterRes) throw refusal;
      return here(caller, requests);
    }
  };
}

function tooManyAtOnce(requests: number, left: Budget): RateLimitHitError {
  const { limit, resetAt } = left;
  const message = `This counts as ${requests} requests, of which there are ${limit} a minute`;
  const seconds = Math.max(0, resetAt.getTime() - Date.now()) / 1000;
  return new RateLimitHitError(seconds, left, requests > limit ? message : undefined);
}

export function budgetOf(limit: number, { remainingPoints, msBeforeNext }: RateLimiterRes): Budget {
  return { limit, remaining: remainingPoints, resetAt: new Date(Date.now() + msBeforeNext) };
}

/**
 * The address a request comes from. A forwarded one is believed as far as our own proxies wrote it: each adds the
 * address it was asked from at the end, and what stands before that anybody may have made up.
 *
 * @param trustedProxies How many proxies of ours every request passes.
 */
export function addressOf({ headers, socket }: Origin, trustedProxies: number): string {
  const direct = socket.remoteAddress ?? '';
  if (trustedProxies === 0) return direct;
  const header = headers['x-forwarded-for'];
  const forwarded = (Array.isArray(header) ? header.join(',') : (header ?? '')).split(',').map((part) => part.trim());
  const address = forwarded.at(-trustedProxies) ?? '';
  return isIPv4(address) || isIPv6(address) ? address : direct;
}

/** What counts as one address: with IPv6 the /64 that a single customer has for their own. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const [head = '', tail] = (address.split('%')[0] ?? '').toLowerCase().split('::');
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros =
    tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - groups.length - after.length) }, () => '0');
  const first = [...groups, ...zeros, ...after].slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${first.join(':')}::/64`;
}
