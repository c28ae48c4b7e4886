import { once } from 'node:events';
import { type AddressInfo, connect, createServer, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { openBus } from '../../src/events/bus.ts';
import type { Config } from '../../src/platform/config.ts';
import { isBusy, isCertainlyNotDone } from '../../src/platform/db/errors.ts';
import { rowReader } from '../../src/platform/db/pg-rows.ts';
import { createMigratedDatabase } from '../helpers/database.ts';

/** Returns the error of a database read for which every connection fails with the system error `code`. */
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
])('an unreachable database is reported as unavailable: %s', async (code, syscall, isNotDone) => {
  const error = await failing(code, syscall);
  expect(error).toMatchObject({ code });
  expect(isBusy(error)).toBe(true);
  expect(isCertainlyNotDone(error)).toBe(isNotDone);
});

const { DATABASE_URL: databaseServer = '' } = process.env;

/**
 * Starts a proxy that closes the first connection over which LISTEN is executed.
 *
 * @returns The URL of the database through the proxy.
 */
async function cutAtFirstListen(databaseUrl: string): Promise<string> {
  const target = new URL(databaseUrl);
  let isCut = false;
  const server = createServer((client) => {
    const upstream = connect(Number(target.port || 5432), target.hostname);
    const end = () => [client, upstream].forEach((socket) => void socket.destroy());
    for (const socket of [client, upstream]) socket.on('error', end).on('close', end);
    upstream.pipe(client);
    client.on('data', (bytes) => {
      const isFirst = !isCut && bytes.includes('LISTEN ');
      isCut ||= isFirst;
      if (isFirst) end();
      else upstream.write(bytes);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return Object.assign(new URL(databaseUrl), { hostname: '127.0.0.1', port: (server.address() as AddressInfo).port })
    .href;
}

test.skipIf(databaseServer === '')('a node whose LISTEN connection was closed opens another one', async () => {
  await using database = await createMigratedDatabase(databaseServer);
  const bus = openBus({ databaseUrl: await cutAtFirstListen(database.url) } as Config, pino({ level: 'silent' }));
  await sleep(2_500);
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const { rows } = await client.query(
    `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`,
  );
  await client.end();
  await bus.close();
  expect(rows).toHaveLength(1);
});

test.skipIf(databaseServer === '')('a bus closed before its connection is open leaves no connection', async () => {
  await using database = await createMigratedDatabase(databaseServer);
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const ended = Date.now();
  await openBus({ databaseUrl: database.url } as Config, pino({ level: 'silent' })).close();
  // Waits until the node listens again by querying PostgreSQL, because an operator command would wait for the connection
  // forever.
  await expect
    .poll(async () => {
      const { rows } = await client.query(
        `SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`,
      );
      return Date.now() - ended > 500 ? rows[0].count : undefined;
    })
    .toBe(0);
  await client.end();
});
