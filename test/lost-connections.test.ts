import { Socket } from 'node:net';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { isBusy, isCertainlyNotDone } from '../src/platform/db/errors.ts';
import { rowReader } from '../src/platform/db/pg-rows.ts';

/** What reading fails with where every connection ends as the system says. */
async function failing(code: string, syscall: string): Promise<unknown> {
  const error = Object.assign(new Error(`${syscall} ${code}`), { code, syscall, errno: -1 });
  const stream = () => {
    const socket = new Socket();
    socket.connect = () => socket.destroy(error);
    return socket;
  };
  const pool = new pg.Pool({ stream: stream as never });
  pool.on('error', () => {});
  onTestFinished(() => pool.end());
  return rowReader(pool, () => '')('SELECT 1', []).catch((thrown: unknown) => thrown);
}

test.each([
  ['ENOTFOUND', 'getaddrinfo', true],
  ['EAI_AGAIN', 'getaddrinfo', true],
  ['ECONNREFUSED', 'connect', true],
  ['ECONNRESET', 'read', false],
  ['ETIMEDOUT', 'read', false],
])('a database that cannot be reached is busy: %s', async (code, syscall, isNotDone) => {
  const error = await failing(code, syscall);
  expect(error).toMatchObject({ code });
  expect(isBusy(error)).toBe(true);
  expect(isCertainlyNotDone(error)).toBe(isNotDone);
});
