import type { IncomingMessage } from 'node:http';
import { isIPv4, isIPv6 } from 'node:net';
import type { Logger } from 'pino';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';

import type { Budget } from './budget.ts';
import type { Config } from './config.ts';
import { RateLimitHitError } from './errors.ts';
import { REDIS_PATIENCE_MS, RedisBreaker } from './redis-breaker.ts';
import { RedisConnection } from './redis-connection.ts';
import { redisPrefix } from './redis-names.ts';

const WINDOW_SECONDS = 60;
/**
 * Ratio of the limit on file requests of an IP address to its limit on other requests. It is high, because the chat loads some
 * dozens of files per user, and many users can share an address.
 */
const FILES_PER_REQUEST = 20;

/** The parts of a request from which the client's IP address is determined. */
export type Origin = Pick<IncomingMessage, 'headers' | 'socket'>;

/**
 * Functions that count the requests of one kind of caller, such as accounts. Both functions reject with RateLimitHitError if
 * the caller has too few requests left.
 */
interface Count {
  /** Counts one request of a caller. */
  readonly one: (caller: string) => Promise<Budget>;
  /** Counts `requests` more requests of a caller, for an expensive request that was already counted as one. */
  readonly more: (caller: string, requests: number, left: Budget) => Promise<Budget>;
}

/**
 * Rate limits of accounts and organizations, and of IP addresses for requests without an account. Requests are counted in Redis
 * for all nodes. Without Redis, or while it does not respond, each node counts them in memory.
 *
 * A window begins with the caller's first request and lasts one minute. After that, the budget is full again. Refused requests
 * do not reduce the budget of the next window.
 */
export class RateLimits {
  readonly #byUser: Count | undefined;
  readonly #byOrganization: Consume;
  readonly #byAddress: Count | undefined;
  readonly #filesByAddress: Count | undefined;
  readonly #trustedProxies: number;
  readonly #store: Store | undefined;
  readonly #prefix: string;

  constructor(config: Config, log: Logger) {
    const { rateLimitPerUser, rateLimitPerIp, redisUrl } = config;
    this.#store = redisUrl === undefined ? undefined : connect(redisUrl, log);
    const prefix = redisPrefix(config);
    this.#prefix = prefix;
    this.#byUser = counting(`${prefix}api_by_user`, rateLimitPerUser, this.#store);
    // Each organization has a limit of its own, so the counter has none.
    const unlimited = { points: Number.MAX_SAFE_INTEGER, duration: WINDOW_SECONDS };
    this.#byOrganization = consuming({ ...unlimited, keyPrefix: `${prefix}api_by_organization` }, this.#store);
    this.#byAddress = counting(`${prefix}api_by_ip`, rateLimitPerIp, this.#store);
    const filesPerIp = rateLimitPerIp === undefined ? undefined : FILES_PER_REQUEST * rateLimitPerIp;
    this.#filesByAddress = counting(`${prefix}files_by_ip`, filesPerIp, this.#store);
    this.#trustedProxies = config.trustedProxies;
  }

  /**
   * Counts a request of an account: one budget for all its clients, over REST and GraphQL.
   *
   * @returns Undefined if accounts are not limited.
   * @throws RateLimitHitError if the budget is used up.
   */
  async countUser(userId: number): Promise<Budget | undefined> {
    return this.#byUser?.one(String(userId));
  }

  /**
   * Counts requests of an account towards the limit of its organization.
   *
   * @param limit Maximum number of requests of the organization per minute.
   * @throws RateLimitHitError if the budget of the organization is used up.
   */
  async countOrganization(organizationId: number, limit: number, requests = 1): Promise<Budget> {
    const used = await this.#byOrganization(String(organizationId), requests);
    const budget = {
      limit,
      remaining: Math.max(0, limit - used.consumedPoints),
      resetAt: new Date(Date.now() + used.msBeforeNext),
    };
    if (used.consumedPoints <= limit) return budget;
    throw new RateLimitHitError(
      used.msBeforeNext / 1000,
      budget,
      `The organization exceeded its limit of ${limit} requests per minute`,
    );
  }

  /**
   * Counts a request without an account (without credentials, or with invalid credentials) for the client's IP address.
   *
   * @returns Undefined if addresses are not limited.
   * @throws RateLimitHitError if the budget is used up.
   */
  async countAddress(origin: Origin): Promise<Budget | undefined> {
    return this.#byAddress?.one(this.#networkOf(origin));
  }

