import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Config, readConfig } from '../src/platform/config.ts';
import { type Database, openDatabase } from '../src/platform/db/client.ts';
import { DataDirectoryInUseError } from '../src/platform/db/lock.ts';
import { IncompatibleDatabaseError, migrate, readMigrations } from '../src/platform/db/migrate.ts';
import { isGroupPicked } from './helpers/part.ts';

// Each goes on from the database the one before left.
describe.runIf(isGroupPicked('migrations.test.ts'))('migrating', () => {
  let dataDir: string;
  let config: Config;
  let database: Database;

  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'chat-test-'));
    config = readConfig({ DATA_DIR: dataDir });
    database = await openDatabase(config);
  });
  afterAll(async () => {
    await database.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const names = readMigrations().map(({ name }) => name);

  test('applies what an empty database lacks, once', async () => {
    expect(await migrate(config, database)).toEqual(names);
    expect(await migrate(config, database)).toEqual([]);
  });

  test('finishes a migration that ran before its process was killed', async () => {
    await database.db.$executeRaw`UPDATE _prisma_migrations SET finished_at = NULL, applied_steps_count = 0`;
    expect(await migrate(config, database)).toEqual([]);
    const rows = await database.db
      .$queryRaw`SELECT count(*)::int AS open FROM _prisma_migrations WHERE finished_at IS NULL`;
    expect(rows).toEqual([{ open: 0 }]);
  });

  test('runs a migration again that was noted, but killed before it ran', async () => {
    await database.runScript(`
    CREATE SCHEMA kept; ALTER TABLE _prisma_migrations SET SCHEMA kept;
    DROP SCHEMA public CASCADE; CREATE SCHEMA public;
    ALTER TABLE kept._prisma_migrations SET SCHEMA public;
    UPDATE _prisma_migrations SET finished_at = NULL, applied_steps_count = 0`);
    expect(await migrate(config, database)).toEqual(names);
    expect(await database.db.realm.count()).toBe(0);
  });

  test('refuses a database that is newer than the code, and changes nothing', async () => {
    await database.db.$executeRaw`
    INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at)
    VALUES ('later', 'x', '29991231000000_from_the_future', now())`;
    const refusal = expect(migrate(config, database)).rejects;
    await refusal.toThrow(IncompatibleDatabaseError);
    await expect(migrate(config, database)).rejects.toThrow('29991231000000_from_the_future');
    await database.db.$executeRaw`DELETE FROM _prisma_migrations WHERE id = 'later'`;
  });

  test('refuses a database made by another form of a migration', async () => {
    await database.db.$executeRaw`UPDATE _prisma_migrations SET checksum = 'edited'`;
    await expect(migrate(config, database)).rejects.toThrow('another form');
  });

  test('refuses a data directory that another process has open', async () => {
    await expect(openDatabase(config)).rejects.toThrow(DataDirectoryInUseError);
  });
});
