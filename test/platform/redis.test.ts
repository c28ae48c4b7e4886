import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBus } from '../../src/events/bus.ts';
import { type Config, readConfig } from '../../src/platform/config.ts';
import { RateLimits } from '../../src/platform/rate-limits.ts';
import { redisPrefix } from '../../src/platform/redis-names.ts';

// Tests a Redis server that other applications use too, and that contains arbitrary data.

const { REDIS_URL } = process.env;
const log = { warn() {} } as never;
const WRONG_TYPES: readonly ((redis: Redis, key: string) => Promise<unknown>)[] = [
  (redis, key) => redis.rpush(key, 'a list'),
  (redis, key) => redis.hset(key, 'a', 'hash'),
  (redis, key) => redis.sadd(key, 'a set'),
  (redis, key) => redis.set(key, 'no number'),
  (redis, key) => redis.set(key, '9223372036854775807'),
];

test('key names start with a prefix that the nodes of one installation share, without parts of its secret', () => {
  const of = (env: Record<string, string>) => redisPrefix(readConfig(env));
  const [SECRET_KEY, other] = ['s'.repeat(32), 't'.repeat(32)];
  expect(of({ SECRET_KEY, DATA_DIR: '/a' })).toBe(of({ SECRET_KEY, DATA_DIR: '/b' }));
  expect(of({ SECRET_KEY })).not.toBe(of({ SECRET_KEY: other }));
  expect(of({ DATA_DIR: '/a' })).not.toBe(of({ DATA_DIR: '/b' }));
  expect(of({ SECRET_KEY })).toMatch(/^team-chat:[\w-]{12}:$/);
});

