import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { AccountLimiter } from '../../src/platform/account-limiter.ts';

let shares: AccountLimiter;
beforeEach(() => {
  shares = new AccountLimiter();
});
afterEach(() => shares.close());

/** Blocks the event loop of this process for some milliseconds. */
function block(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

/**
 * Returns a function that requests work for an account, the order in which work started, and the highest concurrency per
 * account.
 */
function worker() {
  const [begun, ends, running] = [[] as string[], [] as (() => void)[], { now: 0, most: 0 }];
  const ask = (userId: number, name: string) =>
    shares.run(userId, async () => {
      begun.push(name);
      running.most = Math.max(running.most, ++running.now);
      await new Promise<void>((resolve) => ends.push(resolve));
      running.now--;
    });
  return { ask, begun, ends, running };
}

test('runs a limited number of requests of an account at a time, the others in order of arrival', async () => {
  const { ask, begun, ends, running } = worker();
  const all = Array.from({ length: 20 }, (_, i) => ask(1, String(i)));
  expect(begun).toHaveLength(8);
  while (ends.length > 0 || begun.length < 20) {
    ends.shift()?.();
    await sleep(0);
  }
  await Promise.all(all);
  expect(begun).toEqual(Array.from({ length: 20 }, (_, i) => String(i)));
  expect(running.most).toBe(8);
});

test('runs one request of each account at a time while the event loop is delayed', async () => {
  const { ask, begun, ends } = worker();
  block(100);
  const all = [ask(1, 'first'), ask(1, 'second'), ask(2, "a neighbour's"), ask(1, 'third')];
  expect(begun).toEqual(['first', "a neighbour's"]);
  while (begun.length < 4 || ends.length > 0) {
    ends.shift()?.();
    await sleep(0);
  }
  await Promise.all(all);
});

test('a failed request releases its permit', async () => {
  const failing = Array.from({ length: 30 }, () => shares.run(1, () => Promise.reject(new Error('no'))));
  const outcomes = await Promise.allSettled([...failing, shares.run(1, async () => 'yes')]);
  expect(outcomes.at(-1)).toEqual({ status: 'fulfilled', value: 'yes' });
});

test('a request that waits outside delays no request of its account, and counts again afterwards', async () => {
  const { ask, begun, ends } = worker();
  const { promise: isReceived, resolve: received } = Promise.withResolvers<void>();
  block(100);
  const upload = shares.run(1, async () => {
    begun.push('upload');
    await shares.outside(() => shares.outside(() => isReceived));
    begun.push('stored');
    await ask(2, 'inner');
  });
  const message = ask(1, 'message');
  await sleep(0);
  expect(begun).toEqual(['upload', 'message']);
  received();
  await sleep(0);
  expect(begun).toEqual(['upload', 'message', 'stored', 'inner']);
  block(100);
  const waiting = ask(1, 'later');
  ends.shift()?.();
  await message;
  block(50);
  await sleep(0);
  // The upload is still running.
  expect(begun).not.toContain('later');
  for (ends.shift()?.(); !begun.includes('later'); ) await sleep(1);
  ends.shift()?.();
  await Promise.all([upload, waiting]);
  expect(shares.isFree(1)).toBe(true);
});
