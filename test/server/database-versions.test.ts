import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../../src/platform/config.ts';
import { openDatabase } from '../../src/platform/db/client.ts';
import { readMigrations } from '../../src/platform/db/migrate.ts';
import { newDataDir } from '../helpers/data-dir.ts';
import { createDatabase, createMigratedDatabase } from '../helpers/database.ts';
import { runProgram } from '../helpers/program.ts';

// Tests operator commands on databases whose schema has another version.

const { DATABASE_URL = '' } = process.env;
const SECRET_KEY = 's'.repeat(40);
const LAST = readMigrations().at(-1)?.name ?? '';
/**
 * The last migration that fails if it runs a second time, because its table exists. Only such a migration shows whether it was
 * applied. Others are applied again.
 */
const CREATING = readMigrations().findLast(({ sql }) => sql.includes('CREATE TABLE "'))?.name ?? '';

/** Creates a migrated database: embedded or on PostgreSQL, as the test run uses. */
async function ground() {
  const dataDir = newDataDir();
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const env: Record<string, string> = { DATA_DIR: dataDir };
  if (DATABASE_URL !== '') {
    const database = await createMigratedDatabase(DATABASE_URL);
    onTestFinished(() => database[Symbol.asyncDispose]());
    Object.assign(env, { DATABASE_URL: database.url, SECRET_KEY });
  }
  const cli = (...args: string[]) => runProgram(['cli.ts', ...args], env);
  await cli('migrate');
  return {
    cli,
    async run(sql: string) {
      const database = await openDatabase(readConfig(env));
      try {
        await database.runScript(sql);
        return await database.db.$queryRaw`SELECT migration_name AS name FROM _prisma_migrations ORDER BY 1`;
      } finally {
        await database.close();
      }
    },
  };
}

const COMMANDS = [
  ['org', 'list'],
  ['org', 'create', '--name', 'Acme', '--owner-name', 'O', '--owner-email', 'o@a.example'],
  ['secret-key', 'renew'],
] as const;

const findingsOf = (said: string): { check: string; ok: boolean; detail: string }[] => JSON.parse(said).findings;

describe('only migrate and the server apply migrations', { timeout: 300_000 }, () => {
  test('on an older database the other commands report that, exit with 1, and change nothing', async () => {
    const { cli, run } = await ground();
    const before = await run(`DELETE FROM _prisma_migrations WHERE migration_name = '${LAST}'`);
    for (const command of COMMANDS) {
      expect(await cli(...command), command.join(' ')).toEqual({
        code: 1,
        said: `The database is older than this version of the service: it lacks migration ${LAST}. To migrate it, start the server, or run: npm run cli -- migrate`,
      });
    }
    const { code, said } = await cli('doctor', '--json');
    expect(code).toBe(1);
    expect(findingsOf(said)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ check: 'database', ok: true }),
        { check: 'migrations', ok: false, detail: expect.stringContaining(`it lacks migration ${LAST}.`) },
        {
          check: 'organizations',
          ok: false,
          detail: 'not checked: this version cannot use the database as it is',
        },
      ]),
    );
    expect(await run('SELECT 1')).toEqual(before);
  });

  test('on a newer database they do the same', async () => {
    const { cli, run } = await ground();
    const before = await run(`INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at)
      VALUES ('later', 'x', '29991231000000_later', now())`);
    const newer =
      /^The database is newer than this version of the service: it has migration 29991231000000_later, .+\.$/;
    for (const command of [COMMANDS[0], ['migrate']]) {
      expect(await cli(...command)).toEqual({ code: 1, said: expect.stringMatching(newer) });
    }
    const { code, said } = await cli('doctor', '--json');
    expect(code).toBe(1);
    expect(findingsOf(said).find(({ check }) => check === 'migrations')).toMatchObject({
      ok: false,
      detail: expect.stringMatching(newer),
    });
    expect(await run('SELECT 1')).toEqual(before);
  });

  test('while a migration runs, or after it was interrupted, they do the same', async () => {
    const { cli, run } = await ground();
    await run(`UPDATE _prisma_migrations SET finished_at = NULL WHERE migration_name = '${CREATING}'`);
    expect(await cli('org', 'list')).toEqual({
      code: 1,
      said: expect.stringMatching(`^Migration ${CREATING} is being applied`),
    });
    expect(await cli('migrate')).toEqual({ code: 0, said: 'applied: none' });
    expect(await cli('org', 'list')).toEqual({ code: 0, said: 'none' });
  });

  test('on a database with other SQL functions they do the same', async () => {
    const { cli, run } = await ground();
    await run(`UPDATE _sql_functions SET hash = 'earlier' WHERE file IN ('event_log.sql', 'sends.sql')`);
    expect(await cli('org', 'list')).toEqual({
      code: 1,
      said: 'The database is older than this version of the service: its SQL functions differ (event_log.sql, sends.sql). To migrate it, start the server, or run: npm run cli -- migrate',
    });
    expect(await cli('migrate')).toEqual({ code: 0, said: 'applied: none' });
    expect(await cli('org', 'list')).toEqual({ code: 0, said: 'none' });
  });

  test.skipIf(DATABASE_URL === '')('on a database without tables they do the same', async () => {
    await using database = await createDatabase(DATABASE_URL);
    const env = { DATABASE_URL: database.url, SECRET_KEY, DATA_DIR: join('/nonexistent', 'data') };
    expect(await runProgram(['cli.ts', 'org', 'list'], env)).toEqual({
      code: 1,
      said: expect.stringMatching(/^The database has no tables of the service yet\. .* npm run cli -- migrate$/),
    });
    const opened = await openDatabase(readConfig({ DATABASE_URL: database.url, SECRET_KEY }));
    onTestFinished(() => opened.close());
    expect(await opened.db.$queryRaw`SELECT to_regclass('_prisma_migrations')::text AS made`).toEqual([{ made: null }]);
  });
});
