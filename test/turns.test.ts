import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { LINE_OF_READERS, placesOf, placesOfReaders, Turns } from '../src/platform/db/turns.ts';

/** A change that ends when it is told to. */
function change() {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const it = { isBegun: false, end: resolve, fail: reject };
  const run = () => {
    it.isBegun = true;
    return promise;
  };
  return Object.assign(it, { run });
}

/** `count` changes of an organisation, all asked for at once. */
function changesOf(turns: Turns, realmId: number, count: number) {
  const changes = Array.from({ length: count }, change);
  const ends = changes.map(({ run }) => turns.take(realmId, run));
  for (const end of ends) end.catch(() => {});
  return { changes, ends, begun: () => changes.filter(({ isBegun }) => isBegun).length };
}

const POOL = 10;
const { total, each, spare } = placesOf(POOL);
const held = async () => true;
const lockTimeout = () => Object.assign(new Error('too late'), { code: '55P03' });

test('leaves connections to reading, and places to organisations that have none', async () => {
  expect(total).toBeLessThan(POOL);
  const turns = new Turns(placesOf(POOL), held);
  const first = changesOf(turns, 1, 30);
  expect(first.begun()).toBe(each);
  // However many are stuck, the next organisation gets in, for as long as there is room.
  const others = Array.from({ length: spare }, (_, i) => changesOf(turns, 2 + i, 30));
  for (const other of others) expect(other.begun()).toBeGreaterThanOrEqual(1);
  expect(first.begun() + others.reduce((sum, { begun }) => sum + begun(), 0)).toBeLessThanOrEqual(total);
});

test('serves organisations in turns, and each in the order they came', async () => {
  const turns = new Turns({ total: 1, each: 1, spare: 0 }, held);
  const order: string[] = [];
  const noting = (realmId: number, name: string) =>
    turns.take(realmId, async () => {
      await sleep(1);
      order.push(name);
    });
  await Promise.all([noting(1, 'a1'), noting(1, 'a2'), noting(1, 'a3'), noting(2, 'b1'), noting(2, 'b2')]);
  expect(order).toEqual(['a1', 'a2', 'b1', 'a3', 'b2']);
});

test('refuses at once whoever comes after too many, and sooner where a lock was waited for in vain', async () => {
  const turns = new Turns(placesOf(POOL), held);
  const { changes, ends, begun } = changesOf(turns, 1, each + 250);
  await expect(turns.take(1, async () => 'never')).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT', status: 503 });
  changes[0]?.fail(lockTimeout());
  await expect(ends[0]).rejects.toThrow('too late');
  // The others of the organisation are under way still, and no more go the same way.
  expect(begun()).toBe(each);
  for (const { end } of changes) end();
  await Promise.allSettled(ends);
  expect(begun()).toBe(each + 250);
  expect(await turns.take(1, async () => 'done')).toBe('done');
});

test('lets as many in as ever when it was another lock than what all need', async () => {
  const asked: number[] = [];
  const turns = new Turns(placesOf(POOL), async (realmId) => {
    asked.push(realmId);
    return false;
  });
  const { changes, ends, begun } = changesOf(turns, 7, each + 1);
  changes[0]?.fail(lockTimeout());
  await expect(ends[0]).rejects.toThrow('too late');
  expect(asked).toEqual([7]);
  expect(begun()).toBe(each + 1);
  for (const { end } of changes) end();
  await Promise.allSettled(ends);
});

test('refuses whoever waited for too long', async () => {
  const patienceMs = 300;
  const turns = new Turns({ total: 1, each: 1, spare: 0 }, held, { longest: 250, patienceMs });
  const { changes, ends } = changesOf(turns, 1, 2);
  const startedAt = performance.now();
  await expect(ends[1]).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' });
  expect(performance.now() - startedAt).toBeGreaterThan(patienceMs - 20);
  changes[0]?.end();
  await ends[0];
  expect(changes[1]?.isBegun).toBe(false);
});

test('lets two of an organisation catch up at a time, whoever is far behind, and one of another besides', async () => {
  const turns = new Turns(placesOfReaders(POOL), async () => false, LINE_OF_READERS);
  // More than there may be changes that wait.
  const first = changesOf(turns, 1, 1_000);
  expect(first.begun()).toBe(2);
  const second = changesOf(turns, 2, 10);
  expect(second.begun()).toBe(1);
  const third = changesOf(turns, 3, 1);
  expect(third.begun()).toBe(0);
  // Whoever has a short way to go is next, after one step of somebody else.
  first.changes[0]?.end();
  await first.ends[0];
  expect(third.begun()).toBe(1);
  for (const { end } of [...first.changes, ...second.changes, ...third.changes]) end();
  await Promise.all([...first.ends, ...second.ends, ...third.ends]);
});

test.for([1, 2, 3, 5, 10, 100])('of %i connections, those who catch up leave some where there are some', (poolSize) => {
  const { total, each, spare } = placesOfReaders(poolSize);
  expect(total).toBeGreaterThanOrEqual(1);
  expect(total).toBeLessThan(Math.max(2, poolSize));
  expect(each).toBeGreaterThanOrEqual(1);
  expect(total - spare).toBeGreaterThanOrEqual(1);
});
