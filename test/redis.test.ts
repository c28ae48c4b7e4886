import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBus } from '../src/events/bus.ts';
import { type Config, readConfig } from '../src/platform/config.ts';
import { RateLimits } from '../src/platform/rate-limits.ts';
import { redisPrefix } from '../src/platform/redis-names.ts';

// A Redis that others use as well, and fill with what they like.

const { REDIS_URL } = process.env;
const log = { warn() {} } as never;
const WRONG_TYPES: readonly ((redis: Redis, key: string) => Promise<unknown>)[] = [
  (redis, key) => redis.rpush(key, 'a list'),
  (redis, key) => redis.hset(key, 'a', 'hash'),
  (redis, key) => redis.sadd(key, 'a set'),
  (redis, key) => redis.set(key, 'no number'),
  (redis, key) => redis.set(key, '9223372036854775807'),
];

test('names begin with what the nodes of one installation share, and with nothing of its secret', () => {
  const of = (env: Record<string, string>) => redisPrefix(readConfig(env));
  const [SECRET_KEY, other] = ['s'.repeat(32), 't'.repeat(32)];
  expect(of({ SECRET_KEY, DATA_DIR: '/a' })).toBe(of({ SECRET_KEY, DATA_DIR: '/b' }));
  expect(of({ SECRET_KEY })).not.toBe(of({ SECRET_KEY: other }));
  expect(of({ DATA_DIR: '/a' })).not.toBe(of({ DATA_DIR: '/b' }));
  expect(of({ SECRET_KEY })).toMatch(/^team-chat:[\w-]{12}:$/);
});

describe.skipIf(REDIS_URL === undefined)('on a Redis that others use', () => {
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
    // Once it is connected, the count is on Redis: one that has begun there shows by its key.
    await expect
      .poll(async () => {
        await limits.countUser(999);
        return redis.exists(`${redisPrefix(config)}api_by_user:999`);
      })
      .toBe(1);
    return limits;
  }

  test('requests are counted, each key is gone with its window, and no other key is touched', async () => {
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

  test('two installations do not count on each other', async () => {
    const [one, other] = await Promise.all([
      limitsOf(configOf({ RATE_LIMIT_PER_USER: '500' })),
      limitsOf(configOf({ RATE_LIMIT_PER_USER: '500' })),
    ]);
    expect([(await one.countUser(7))?.remaining, (await other.countUser(7))?.remaining]).toEqual([499, 499]);
    one.close();
    other.close();
  });

  test('something else under our own key neither crashes nor opens the door: the node counts by itself', async () => {
    const config = configOf({ RATE_LIMIT_PER_USER: '50' });
    const limits = await limitsOf(config);
    for (const [i, put] of WRONG_TYPES.entries()) {
      const key = `${redisPrefix(config)}api_by_user:${i}`;
      await put(redis, key);
      await redis.expire(key, 60);
      expect((await limits.countUser(i))?.remaining, String(put)).toBe(49);
      expect((await limits.countUser(i))?.remaining, String(put)).toBe(48);
    }
    // A count that would never end gets an end.
    const key = `${redisPrefix(config)}api_by_user:77`;
    await redis.set(key, '100');
    await expect(limits.countUser(77)).rejects.toMatchObject({ code: 'RATE_LIMIT_HIT' });
    expect(await redis.pttl(key)).toBeGreaterThan(0);
    await redis.del(key);
    limits.close();
  });

  test('wake-ups pass between nodes of one installation, whatever others say on the channels', async () => {
    const config = configOf();
    const [one, two, stranger] = [openBus(config, log), openBus(config, log), openBus(configOf(), log)];
    const heard: unknown[] = [];
    two.onHint((realmId) => heard.push(realmId));
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
    expect(heard.filter((realmId) => realmId !== 1 && realmId !== 2)).toEqual([]);
    await Promise.all([one, two, stranger].map((bus) => bus.close()));
  });
});
