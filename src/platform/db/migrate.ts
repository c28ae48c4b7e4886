import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import {
  bindMigrationAwareSqlAdapterFactory,
  type SqlDriverAdapter,
  type SqlQuery,
} from '@prisma/driver-adapter-utils';
import * as wasm from '@prisma/schema-engine-wasm/schema_engine_bg';
import { PrismaPGlite } from 'pglite-prisma-adapter';
import type { Config } from '../config.ts';
import { holdingLock } from './advisory-lock.ts';
import type { Database } from './client.ts';

const PRISMA_DIR = join(import.meta.dirname, '../../../prisma');
const NO_FILTERS = { externalTables: [], externalEnums: [] };

/** One folder of `prisma/migrations`. */
interface Migration {
  readonly name: string;
  readonly sql: string;
}

/** The database holds migrations this code does not know, or not as it knows them. */
export class IncompatibleDatabaseError extends Error {
  override name = 'IncompatibleDatabaseError';
}

/** The migrations that belong to this code, oldest first. */
export function readMigrations(): Migration[] {
  const folder = join(PRISMA_DIR, 'migrations');
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => ({ name, sql: readFileSync(join(folder, name, 'migration.sql'), 'utf8') }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * Brings the database up to this code: applies the migrations it lacks, each whole or not at all.
 *
 * Two nodes that start at once take turns. When nothing is missing, only one small query runs.
 *
 * @returns The names of the migrations applied, oldest first.
 * @throws IncompatibleDatabaseError when the database is newer than the code, or was migrated by other migrations of
 *   the same name.
 */
export async function migrate(config: Config, database: Database): Promise<string[]> {
  const migrations = readMigrations();
  const before = await appliedMigrations(database);
  if (before.every(({ finished }) => finished) && missingMigrations(migrations, before).length === 0) return [];
  // What is unfinished here may be under way on another node: only who holds the lock can tell.
  return holdingLock(config, 'migrations', async () => {
    await settleUnfinished(database, migrations);
    const names = missingMigrations(migrations, await appliedMigrations(database)).map(({ name }) => name);
    if (names.length === 0) return [];
    await using driver = engineDriver(database);
    const engine = await openEngine(driver.factory);
    try {
      await engine.applyMigrations({ migrationsList: asList(migrations), filters: NO_FILTERS });
    } catch (error) {
      const cause = driver.failure() ?? error;
      throw refusedBy(cause) ?? cause;
    } finally {
      engine.free();
    }
    return names;
  });
}

/** What an operator can mend; undefined for anything else. */
function refusedBy(error: unknown): IncompatibleDatabaseError | undefined {
  const said = error instanceof Error ? error.message : '';
  if (said.includes('schema is not empty')) {
    return new IncompatibleDatabaseError(
      'The database holds tables of something else. Name one of its own for the service by DATABASE_URL, or another schema ' +
        "of it (a role's search_path).",
    );
  }
  const denied = /permission denied for (\w+ \S+)/.exec(said);
  return denied === null
    ? undefined
    : new IncompatibleDatabaseError(
        `The database's role may not make tables: permission denied for ${denied[1]}. GRANT CREATE ON it to the role.`,
      );
}

/**
 * The engine notes a migration before it runs and once more when it is done; a process that ends in between leaves the
 * note. As the script itself runs whole or not at all, trying it tells which it was.
 */
async function settleUnfinished(database: Database, migrations: Migration[]): Promise<void> {
  let complete = true;
  for (const { migration_name, finished } of await appliedMigrations(database)) {
    const migration = migrations.find(({ name }) => name === migration_name);
    if (finished || migration === undefined) continue;
    // What comes after one that has not run has not run either.
    complete &&= await hasRun(database, migration);
    if (complete) {
      await database.db.$executeRaw`
        UPDATE _prisma_migrations SET finished_at = now(), applied_steps_count = 1, logs = NULL
        WHERE migration_name = ${migration_name}`;
    } else await database.db.$executeRaw`DELETE FROM _prisma_migrations WHERE migration_name = ${migration_name}`;
  }
}

/** "Already exists", of a table, another object, a column, a schema, or a function. */
const DUPLICATES = ['42P07', '42710', '42701', '42P06', '42723'];

async function hasRun(database: Database, { sql }: Migration): Promise<boolean> {
  try {
    await database.runScript(`BEGIN;\n${sql}\n;ROLLBACK;`);
    return false;
  } catch (error) {
    if (DUPLICATES.includes(String(Reflect.get(error as object, 'code')))) return true;
    throw error;
  }
}

interface EngineDriver extends AsyncDisposable {
  readonly factory: Database['factory'];
  /** Why a script was not run, of which the engine says nothing but that it was not; undefined when all were. */
  failure(): unknown;
}

/**
 * The lock that the engine takes for its session. It has a pool that it shares, so that a node which had migrated kept the
 * lock for as long as one of its connections was in use, and a node of a later version could not start beside it.
 */
const ENGINE_LOCK = /\bpg_advisory_lock\(/;

const withoutLock = (query: SqlQuery): SqlQuery =>
  ENGINE_LOCK.test(query.sql) ? { ...query, sql: 'SELECT 1' } : query;

/**
 * The database as the engine may use it. The drivers run a script statement by statement, cut at every semicolon,
 * functions and comments included, or do not wait for its end; and the engine's own lock is not taken, which it would leave on
 * a connection: who migrates holds ours.
 */
function engineDriver({ factory, runScript }: Database): EngineDriver {
  const connections: SqlDriverAdapter[] = [];
  let failure: unknown;
  const executeScript = async (sql: string) => {
    try {
      await runScript(sql);
    } catch (error) {
      failure = error;
      throw error;
    }
  };
  const wrapped = new Proxy(factory, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (name !== 'connect') return typeof value === 'function' ? value.bind(target) : value;
      return async () => {
        const connection = await target.connect();
        connections.push(connection);
        const { executeRaw, queryRaw } = connection;
        return Object.assign(connection, {
          executeScript,
          executeRaw: (query: SqlQuery) => executeRaw.call(connection, withoutLock(query)),
          queryRaw: (query: SqlQuery) => queryRaw.call(connection, withoutLock(query)),
        });
      };
    },
  });
  return {
    factory: wrapped,
    failure: () => failure,
    async [Symbol.asyncDispose]() {
      await Promise.all(connections.map((connection) => connection.dispose()));
    },
  };
}

/**
 * The SQL that the Prisma schema needs beyond what the migrations make, by applying them to an empty embedded database.
 *
 * @returns SQL, or '' when schema and migrations agree.
 */
export async function schemaDrift(): Promise<string> {
  const pglite = await PGlite.create();
  const factory = new PrismaPGlite(pglite);
  const engine = await openEngine(factory);
  try {
    const result = await engine.diff({
      from: { tag: 'migrations', ...asList(readMigrations()) },
      to: { tag: 'schemaDatamodel', files: [schemaFile()] },
      script: true,
      exitCode: true,
      shadowDatabaseUrl: null,
      filters: NO_FILTERS,
    } as Parameters<typeof engine.diff>[0]);
    return result.exitCode === 2 ? (result.stdout ?? '') : '';
  } finally {
    engine.free();
    await pglite.close();
  }
}

interface AppliedMigration {
  readonly migration_name: string;
  readonly checksum: string;
  readonly finished: boolean;
}

async function appliedMigrations({ db }: Database): Promise<AppliedMigration[]> {
  const [table] = await db.$queryRaw<{ name: string | null }[]>`SELECT to_regclass('_prisma_migrations')::text AS name`;
  if (table?.name == null) return [];
  return db.$queryRaw<AppliedMigration[]>`
    SELECT migration_name, checksum, finished_at IS NOT NULL AS finished FROM _prisma_migrations
    WHERE rolled_back_at IS NULL ORDER BY migration_name`;
}

function missingMigrations(known: Migration[], applied: AppliedMigration[]): Migration[] {
  for (const { migration_name, checksum } of applied) {
    const migration = known.find(({ name }) => name === migration_name);
    if (migration === undefined) {
      throw new IncompatibleDatabaseError(
        `The database is newer than this version of the service: it holds migration ${migration_name}, which this ` +
          'version does not know. Start the version that made it, or a later one.',
      );
    }
    if (checksum !== createHash('sha256').update(migration.sql).digest('hex')) {
      throw new IncompatibleDatabaseError(
        `The database was made by another form of migration ${migration_name} than this version holds.`,
      );
    }
  }
  const names = new Set(applied.map(({ migration_name }) => migration_name));
  return known.filter(({ name }) => !names.has(name));
}

function asList(migrations: Migration[]) {
  return {
    baseDir: join(PRISMA_DIR, 'migrations'),
    lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"\n' },
    shadowDbInitScript: '',
    migrationDirectories: migrations.map(({ name, sql }) => ({
      path: name,
      migrationFile: { path: 'migration.sql', content: { tag: 'ok' as const, value: sql } },
    })),
  };
}

function schemaFile() {
  return { path: 'schema.prisma', content: readFileSync(join(PRISMA_DIR, 'schema.prisma'), 'utf8') };
}

let loaded = false;

/** Node has it; its type declarations are the browser's. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: Record<string, unknown> };
};

/** Prisma's own schema engine, in WebAssembly: the native one is a download that a closed network refuses. */
async function openEngine(factory: unknown): Promise<wasm.SchemaEngine> {
  if (!loaded) {
    // Node does not import .wasm as a module: it is instantiated by hand, once.
    const path = createRequire(import.meta.url)
      .resolve('@prisma/schema-engine-wasm')
      .replace('schema_engine.js', 'schema_engine_bg.wasm');
    const instance = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(path)), {
      './schema_engine_bg.js': wasm,
    });
    wasm.__wbg_set_wasm(instance.exports);
    (instance.exports['__wbindgen_start'] as () => void)();
    loaded = true;
  }
  const { path, content } = schemaFile();
  return wasm.SchemaEngine.new(
    { datamodels: [[path, content]] },
    () => {},
    bindMigrationAwareSqlAdapterFactory(factory as Parameters<typeof bindMigrationAwareSqlAdapterFactory>[0]),
  );
}
