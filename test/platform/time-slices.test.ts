import { expect, test, vi } from 'vitest';
import { isLong, JsonBytes, writeJson } from '../../src/platform/json-bytes.ts';
import { inTimeSlices, LongWork } from '../../src/platform/time-slices.ts';

const busyFor = (ms: number) => {
  for (const until = performance.now() + ms; performance.now() < until; );
};

test('long tasks yield to the event loop, and concurrent ones alternate', async () => {
  const turns: number[] = [];
  let looks = 0;
  let isOver = false;
  const look = () => {
    looks++;
    if (!isOver) setImmediate(look);
  };
  look();
  const worker = async (name: number) => {
    const work = new LongWork();
    for (let i = 0; i < 3; i++) {
      busyFor(5);
      turns.push(name);
      await work.pause();
    }
  };
  await Promise.all([worker(1), worker(2), worker(3)]);
  isOver = true;
  expect(turns).toEqual([1, 2, 3, 1, 2, 3, 1, 2, 3]);
  // The event loop runs after each time slice of each task, not only after all tasks have had one.
  expect(looks).toBeGreaterThanOrEqual(turns.length);
});

test('sliced work and long tasks take turns in the same iterations of the event loop', async () => {
  const order: string[] = [];
  let isOver = false;
  inTimeSlices({
    priority: 0,
    isBehind: false,
    step: () => {
      busyFor(1);
      order.push('step');
      return !isOver;
    },
  });
  const work = new LongWork();
  for (let i = 0; i < 5; i++) {
    busyFor(2);
    order.push('task');
    await work.pause();
  }
  isOver = true;
  const [first, ...turns] = order.join(' ').split('task');
  expect(first).toBe('');
  expect(turns).toHaveLength(5);
  // In each iteration of the event loop, one part of the task runs, and one slice of steps.
  for (const turn of turns) expect(turn.trim().split(' ')).toEqual(expect.arrayContaining(['step']));
});

test.for([
  ['by fields and items', undefined],
  ['also by long texts anywhere', isLong],
] as const)('JSON serialized in time slices is the same: %s', async ([, isSplit]) => {
  const people = Array.from({ length: 5_000 }, (_, i) => ({ id: i, name: `Zoë ${i}`, gone: undefined }));
  const fields = {
    none: undefined,
    text: 'a "word" – 你好',
    number: 1.5,
    nothing: null,
    date: new Date(0),
    empty: [],
    blank: {},
    mixed: [undefined, null, [1, [2]], 'x'],
    people,
    byId: Object.fromEntries(people.map((one) => [one.id, one])),
    holey: { a: undefined, b: { c: undefined, d: [] } },
    long: 'é'.repeat(200_000),
    pairs: `x${'😀'.repeat(70_000)}"\n\ud83d`,
    list: [
      'é'.repeat(300_000),
      undefined,
      null,
      { a: undefined, deep: [[{ text: '"'.repeat(300_000), b: undefined }]] },
    ],
    bare: Object.assign(Object.create(null), { text: 'y'.repeat(300_000) }),
  };
  const bytes = Buffer.from(JSON.stringify(people));
  const whole = JSON.stringify({ ...fields, kept: people, last: 1 });
  const kept = new JsonBytes(bytes.subarray(0, 7), bytes.subarray(7));
  const stringify = vi.spyOn(JSON, 'stringify');
  const { pieces } = await writeJson({ ...fields, kept, last: 1 }, isSplit);
  const longest = Math.max(...stringify.mock.results.map(({ value }) => value?.length ?? 0));
  stringify.mockRestore();
  // The limit is 256 Ki characters, and each character can take two bytes.
  if (isSplit !== undefined) expect(longest).toBeLessThanOrEqual(512 * 1024);
  expect(Buffer.concat(pieces).toString('utf8')).toBe(whole);
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(64 * 1024);
  expect(Buffer.concat((await writeJson({})).pieces).toString()).toBe('{}');
});
