import { expect, onTestFinished, test, vi } from 'vitest';
import { FairLimiter, type LimiterOptions } from '../../src/platform/fair-limiter.ts';

const UNLIMITED = { running: Number.POSITIVE_INFINITY, waiting: Number.POSITIVE_INFINITY };

/**
 * Returns a limiter, and functions that request a task and that end a running one. The first letter of a task's name is its
 * key.
 */
function limiterOf(options: Partial<LimiterOptions<string>>) {
  const limiter = new FairLimiter<string>({ limitsOf: () => UNLIMITED, ...options });
  const begun: string[] = [];
  const running = new Map<string, { end: () => void; fail: (error: Error) => void }>();
  return {
    limiter,
    /** Names of the started tasks, in order. */
    begun,
    ask(name: string, client?: { isGone: boolean }): Promise<void> {
      const work = () => {
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        begun.push(name);
        running.set(name, { end: resolve, fail: reject });
        return promise;
      };
      const done = limiter.run(name.charAt(0), work, client);
      done.catch(() => {});
      return done;
    },
    async end(name: string, error?: Error): Promise<void> {
      if (error === undefined) running.get(name)?.end();
      else running.get(name)?.fail(error);
      await new Promise(setImmediate);
    },
  };
}

test('serves the key with the fewest running tasks, and among those the one served least recently', async () => {
  const { ask, begun, end } = limiterOf({ total: 3 });
  for (const name of ['a1', 'a2', 'b1', 'a3', 'b2', 'b3', 'c1', 'd1']) void ask(name);
  await end('a1');
  expect(begun.at(-1)).toBe('c1');
  await end('b1');
  // Keys "b" and "d" have no running task. Key "b" has waited longer.
  expect(begun.at(-1)).toBe('b2');
  await end('a2');
  expect(begun.at(-1)).toBe('a3');
  await end('c1');
  expect(begun.at(-1)).toBe('d1');
  // Each of the three keys with running tasks has one. Of these, key "b" has waited longest since one of its tasks was started.
  void ask('a4');
  await end('d1');
  expect(begun.at(-1)).toBe('b3');
});

test('reserves permits for keys without running tasks', async () => {
  const { ask, begun, end, limiter } = limiterOf({ total: 3, spare: 1 });
  for (const name of ['a1', 'a2', 'a3']) void ask(name);
  expect([begun.length, limiter.isOpen('a'), limiter.isOpen('b')]).toEqual([2, false, true]);
  for (const name of ['b1', 'c1']) void ask(name);
  expect(begun).toEqual(['a1', 'a2', 'b1']);
  await end('b1');
  // The permit is reserved for keys without a running task. So "c" gets it, and not "a".
  expect(begun.at(-1)).toBe('c1');
  await end('c1');
  expect(begun).toHaveLength(4);
});

test('a permit that is not reserved is for all keys', async () => {
  const { ask, begun, end } = limiterOf({ total: 3, spare: 1 });
  for (const name of ['a1', 'b1', 'a2']) void ask(name);
  expect(begun).toEqual(['a1', 'b1']);
  await end('b1');
  expect(begun.at(-1)).toBe('a2');
});

test('starts a waiting task of each key that its own limit allows, whatever other keys are waiting', async () => {
  const limits = { running: 1, waiting: 10 };
  const { ask, begun, end } = limiterOf({ limitsOf: () => limits });
  for (const name of ['a1', 'a2', 'b1', 'b2']) void ask(name);
  expect(begun).toEqual(['a1', 'b1']);
  await end('b1');
  expect(begun).toEqual(['a1', 'b1', 'b2']);
});

test('keeps the order of arrival when the limit of a key rises', async () => {
  const limits = { running: 1, waiting: 10 };
  const { ask, begun, end } = limiterOf({ limitsOf: () => limits });
  for (const name of ['a1', 'a2']) void ask(name);
  limits.running = 2;
  void ask('a3');
  expect(begun).toEqual(['a1']);
  await end('a1');
  expect(begun).toEqual(['a1', 'a2', 'a3']);
});

test('applies the limits after a failed task until another one succeeds, or the key has none', async () => {
  const { ask, begun, end, limiter } = limiterOf({
    limitsOf: () => ({ running: 2, waiting: 10 }),
    limitsAfter: async (_, { message }: Error) => (message === 'stuck' ? { running: 1, waiting: 1 } : undefined),
  });
  for (const name of ['a1', 'a2', 'a3', 'a4', 'b1']) void ask(name);
  await end('a1', new Error('stuck'));
  await expect(ask('a5')).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' });
  expect(begun).toEqual(['a1', 'a2', 'b1']);
  // Another failure leaves the limits as they are.
  await end('a2', new Error('other'));
  expect([begun.at(-1), limiter.isOpen('a')]).toEqual(['a3', false]);
  await end('a3');
  expect([begun.at(-1), limiter.isOpen('a')]).toEqual(['a4', true]);
  await end('a4', new Error('stuck'));
  void ask('a6');
  void ask('a7');
  expect(begun.slice(-2)).toEqual(['a6', 'a7']);
});

test('bounds the waiting tasks in total, but not those of keys with unlimited ones', async () => {
  const { ask, limiter } = limiterOf({
    ...{ total: 1, waiting: 2 },
    limitsOf: (key) => (key === 'o' ? UNLIMITED : { running: 1, waiting: 2 }),
  });
  for (const name of ['o1', 'o2', 'o3', 'o4', 'a1']) void ask(name);
  const dropped = ask('a2');
  void ask('b1');
  // If too many tasks wait, the newest task of the longest bounded queue is dropped.
  await expect(dropped).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' });
  await expect(ask('c1')).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' });
  expect([limiter.waiting, limiter.waitingBefore('c'), limiter.waitingBefore('o')]).toEqual([5, 3, 5]);
  void ask('o5');
  expect(limiter.waiting).toBe(6);
});

test('forgets keys whose tasks have ended, were refused, abandoned, or waited too long', async () => {
  const client = { isGone: false };
  const { ask, end, limiter } = limiterOf({
    ...{ total: 1, waiting: 1, maxWaitMs: 20 },
    limitsOf: () => ({ running: 1, waiting: 1 }),
  });
  void ask('a1');
  const abandoned = ask('b1', client);
  await expect(ask('c1')).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' });
  client.isGone = true;
  const late = ask('b2');
  await expect(abandoned).rejects.toThrow('The client disconnected');
  await expect(late).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' });
  await expect(ask('d1', client)).rejects.toThrow('The client disconnected');
  await end('a1');
  expect(['a', 'b', 'c', 'd'].filter((key) => !limiter.isFree(key))).toEqual([]);
  expect([limiter.running, limiter.waiting]).toEqual([0, 0]);
});

test('refuses a task that has waited too long, but none that was started', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { ask, begun, end, limiter } = limiterOf({ total: 1, maxWaitMs: 100 });
  void ask('a1');
  void ask('b1');
  vi.advanceTimersByTime(60);
  await end('a1');
  const late = ask('b2');
  vi.advanceTimersByTime(60);
  expect([begun, limiter.waiting]).toEqual([['a1', 'b1'], 1]);
  vi.advanceTimersByTime(60);
  await expect(late).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' });
});
