import { describe, expect, test, vi } from 'vitest';
import { DiskSpace } from '../../src/platform/db/disk-space.ts';
import { explain } from '../../src/server/failures.ts';
import { fullTrial } from '../faults/full.ts';
import { startInProcess } from '../helpers/in-process.ts';
import { postgresCommands } from '../helpers/private-postgres.ts';
import { mayMount } from '../helpers/small-disk.ts';

// A separate file system is needed, so that a test can fill a disk to the last byte. Mounting one requires permission.

const PATIENCE_MS = 240_000;
const isOnPostgres = process.env['DATABASE_URL'] !== undefined;

describe.runIf(mayMount())('acknowledged changes persist, and the service continues when space is available', () => {
  test.skipIf(isOnPostgres)('on the embedded database', { timeout: PATIENCE_MS }, async () => {
    const { violations, facts } = await fullTrial({ on: 'embedded', fills: 1, seed: 1 });
    expect(violations).toEqual([]);
    expect(facts['writes refused']).toBeGreaterThan(0);
  });

  test.runIf(isOnPostgres && postgresCommands() !== undefined)('on PostgreSQL', { timeout: PATIENCE_MS }, async () => {
    const { violations, facts } = await fullTrial({ on: 'postgresql', fills: 1, seed: 1 });
    expect(violations).toEqual([]);
    expect(facts['writes refused']).toBeGreaterThan(0);
  });
});

test('a node that ran out of disk space is not ready until space is available', async () => {
  await using service = await startInProcess();
  const readiness = async () => {
    const response = await fetch(`${service.url}/readyz`);
    return [response.status, await response.text()];
  };
  expect(await readiness()).toEqual([200, 'ready\n']);
  service.app.database.diskSpace.noteLack();
  expect(await readiness()).toEqual([503, 'not ready: disk space of the database\n']);
  await expect.poll(readiness, { timeout: 20_000, interval: 200 }).toEqual([200, 'ready\n']);
});

test('a full disk is checked by one request at a time, and no longer after the database is closed', async () => {
  vi.useFakeTimers();
  try {
    const looks: PromiseWithResolvers<void>[] = [];
    const room = new DiskSpace(() => {
      const look = Promise.withResolvers<void>();
      looks.push(look);
      return look.promise;
    });
    const heard = vi.fn();
    room.onMade(heard);
    for (let i = 0; i < 3; i++) room.noteLack();
    // The next check starts only after the previous one has ended, because a check can wait for a connection longer than the
    // interval.
    await vi.advanceTimersByTimeAsync(60_000);
    expect(looks).toHaveLength(1);
    looks[0]?.reject(new Error('none'));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(looks).toHaveLength(2);
    looks[1]?.resolve();
    await vi.advanceTimersByTimeAsync(60_000);
    expect([room.isLacking, heard.mock.calls.length, looks.length]).toEqual([false, 1, 2]);

    room.noteLack();
    await vi.advanceTimersByTimeAsync(5_000);
    room.stop();
    // Closing the database makes the running check fail. No further check may start.
    room.noteLack();
    looks[2]?.reject(new Error('closed'));
    await vi.advanceTimersByTimeAsync(60_000);
    expect([looks.length, heard.mock.calls.length]).toEqual([3, 1]);
  } finally {
    vi.useRealTimers();
  }
});

test('a start that fails on a full disk prints a clear message', () => {
  const full = Object.assign(new Error('could not extend file "base/5/1": No space left on device'), { code: '53100' });
  const sentence = 'The disk of the database is full. Free some disk space, and start again.';
  expect(explain(full)).toBe(sentence);
  // `explain` also recognizes the errors of the ORM.
  expect(explain(Object.assign(new Error('of the ORM'), { cause: { originalCode: '53100' } }))).toBe(sentence);
  expect(explain(new Error('FATAL: could not write init file'))).toBe(sentence);
  const file = Object.assign(new Error('ENOSPC'), { code: 'ENOSPC', path: '/data/secret-key' });
  expect(explain(file)).toBe('The disk of /data/secret-key is full. Free some disk space.');
});
