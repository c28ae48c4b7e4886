import type { IncomingMessage } from 'node:http';
import { isIPv4, isIPv6 } from 'node:net';
import { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';

import type { Budget } from './budget.ts';
import type { Config } from './config.ts';
import { RateLimitHitError } from './errors.ts';
import { redisPrefix } from './redis-names.ts';

/** @see endpoints companion E (api_by_user, api_by_ip) */
const WINDOW_SECONDS = 60;

/** Our choice: a Redis that answers later than this is taken for one that is away. */
const REDIS_PATIENCE_MS = 500;

/** Where a request comes from. */
export type Origin = Pick<IncomingMessage, 'headers' | 'socket'>;

/** The count of one kind of caller; undefined where nothing is counted. */
type Count = ((caller: string, requests: number) => Promise<Budget>) | undefined;

/**
 * How many requests each account, and each address without one, has left: counted in memory, or in Redis for all nodes
 * together, and in memory again while Redis is away.
 *
 * A window begins with the caller's first request, and a minute later the budget is full again. What is refused takes
 * nothing from the next window.
 *
 * @see registration-and-events companion 4.5
 */
export class RateLimits {
  readonly #byUser: Count;
  readonly #byAddress: Count;
  readonly #trustedProxies: number;
  readonly #redis: Redis | undefined;

  constructor(config: Config, log: Logger) {
    const { rateLimitPerUser, rateLimitPerIp, redisUrl } = config;
    const isOn = rateLimitPerUser !== undefined || rateLimitPerIp !== undefined;
    this.#redis = isOn && redisUrl !== undefined ? connect(redisUrl, log) : undefined;
    const prefix = redisPrefix(config);
    this.#byUser = counting(`${prefix}api_by_user`, rateLimitPerUser, this.#redis);
    this.#byAddress = counting(`${prefix}api_by_ip`, rateLimitPerIp, this.#redis);
    this.#trustedProxies = config.trustedProxies;
  }

  /**
   * Counts a request of an account: one budget for all its clients, over all doors.
   *
   * @param requests As how many it counts.
   * @returns Undefined when accounts are not limited.
   * @throws RateLimitHitError when so many were not left; it then counts as one.
   */
  async countUser(userId: number, requests = 1): Promise<Budget | undefined> {
    return this.#byUser?.(String(userId), requests);
  }

  /**
   * Counts a request without an account: one that carries no credentials, or none that are good.
   *
   * @param requests As how many it counts.
   * @returns Undefined when addresses are not limited.
   * @throws RateLimitHitError when so many were not left; it then counts as one.
   */
  async countAddress(origin: Origin, requests = 1): Promise<Budget | undefined> {
    return this.#byAddress?.(networkOf(addressOf(origin, this.#trustedProxies)), requests);
  }

  close(): void {
    this.#redis?.disconnect();
  }
}

function connect(url: string, log: Logger): Redis {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: REDIS_PATIENCE_MS,
  });
  redis.on('error', (err: Error) => log.warn({ err }, 'Redis is out of reach; requests are counted on each node'));
  return redis;
}

function counting(keyPrefix: string, points: number | undefined, storeClient: Redis | undefined): Count {
  if (points === undefined) return undefined;
  const options = { keyPrefix, points, duration: WINDOW_SECONDS };
  const memory = new RateLimiterMemory(options);
  const limiter =
    storeClient === undefined
      ? memory
      : new RateLimiterRedis({ ...options, storeClient, rejectIfRedisNotReady: true, insuranceLimiter: memory });
  const take = async (caller: string, requests: number): Promise<RateLimiterRes> => {
    try {
      return await limiter.consume(caller, requests);
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal;
      throw new RateLimitHitError(refusal.msBeforeNext / 1000, budgetOf(points, refusal));
    }
  };
  return async (caller, requests) => {
    const first = await take(caller, 1);
    if (requests === 1) return budgetOf(points, first);
    // Asked before it is taken: what is refused for its size leaves the rest to smaller ones.
    if (first.remainingPoints < requests - 1) throw tooManyAtOnce(requests, points, first);
    return budgetOf(points, await take(caller, requests - 1));
  };
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

export function tooManyAtOnce(requests: number, points: number, left: RateLimiterRes): RateLimitHitError {
  const message = `This counts as ${requests} requests, of which there are ${points} a minute`;
  return new RateLimitHitError(
    left.msBeforeNext / 1000,
    budgetOf(points, left),
    requests > points ? message : undefined,
  );
}
