import { Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { batchWrites, whenWritten } from '../../src/platform/batched-writes.ts';

// Tests that one event is written to very many connections. Each write takes long, as on a busy system.

const WRITE_MS = 0.2;
/** Number of connections. It exceeds the number of connections to which the service writes immediately or in one time slice. */
const MANY = 100;

const texts: string[] = [];

/** Creates a connection that records each write and blocks for `WRITE_MS` during it. */
function connection(name: string): Writable {
  const note = (text: string) => {
    const until = performance.now() + WRITE_MS;
    while (performance.now() < until);
    texts.push(`${name} ${text}`);
  };
  return new Writable({
    write(chunk, _encoding, done) {
      note(String(chunk));
      done();
    },
    writev(chunks, done) {
      note(chunks.map(({ chunk }) => String(chunk)).join('+'));
      done();
    },
  });
}

function say(to: readonly Writable[], text: string): void {
  for (const one of to) {
    batchWrites(one);
    one.write(text);
  }
}

const connections = (name: string, count: number) => Array.from({ length: count }, (_, i) => connection(`${name}${i}`));

test('many connections are flushed in time slices, with other work between them, and a few immediately', async () => {
  texts.length = 0;
  const [crowd, few] = [connections('of many ', MANY), connections('of few ', 3)];
  const written = new Promise<void>(whenWritten);
  say(crowd, 'a');
  expect(texts).toEqual([]);
  await nextTurn();
  // Writes to few connections while many others wait.
  say(few, 'b');
  await Promise.resolve();
  expect(texts.filter((text) => text.startsWith('of few'))).toEqual(['of few 0 b', 'of few 1 b', 'of few 2 b']);
  expect(texts.length).toBeLessThan(MANY);
  let turns = 0;
  for (; texts.length < MANY + few.length; turns++) await nextTurn();
  expect(turns).toBeGreaterThan(2);
  await written;
});

test('later bytes for a waiting connection are flushed with the rest, in order, and its end after that', async () => {
  texts.length = 0;
  const crowd = connections('', MANY);
  const last = crowd.at(-1) as Writable;
  say(crowd, 'a');
  await nextTurn();
  say([last], 'b');
  last.end('c');
  await new Promise<void>(whenWritten);
  expect(texts.filter((text) => text.startsWith(`${MANY - 1} `))).toEqual([`${MANY - 1} a+b+c`]);
  expect(texts.length).toBe(MANY);
});

test('a connection that closes while it waits does not delay the others', async () => {
  texts.length = 0;
  const crowd = connections('', MANY);
  say(crowd, 'a');
  crowd[50]?.destroy();
  await new Promise<void>(whenWritten);
  expect(texts.length).toBe(MANY - 1);
});
