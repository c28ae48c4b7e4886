import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { readConfig } from '../../src/platform/config.ts';
import { openDatabase } from '../../src/platform/db/client.ts';
import { requireSessions } from '../../src/platform/db/sessions.ts';
import { createDatabase, createMigratedDatabase } from '../helpers/database.ts';
import { freePort } from '../helpers/process.ts';
import { runProgram } from '../helpers/program.ts';
import { createOrganization, startServer } from '../helpers/server.ts';

const { DATABASE_URL = '' } = process.env;
const PGBOUNCER = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/usr/local/bin/pgbouncer'].find(existsSync);
const NOTE = PGBOUNCER === undefined ? ': skipped, for there is no PgBouncer' : '';
const SECRET_KEY = randomBytes(32).toString('hex');

/**
 * Starts PgBouncer, a connection pooler, in front of a database, until the end of the test.
 *
 * @returns The URL of the database through the pooler.
 */
async function pooled(databaseUrl: string, mode: 'session' | 'transaction', settings = ''): Promise<string> {
  const { hostname, port, username, password } = new URL(databaseUrl);
  const folder = mkdtempSync(join(tmpdir(), 'pgbouncer-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o755);
  const listening = await freePort();
  writeFileSync(
    join(folder, 'pgbouncer.ini'),
    `[databases]
* = host=${hostname} port=${port || 5432} user=${username}${password === '' ? '' : ` password=${password}`}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listening}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
${settings}`,
  );
  // PgBouncer refuses to run as root, so another user runs it.
  const owner = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const pooler = spawn(PGBOUNCER ?? '', ['-q', ...owner, join(folder, 'pgbouncer.ini')], { stdio: 'ignore' });
  onTestFinished(async () => {
    pooler.kill('SIGKILL');
    if (pooler.signalCode === null) await once(pooler, 'exit');
  });
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${listening}`;
  await vi.waitFor(() => ask(url.href, 'SELECT 1'), { timeout: 10_000 });
  return url.href;
}

async function ask(connectionString: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString });
  try {
    await client.connect();
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

describe.runIf(PGBOUNCER !== undefined && DATABASE_URL !== '')(`behind PgBouncer${NOTE}`, () => {
  test.each(['', 'ignore_startup_parameters = options', 'server_round_robin = 1'])(
    'the service refuses a pooler in transaction mode at the start, with a clear message (%s)',
    async (settings) => {
      await using database = await createDatabase(DATABASE_URL);
      const url = await pooled(database.url, 'transaction', settings);
      // Opens several connections from the pooler to the database, which the pooler reuses.
      await Promise.all(Array.from({ length: 4 }, () => ask(url, 'SELECT pg_sleep(0.2)')));
      const { code, said } = await runProgram(['main.ts'], { DATABASE_URL: url, SECRET_KEY, PORT: '0' });
      expect([code, said]).toEqual([1, expect.stringMatching(/^DATABASE_URL leads to a connection pooler.*\.$/)]);
      expect(await ask(database.url, `SELECT to_regclass('_prisma_migrations') AS made`)).toEqual([{ made: null }]);
    },
  );

  test('the service works with a pooler in session mode, with the settings that the log needs', async () => {
    await using database = await createMigratedDatabase(DATABASE_URL);
    const name = new URL(database.url).pathname.slice(1);
    await ask(database.url, `ALTER DATABASE ${name} SET TimeZone = 'Asia/Tokyo'`);
    const url = await pooled(database.url, 'session');
    await using server = await startServer({ env: { DATABASE_URL: url, SECRET_KEY } });
    const { member } = await createOrganization({}, { on: server });
    await using live = await member.events('... on DraftsAddedEvent { drafts { content } }');
    await member.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content: 'through it' }] });
    expect(await live.next()).toEqual({ drafts: [{ content: 'through it' }] });

    const opened = await openDatabase(readConfig({ DATABASE_URL: url, SECRET_KEY }));
    onTestFinished(() => opened.close());
    const shown = await opened.db.$queryRaw`SELECT current_setting('lock_timeout') AS lock,
      current_setting('idle_in_transaction_session_timeout') AS idle, current_setting('TimeZone') AS zone`;
    expect(shown).toEqual([{ lock: '4s', idle: '5s', zone: 'UTC' }]);
  });
});

describe.runIf(DATABASE_URL !== '')('with a direct connection', () => {
  test('a database is never mistaken for a pooler', async () => {
    await Promise.all(Array.from({ length: 20 }, () => requireSessions(DATABASE_URL)));
  });
});
