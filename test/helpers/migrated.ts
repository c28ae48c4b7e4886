import { rmSync } from 'node:fs';
import { type Config, readConfig } from '../../src/platform/config.ts';
import { type Database, openDatabase } from '../../src/platform/db/client.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { newDataDir } from './data-dir.ts';
import { createDatabase, createMigratedDatabase } from './database.ts';

export interface Migrated extends AsyncDisposable {
  readonly config: Config;
  readonly database: Database;
}

/**
 * Creates a migrated database of the kind that the run uses.
 *
 * @param options Options of CREATE DATABASE, for PostgreSQL. With options, the database is not a copy.
 */
export async function migratedDatabase(options = ''): Promise<Migrated> {
  const { DATABASE_URL } = process.env;
  const own = new AsyncDisposableStack();
  const dataDir = newDataDir();
  own.defer(() => rmSync(dataDir, { recursive: true, force: true }));
  const create = (url: string) => (options === '' ? createMigratedDatabase(url) : createDatabase(url, options));
  const postgres = DATABASE_URL === undefined ? undefined : own.use(await create(DATABASE_URL));
  const place = postgres && { DATABASE_URL: postgres.url, SECRET_KEY: 'migrated '.repeat(5) };
  const config = readConfig({ DATA_DIR: dataDir, ...place });
  const database = await openDatabase(config);
  own.defer(() => database.close());
  await migrate(config, database);
  return { config, database, [Symbol.asyncDispose]: () => own.disposeAsync() };
}
