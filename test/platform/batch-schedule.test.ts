import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { BatchSchedule } from '../../src/platform/batch-schedule.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const PATIENCE_MS = 10;

/** Returns a schedule, its batches as lists of request names, and functions that add a request and end a batch. */
function scheduled(canOverlap?: () => boolean) {
  const batches: string[][] = [];
  const ends: (() => void)[] = [];
  let waiting: string[] = [];
  const start = () => {
    if (waiting.length === 0) return undefined;
    batches.push(waiting);
    waiting = [];
    return new Promise<void>((resolve) => ends.push(resolve));
  };
  const schedule = new BatchSchedule({ start, patienceMs: PATIENCE_MS, ...(canOverlap && { canOverlap }) });
  return {
    schedule,
    batches,
    ask(...names: string[]): void {
      waiting.push(...names);
      schedule.request();
    },
    async end(batch: number): Promise<void> {
      ends[batch]?.();
      await nextTurn();
    },
  };
}

test('starts a batch after all requests have arrived, and the next one when it has ended', async () => {
  const { batches, ask, end } = scheduled();
  ask('a');
  ask('b');
  expect(batches).toEqual([]);
  await nextTurn();
  ask('c');
  await nextTurn();
  ask('d');
  expect(batches).toEqual([['a', 'b']]);
  await end(0);
  expect(batches).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ]);
  // After a batch for which no request waits, the next request starts a batch again.
  await end(1);
  ask('e');
  await nextTurn();
  expect(batches.at(-1)).toEqual(['e']);
});

test('starts the next batch beside a long one, which then delays no further batch', async () => {
  const { batches, ask, end } = scheduled();
  ask('a');
  await nextTurn();
  ask('b');
  vi.advanceTimersByTime(PATIENCE_MS - 1);
  expect(batches).toHaveLength(1);
  vi.advanceTimersByTime(1);
  expect(batches).toEqual([['a'], ['b']]);
  ask('c');
  await end(0);
  expect(batches).toHaveLength(2);
  await end(1);
  expect(batches.at(-1)).toEqual(['c']);
});

test('waits longer while a batch could not begin beside the one in progress', async () => {
  let canOverlap = false;
  const { batches, ask } = scheduled(() => canOverlap);
  ask('a');
  await nextTurn();
  ask('b');
  vi.advanceTimersByTime(PATIENCE_MS * 3);
  expect(batches).toHaveLength(1);
  canOverlap = true;
  vi.advanceTimersByTime(PATIENCE_MS);
  expect(batches).toEqual([['a'], ['b']]);
});

test('starts a large batch immediately, once', async () => {
  const { schedule, batches, ask, end } = scheduled();
  ask('a');
  schedule.startNow();
  expect(batches).toEqual([['a']]);
  ask('b');
  await nextTurn();
  expect(batches).toEqual([['a']]);
  schedule.startNow();
  expect(batches).toEqual([['a'], ['b']]);
  await end(0);
  await end(1);
  expect(batches).toHaveLength(2);
});
