import { expect, test, vi } from 'vitest';
import { HostLimiter } from '../../src/messages/notifications/host-limiter.ts';

const enterAll = (hosts: HostLimiter, count: number) =>
  Promise.all(Array.from({ length: count }, () => hosts.enter('push.example')));

test('a host that fails gets fewer requests than others, until one succeeds', async () => {
  const hosts = new HostLimiter({ usual: 3, failing: 1 });
  (await hosts.enter('push.example'))?.end(true);
  const [first, ...refused] = await enterAll(hosts, 3);
  expect(refused).toEqual([undefined, undefined]);
  first?.end(false);
  expect((await enterAll(hosts, 3)).every((permit) => permit !== undefined)).toBe(true);
});

test('a host that responds makes further requests wait, and one that does not respond is left out', async () => {
  vi.useFakeTimers();
  try {
    const hosts = new HostLimiter({ usual: 2, failing: 1 });
    const [first] = await enterAll(hosts, 2);
    const waiting = hosts.enter('push.example');
    first?.end(false);
    expect(await waiting).toBeDefined();
    const late = hosts.enter('push.example');
    await vi.advanceTimersByTimeAsync(2_001);
    expect(await late).toBeUndefined();
    expect(await hosts.enter('push.example')).toBeUndefined();
    expect(await hosts.enter('other.example')).toBeDefined();
  } finally {
    vi.useRealTimers();
  }
});
