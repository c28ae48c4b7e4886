import { expect, test } from 'vitest';
import { JsonBytes, writeJson } from '../src/platform/json-bytes.ts';
import { LongWork } from '../src/platform/let-others-in.ts';

const busyFor = (ms: number) => {
  for (const until = performance.now() + ms; performance.now() < until; );
};

test('long work lets others in, and many who do some take turns', async () => {
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
  // The event loop turns for each piece, and not once for those of all.
  expect(looks).toBeGreaterThanOrEqual(turns.length);
});

test('what is written piece by piece is the same JSON', async () => {
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
  };
  const bytes = Buffer.from(JSON.stringify(people));
  const { pieces } = await writeJson({
    ...fields,
    kept: new JsonBytes(bytes.subarray(0, 7), bytes.subarray(7)),
    last: 1,
  });
  expect(Buffer.concat(pieces).toString('utf8')).toBe(JSON.stringify({ ...fields, kept: people, last: 1 }));
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(64 * 1024);
  expect(Buffer.concat((await writeJson({})).pieces).toString()).toBe('{}');
});