  /**
   * Counts a request for a file whose content does not depend on the user, such as a script, an icon or an image.
   *
   * @returns Undefined if addresses are not limited.
   * @throws RateLimitHitError if the budget is used up.
   */
  async countFile(origin: Origin): Promise<Budget | undefined> {
    return this.#filesByAddress?.one(this.#networkOf(origin));
  }

  /**
   * Counts `requests` additional requests for a request that was counted as one before its cost could be computed.
   *
   * @param userId Account of the request. Undefined: the requests are counted for the client's IP address.
   * @param left Remaining budget when the request was counted.
   * @throws RateLimitHitError if fewer than `requests` are left. The request then stays counted as one.
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

  /**
   * Returns a counter of failures, which all nodes with the same Redis share. @param name Prefix of the counter's keys in
   * Redis.
   */
  failureCounter(name: string, limit: FailureLimit): FailureCounter {
    return new FailureCounter({ ...limit, keyPrefix: `${this.#prefix}${name}` }, this.#store);
  }

  #networkOf(origin: Origin): string {
    return networkOf(addressOf(origin, this.#trustedProxies));
  }

  close(): void {
    this.#store?.breaker.close();
    this.#store?.connection.close();
  }
}

/**
 * Maximum number (`points`) of failures in a period, for example of failed attempts to sign in. After that many, `waitMs`
 * returns the rest of the period.
 */
export interface FailureLimit {
  readonly points: number;
  /** Length of the period in seconds. It begins with the first failure. */
  readonly duration: number;
}

/**
 * A counter of failures by key. Failures are counted in Redis for all nodes. Each node also counts its own failures in memory,
 * and uses this count without Redis or while Redis does not respond.
 */
export class FailureCounter {
  readonly #points: number;
  readonly #here: RateLimiterMemory;
  readonly #shared: RateLimiterRedis | undefined;
  readonly #store: Store | undefined;

  constructor(options: FailureLimit & { readonly keyPrefix: string }, store: Store | undefined) {
    this.#points = options.points;
    this.#here = new RateLimiterMemory(options);
    this.#store = store;
    const redis = { storeClient: store?.connection.redis, rejectIfRedisNotReady: true };
    this.#shared = store && new RateLimiterRedis({ ...options, ...redis });
  }

  /** Returns the milliseconds until another attempt is allowed; 0 if it is allowed now. */
  async waitMs(key: string): Promise<number> {
    const used = await this.#ask((counter) => counter.get(key));
    return used !== null && used.consumedPoints >= this.#points ? used.msBeforeNext : 0;
  }

  async add(key: string): Promise<void> {
    // Failures are also counted in memory, because Redis can become unavailable before the next attempt.
    await this.#here.penalty(key);
    if (this.#shared !== undefined) await this.#ask(async (counter) => counter !== this.#here && counter.penalty(key));
  }

  /**
   * Counts an attempt in one step, so that concurrent attempts cannot exceed the limit. Refused attempts do not lengthen the
   * period.
   *
   * @returns The milliseconds until another attempt is allowed, if this attempt exceeds the limit; otherwise 0.
   */
  async take(key: string): Promise<number> {
    const here = await this.#here.penalty(key);
    const used = await this.#ask((counter) => (counter === this.#here ? here : counter.penalty(key)));
    return used.consumedPoints > this.#points ? Math.max(1, used.msBeforeNext) : 0;
  }

  async clear(key: string): Promise<void> {
    await this.#here.delete(key);
    if (this.#shared !== undefined) await this.#ask(async (counter) => counter !== this.#here && counter.delete(key));
  }

  async #ask<T>(question: (counter: RateLimiterMemory | RateLimiterRedis) => Promise<T> | T): Promise<T> {
    const [shared, store] = [this.#shared, this.#store];
    if (shared === undefined || store === undefined) return question(this.#here);
    try {
      return await store.breaker.ask(async () => question(shared));
    } catch {
      // Redis is unavailable, which is already logged.
      return question(this.#here);
    }
  }
}

/** Connection to the Redis server in which all nodes share counters. */
interface Store {
  readonly connection: RedisConnection;
  readonly breaker: RedisBreaker;
}

function connect(url: string, log: Logger): Store {
  const connection = new RedisConnection(
    url,
    { enableOfflineQueue: false, maxRetriesPerRequest: 0, commandTimeout: REDIS_PATIENCE_MS },
    (err) => log.warn({ err }, 'redis unavailable, falling back to local limits'),
  );
  return {
    connection,
    breaker: new RedisBreaker(connection.redis, { log, without: 'falling back to local limits' }),
  };
}

function counting(keyPrefix: string, points: number | undefined, store: Store | undefined): Count | undefined {
  if (points === undefined) return undefined;
  const options = { keyPrefix, points, duration: WINDOW_SECONDS };
  const consume = consuming(options, store);
  const take = async (caller: string, requests = 1): Promise<Budget> => {
    try {
      return budgetOf(points, await consume(caller, requests));
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal;
      throw new RateLimitHitError(refusal.msBeforeNext / 1000, budgetOf(points, refusal));
    }
  };
  return {
    one: take,
    more: async (caller, requests, left) => {
      // Checks before counting, so that a refused expensive request does not use up the budget for cheaper requests.
      if (left.remaining < requests) throw tooManyAtOnce(requests + 1, left);
      return take(caller, requests);
    },
  };
}

type Consume = (caller: string, requests: number) => Promise<RateLimiterRes>;

/** Returns a function that counts requests of a caller in Redis, or in memory while Redis is unavailable. */
function consuming(
  options: { keyPrefix: string; points: number; duration: number },
  store: Store | undefined,
): Consume {
  const memory = new RateLimiterMemory(options);
  const here: Consume = memory.consume.bind(memory);
  if (store === undefined) return here;
  const { connection, breaker } = store;
  const shared = new RateLimiterRedis({ ...options, storeClient: connection.redis, rejectIfRedisNotReady: true });
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
  const message = `The request counts as ${requests} requests, and the limit is ${limit} per minute`;
  const seconds = Math.max(0, resetAt.getTime() - Date.now()) / 1000;
  return new RateLimitHitError(seconds, left, requests > limit ? message : undefined);
}

export function budgetOf(limit: number, { remainingPoints, msBeforeNext }: RateLimiterRes): Budget {
  return { limit, remaining: remainingPoints, resetAt: new Date(Date.now() + msBeforeNext) };
}

/**
 * Returns the IP address of a client. In X-Forwarded-For, only the entries that the operator's proxies append are trusted. Each
 * proxy appends the IP address from which it received the request; the client can forge all entries before those of the
 * proxies.
 *
 * @param trustedProxies Number of the operator's proxies that every request passes.
 */
export function addressOf({ headers, socket }: Origin, trustedProxies: number): string {
  const { remoteAddress = '' } = socket;
  const direct = plainAddress(remoteAddress) ?? remoteAddress;
  if (trustedProxies === 0) return direct;
  const header = headers['x-forwarded-for'];
  const forwarded = (Array.isArray(header) ? header.join(',') : (header ?? '')).split(',').map((part) => part.trim());
  return plainAddress(forwarded.at(-trustedProxies) ?? '') ?? direct;
}

/** Matches an IP address as some proxies write it: with a port, in brackets or in quotes. */
const WRITTEN = /^"?(?:(?<v4>[\d.]+)(?::\d{1,5})?|\[(?<bracketed>[^\]]+)\](?::\d{1,5})?|(?<v6>[^\][]+))"?$/;

/**
 * Parses an IP address as proxies write it.
 *
 * @returns The IP address without port, brackets and quotes. IPv4 addresses mapped into IPv6 are returned as IPv4. Undefined if
 *   the text is not an IP address.
 */
function plainAddress(text: string): string | undefined {
  const { v4, bracketed, v6 } = WRITTEN.exec(text)?.groups ?? {};
  if (v4 !== undefined) return isIPv4(v4) ? v4 : undefined;
  const address = bracketed ?? v6 ?? '';
  return isIPv6(address) ? (mappedIPv4(address) ?? address) : undefined;
}

/** Returns the eight groups of an IPv6 address as numbers. */
function groupsOf(address: string): number[] {
  // URLs contain the compressed form, without dotted decimals.
  const { hostname } = new URL(`http://[${address.split('%')[0]}]`);
  const [head = '', tail] = hostname.slice(1, -1).split('::');
  const numbers = (text = '') => (text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16)));
  const [before, after] = [numbers(head), numbers(tail)];
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}

/**
 * Returns the IPv4 address that an IPv6 address in ::ffff:0:0/96 contains, in any notation. Undefined for other
 * addresses.
 */
function mappedIPv4(address: string): string | undefined {
  const groups = groupsOf(address);
  const [high = 0, low = 0] = groups.slice(6);
  if (groups.slice(0, 6).join() !== '0,0,0,0,0,65535') return undefined;
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');
}

/** Returns the network that counts as one address: for IPv6 the /64 of a single customer, for IPv4 the address itself. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const first = groupsOf(address).slice(0, 4);
  return mappedIPv4(address) ?? `${first.map((group) => group.toString(16)).join(':')}::/64`;
}