describe.skipIf(REDIS_URL === undefined)('on a shared Redis server', () => {
  const configOf = (more: Record<string, string> = {}): Config => {
    const SECRET_KEY = randomBytes(24).toString('base64');
    return readConfig({ REDIS_URL: REDIS_URL ?? '', SECRET_KEY, RATE_LIMIT_PER_USER: '3', ...more });
  };
  let redis: Redis;
  beforeAll(() => {
    redis = new Redis(REDIS_URL ?? '');
  });
  afterAll(() => redis.disconnect());

  async function limitsOf(config: Config): Promise<RateLimits> {
    const limits = new RateLimits(config, log);
    // If the node creates this key, the node is connected to Redis and counts requests there.
    await expect
      .poll(async () => {
        await limits.countUser(999);
        return redis.exists(`${redisPrefix(config)}api_by_user:999`);
      })
      .toBe(1);
    return limits;
  }

  test('requests are counted, each key expires with its window, and other keys are not changed', async () => {
    const config = configOf({ RATE_LIMIT_PER_USER: '1000' });
    const limits = await limitsOf(config);
    const strangers = [
      'api_by_user:1',
      'api_by_ip:1',
      'team-chat:api_by_user:1',
      `x${redisPrefix(config)}api_by_user:1`,
    ];
    for (const key of strangers) await redis.set(key, '1000000', 'EX', 60);
    for (let id = 1; id <= 50; id++) expect((await limits.countUser(id))?.remaining).toBe(999);
    const keys = await redis.keys(`${redisPrefix(config)}*`);
    expect(keys).toHaveLength(51);
    for (const key of keys) expect(await redis.pttl(key)).toBeGreaterThan(0);
    for (const key of strangers) expect(await redis.get(key)).toBe('1000000');
    await redis.del(...keys, ...strangers);
    limits.close();
  });

  test('two installations do not share rate limits', async () => {
    const [one, other] = await Promise.all([
      limitsOf(configOf({ RATE_LIMIT_PER_USER: '500' })),
      limitsOf(configOf({ RATE_LIMIT_PER_USER: '500' })),
    ]);
    expect([(await one.countUser(7))?.remaining, (await other.countUser(7))?.remaining]).toEqual([499, 499]);
    one.close();
    other.close();
  });

  test('if a key of the service holds another type, the node counts locally, without failing or admitting more', async () => {
    const config = configOf({ RATE_LIMIT_PER_USER: '50' });
    const limits = await limitsOf(config);
    for (const [i, put] of WRONG_TYPES.entries()) {
      const key = `${redisPrefix(config)}api_by_user:${i}`;
      await put(redis, key);
      await redis.expire(key, 60);
      expect((await limits.countUser(i))?.remaining, String(put)).toBe(49);
      expect((await limits.countUser(i))?.remaining, String(put)).toBe(48);
    }
    // A counter without an expiry time gets one.
    const key = `${redisPrefix(config)}api_by_user:77`;
    await redis.set(key, '100');
    await expect(limits.countUser(77)).rejects.toMatchObject({ code: 'RATE_LIMIT_HIT' });
    expect(await redis.pttl(key)).toBeGreaterThan(0);
    await redis.del(key);
    limits.close();
  });

  test('notifications pass between nodes of one installation, whatever other messages the channels carry', async () => {
    const config = configOf();
    const [one, two, stranger] = [openBus(config, log), openBus(config, log), openBus(configOf(), log)];
    const heard: unknown[] = [];
    two.onHint((organizationId) => heard.push(organizationId));
    await expect
      .poll(() => {
        one.publish(1);
        return heard.length;
      })
      .toBeGreaterThan(0);
    stranger.publish(666);
    const junk = [
      '',
      'null',
      '[]',
      '7',
      '{"realms":7}',
      '{"realms":{"length":9}}',
      '{"node":[],"realms":[null,{},"x",1e400]}',
      '\0',
      '{'.repeat(9999),
    ];
    for (const channel of ['event_log', `${redisPrefix(config)}event_log`]) {
      for (const text of junk) await redis.publish(channel, text);
    }
    await redis.publish('event_log', '{"node":"x","realms":[666]}');
    one.publish(2);
    await expect.poll(() => heard.includes(2)).toBe(true);
    expect(heard.filter((organizationId) => organizationId !== 1 && organizationId !== 2)).toEqual([]);
    await Promise.all([one, two, stranger].map((bus) => bus.close()));
  });

  test('a paused server is soon bypassed, still probed, and used again when it resumes', async () => {
    await using paused = await pausable(REDIS_URL ?? '');
    const said: string[] = [];
    const listening = { warn: (...parts: unknown[]) => said.push(String(parts.at(-1))) } as never;
    const config = configOf({ RATE_LIMIT_PER_USER: '50', REDIS_URL: paused.url });
    const limits = new RateLimits(config, listening);
    const bus = openBus(config, listening);
    const key = `${redisPrefix(config)}api_by_user:5`;
    await expect.poll(async () => [await limits.countUser(5), await redis.exists(key)][1]).toBe(1);
    paused.pause();
    // Only a limited number of requests wait for the paused server. After that, the node counts locally.
    for (let i = 0; i < 20; i++) expect(await limits.countUser(6)).toMatchObject({ remaining: 49 - i });
    expect(paused.asked('api_by_user:6')).toBeLessThanOrEqual(3);
    expect(said.filter((text) => text.includes('falling back to local limits'))).toHaveLength(1);
    // Notifications for the paused server are discarded, not buffered.
    await expect
      .poll(
        () => {
          bus.publish(1);
          return said.filter((text) => text.includes('once a second')).length;
        },
        { timeout: 10_000 },
      )
      .toBe(1);
    const hints = paused.asked('event_log');
    for (let i = 0; i < 10; i++) {
      bus.publish(1);
      await new Promise((resolve) => setTimeout(resolve, 15));
    }
    expect(paused.asked('event_log')).toBe(hints);
    paused.goOn();
    await expect
      .poll(async () => [await limits.countUser(7), await redis.exists(key.replace(/5$/, '7'))][1], { timeout: 10_000 })
      .toBe(1);
    await expect
      .poll(() => said.filter((text) => text === 'redis available again'), { timeout: 10_000 })
      .toHaveLength(2);
    limits.close();
    await bus.close();
  });
});

/**
 * Starts a proxy for Redis that can pause. While it pauses, it accepts data but sends no replies, as a stopped process does.
 */
async function pausable(redisUrl: string) {
  const target = new URL(redisUrl);
  const { hostname, port } = target;
  let isPaused = false;
  const held: (() => void)[] = [];
  const texts: string[] = [];
  const server = createServer((client) => {
    const upstream = connect(Number(port || 6379), hostname);
    const pass = (work: () => void) => (isPaused ? held.push(work) : work());
    for (const socket of [client, upstream]) {
      socket.on('error', () => {});
      socket.on('close', () => [client, upstream].forEach((one) => void one.destroy()));
    }
    client.on('data', (bytes) => {
      if (isPaused) texts.push(String(bytes));
      pass(() => upstream.write(bytes));
    });
    upstream.on('data', (bytes) => pass(() => client.write(bytes)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  target.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: target.href,
    pause() {
      isPaused = true;
    },
    goOn() {
      isPaused = false;
      for (const work of held.splice(0)) work();
    },
    /** Returns how often clients sent the text `what` while the proxy was paused. */
    asked: (what: string) => texts.join('').split(what).length - 1,
    async [Symbol.asyncDispose]() {
      server.close();
    },
  };
}
