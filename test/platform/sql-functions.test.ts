import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  IncompatibleDatabaseError,
  migrate,
  OutdatedDatabaseError,
  readMigrations,
  requireMigrated,
} from '../../src/platform/db/migrate.ts';
import { type FunctionFile, outdatedFunctionFiles, readFunctionFiles } from '../../src/platform/db/sql-functions.ts';
import { type Migrated, migratedDatabase } from '../helpers/migrated.ts';

/** Returns an SQL file that defines functions without parameters. `functions` has their names and results. */
const fileOf = (functions: Readonly<Record<string, string>>, { name = 'z.sql', version = 1 } = {}): FunctionFile => ({
  ...{ name, version },
  sql: Object.entries(functions)
    .map(
      ([named, value]) =>
        `CREATE OR REPLACE FUNCTION ${named}() RETURNS integer LANGUAGE sql AS $$ SELECT ${value} $$;`,
    )
    .join('\n'),
});

// The tests run one after another, each on the database that the previous one left.
describe('applying SQL functions', () => {
  const files = readFunctionFiles();
  let at: Migrated;
  beforeAll(async () => {
    at = await migratedDatabase();
  });
  afterAll(() => at[Symbol.asyncDispose]());

  const apply = (...more: readonly FunctionFile[]) => migrate(at.config, at.database, [...files, ...more]);
  const run = async (name: string) => {
    const rows = await at.database.db.$queryRawUnsafe<{ value: number }[]>(`SELECT ${name}() AS value`);
    return rows[0]?.value;
  };
  /** Returns the ids of the transactions that last wrote the SQL functions of the service. */
  const writers = () => at.database.db.$queryRaw`
    SELECT proname AS name, xmin::text FROM pg_proc WHERE pronamespace = current_schema()::regnamespace ORDER BY oid`;

  test('writes a function if its file is new or changed, and otherwise nothing', async () => {
    expect(await apply(fileOf({ one: '1' }))).toEqual([]);
    expect(await run('one')).toBe(1);
    const before = await writers();
    await apply(fileOf({ one: '1' }));
    await migrate(at.config, at.database);
    expect(await writers()).toEqual(before);
    await apply(fileOf({ one: '10' }));
    expect(await run('one')).toBe(10);
  });

  test('keeps the functions of a later version, with which this version works', async () => {
    await apply(fileOf({ one: '100' }, { version: 2 }));
    await apply(fileOf({ one: '1' }));
    expect(await run('one')).toBe(100);
    await apply(fileOf({ one: '1' }, { version: 3 }));
    expect(await run('one')).toBe(1);
  });

  test('applies all files or none, and reports the file that failed', async () => {
    const broken = {
      name: 'y.sql',
      version: 1,
      sql: 'CREATE OR REPLACE FUNCTION one() RETURNS text LANGUAGE sql AS $$ $$;',
    };
    const failing = apply(
      fileOf({ one: '2', two: '2' }, { name: 'x.sql' }),
      broken,
      fileOf({ three: '3' }, { version: 4 }),
    );
    await expect(failing).rejects.toThrow(IncompatibleDatabaseError);
    await expect(failing).rejects.toThrow(
      'The SQL functions of prisma/functions/y.sql cannot be applied: cannot change return type of existing function. ' +
        'The previous functions are still in use.',
    );
    expect(await run('one')).toBe(1);
    await expect(run('two')).rejects.toThrow('two() does not exist');
    await expect(run('three')).rejects.toThrow('three() does not exist');
  });

  test('is repeated after a migration, which may have replaced a function', async () => {
    const names = readMigrations().map(({ name }) => name);
    expect(await outdatedFunctionFiles(at.database, files, names)).toEqual([]);
    expect(await outdatedFunctionFiles(at.database, files, [...names, '29991231000000_later'])).toEqual(files);
  });

  test('is left to the server and to the command migrate', async () => {
    await at.database.runScript("UPDATE _sql_functions SET hash = 'of another form' WHERE file = 'sends.sql'");
    const compared = requireMigrated(at.database);
    await expect(compared).rejects.toThrow(OutdatedDatabaseError);
    await expect(compared).rejects.toThrow(
      'its SQL functions differ (sends.sql). To migrate it, start the server, or run',
    );
    await migrate(at.config, at.database);
    expect(await requireMigrated(at.database)).toBeGreaterThan(20);
  });

  test('gives every function that may change, and no other one, its source', async () => {
    const current = await at.database.db.$queryRaw<{ name: string; source: string; isFixed: boolean }[]>`
      SELECT proname AS name, prosrc AS source, provolatile = 'i' AS "isFixed" FROM pg_proc
      WHERE pronamespace = current_schema()::regnamespace AND proname <> 'one' ORDER BY 1`;
    const sources = files.flatMap(({ sql }) => [...sql.matchAll(/^CREATE OR REPLACE FUNCTION "(\w+)"/gm)]);
    const changing = current.filter(({ isFixed }) => !isFixed);
    expect(sources.map(([, name]) => name).sort()).toEqual(changing.map(({ name }) => name).sort());
    expect(current.length).toBeGreaterThan(changing.length);
    // `WHEN OTHERS` would also catch errors that are caused by mistakes in the function.
    expect(current.filter(({ source }) => /WHEN\s+OTHERS/i.test(source))).toEqual([]);
  });
});
