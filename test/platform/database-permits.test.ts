import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { CHANGE_QUEUE, fairPermits, permitsOf, READER_QUEUE, readerPermitsOf } from '../../src/platform/db/permits.ts';
import type { FairLimiter } from '../../src/platform/fair-limiter.ts';

/** Returns a database change that runs until the test calls `end` or `fail`. */
function change() {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const it = { isBegun: false, end: resolve, fail: reject };
  const run = () => {
    it.isBegun = true;
    return promise;
  };
  return Object.assign(it, { run });
}

/** Requests permits for `count` changes of an organization at the same time. */
function changesOf(permits: FairLimiter<number>, organizationId: number, count: number) {
  const changes = Array.from({ length: count }, change);
  const ends = changes.map(({ run }) => permits.run(organizationId, run));
  for (const end of ends) end.catch(() => {});
  return { changes, ends, begun: () => changes.filter(({ isBegun }) => isBegun).length };
}

const POOL = 10;
const { total, each, spare } = permitsOf(POOL);
const held = async () => true;
const lockTimeout = () => Object.assign(new Error('too late'), { code: '55P03' });

test('reserves connections for reads, and permits for organizations without any', async () => {
  expect(total).toBeLessThan(POOL);
  const permits = fairPermits(permitsOf(POOL), CHANGE_QUEUE, held);
  const first = changesOf(permits, 1, 30);
  expect(first.begun()).toBe(each);
  // As long as permits are free, each further organization gets one. It does not matter how many changes of other organizations
  // are still running.
  const others = Array.from({ length: spare }, (_, i) => changesOf(permits, 2 + i, 30));
  for (const other of others) expect(other.begun()).toBeGreaterThanOrEqual(1);
  expect(first.begun() + others.reduce((sum, { begun }) => sum + begun(), 0)).toBeLessThanOrEqual(total);
});

test('serves organizations in turn, and the changes of each in order of arrival', async () => {
  const permits = fairPermits({ total: 1, each: 1, spare: 0 }, CHANGE_QUEUE, held);
  const order: string[] = [];
  const noting = (organizationId: number, name: string) =>
    permits.run(organizationId, async () => {
      await sleep(1);
      order.push(name);
    });
  await Promise.all([noting(1, 'a1'), noting(1, 'a2'), noting(1, 'a3'), noting(2, 'b1'), noting(2, 'b2')]);
  expect(order).toEqual(['a1', 'a2', 'b1', 'a3', 'b2']);
});

test('refuses changes immediately if too many wait, and sooner after a lock timeout', async () => {
  const permits = fairPermits(permitsOf(POOL), CHANGE_QUEUE, held);
  const { changes, ends, begun } = changesOf(permits, 1, each + 250);
  await expect(permits.run(1, async () => 'never')).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT', status: 503 });
  changes[0]?.fail(lockTimeout());
  await expect(ends[0]).rejects.toThrow('too late');
  // The other changes of the organization still hold its permits, so no further changes start.
  expect(begun()).toBe(each);
  for (const { end } of changes) end();
  await Promise.allSettled(ends);
  expect(begun()).toBe(each + 250);
  expect(await permits.run(1, async () => 'done')).toBe('done');
});

test('admits as many as before if the lock timeout was not for the lock that all changes need', async () => {
  const asked: number[] = [];
  const permits = fairPermits(permitsOf(POOL), CHANGE_QUEUE, async (organizationId) => {
    asked.push(organizationId);
    return false;
  });
  const { changes, ends, begun } = changesOf(permits, 7, each + 1);
  changes[0]?.fail(lockTimeout());
  await expect(ends[0]).rejects.toThrow('too late');
  expect(asked).toEqual([7]);
  expect(begun()).toBe(each + 1);
  for (const { end } of changes) end();
  await Promise.allSettled(ends);
});

test('refuses a change that has waited too long for a permit', async () => {
  const patienceMs = 300;
  const permits = fairPermits({ total: 1, each: 1, spare: 0 }, { longest: 250, patienceMs }, held);
  const { changes, ends } = changesOf(permits, 1, 2);
  const startedAt = performance.now();
  await expect(ends[1]).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' });
  expect(performance.now() - startedAt).toBeGreaterThan(patienceMs - 20);
  changes[0]?.end();
  await ends[0];
  expect(changes[1]?.isBegun).toBe(false);
});

test('lets two readers of one organization catch up at a time, and one of another besides', async () => {
  const permits = fairPermits(readerPermitsOf(POOL), READER_QUEUE);
  // This organization requests more changes than can wait for a permit.
  const first = changesOf(permits, 1, 1_000);
  expect(first.begun()).toBe(2);
  const second = changesOf(permits, 2, 10);
  expect(second.begun()).toBe(1);
  const third = changesOf(permits, 3, 1);
  expect(third.begun()).toBe(0);
  // After one change of the first organization has ended, the waiting third organization gets the permit.
  first.changes[0]?.end();
  await first.ends[0];
  expect(third.begun()).toBe(1);
  for (const { end } of [...first.changes, ...second.changes, ...third.changes]) end();
  await Promise.all([...first.ends, ...second.ends, ...third.ends]);
});

test.for([1, 2, 3, 5, 10, 100])('of %i connections, readers far behind leave some if possible', (poolSize) => {
  const { total, each, spare } = readerPermitsOf(poolSize);
  expect(total).toBeGreaterThanOrEqual(1);
  expect(total).toBeLessThan(Math.max(2, poolSize));
  expect(each).toBeGreaterThanOrEqual(1);
  expect(total - spare).toBeGreaterThanOrEqual(1);
});
