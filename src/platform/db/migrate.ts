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
import { retry } from '../retry.ts';
import { holdingLock } from './advisory-lock.ts';
import type { Database } from './client.ts';
import { isLockConflict } from './errors.ts';

const PRISMA_DIR = join(import.meta.dirname, '../../../prisma');
const NO_FILTERS = { externalTables: [], externalEnums: [] };

/**
 * Maximum time that a migration usually waits for one lock, in milliseconds. It is shorter than PostgreSQL's `deadlock_timeout`
 * of one second, so that the migration ends a deadlock itself and no statement of another node fails. Statements of other nodes
 * that wait for the migration also wait for no longer.
 */
const LOCK_MS = 400;
/**
 * Every how many attempts a migration waits for longer than `deadlock_timeout`. PostgreSQL cancels an autovacuum that blocks
 * another session only after that time.
 */
const LONG_ATTEMPT = 10;
/** Maximum number of attempts of a migration. Attempts that only wait take about three minutes in total. */
const MAX_ATTEMPTS = 240;

/** A folder of `prisma/migrations`. */
interface Migration {
  readonly name: string;
  readonly sql: string;
}

/** Thrown if the database has migrations that this version does not have, or has in another form. */
export class IncompatibleDatabaseError extends Error {
  override name = 'IncompatibleDatabaseError';
}

/** Thrown if the database lacks migrations of this version. */
export class OutdatedDatabaseError extends IncompatibleDatabaseError {
  override name = 'OutdatedDatabaseError';
}

/** Returns the migrations of this version, oldest first. */
export function readMigrations(): Migration[] {
  const folder = join(PRISMA_DIR, 'migrations');
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => ({ name, sql: readFileSync(join(folder, name, 'migration.sql'), 'utf8') }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * Applies the migrations that the database lacks, each completely or not at all.
 *
 * If several nodes start at the same time, they migrate one after another. If no migration is missing, only small queries run.
 *
 * @returns Names of the applied migrations, oldest first.
 * @throws IncompatibleDatabaseError if the database is newer than this version, has other migrations of the same name, or
 * contains tables of another program, or if the database role cannot create tables.
 */
export async function migrate(config: Config, database: Database): Promise<string[]> {
  const migrations = readMigrations();
  const before = await appliedMigrations(database);
  if (before.every(({ finished }) => finished) && missingMigrations(migrations, before).length === 0) return [];
  // An unfinished migration can be in progress on another node. Only the holder of the lock can exclude this.
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

/**
 * Compares the migrations of the database with those of this version, and changes nothing.
 *
 * @returns The number of migrations that the database and this version have in common.
 * @throws OutdatedDatabaseError if the database lacks migrations of this version, or has some that are not complete.
 * @throws IncompatibleDatabaseError if the database has migrations that this version does not have, or has in another form.
 */
export async function requireMigrated(database: Database): Promise<number> {
  const migrations = readMigrations();
  const applied = await appliedMigrations(database);
  const missing = missingMigrations(
    migrations,
    applied.filter(({ finished }) => finished),
  ).map(({ name }) => name);
  if (missing.length === 0) return applied.length;
  const [first] = missing;
  const open = applied.find(({ finished }) => !finished);
  const bringUp = 'To migrate it, start the server, or run: npm run cli -- migrate';
  if (applied.length === 0)
    throw new OutdatedDatabaseError(`The database has no tables of the service yet. ${bringUp}`);
  if (open !== undefined) {
    throw new OutdatedDatabaseError(
      `Migration ${open.migration_name} is being applied, or was interrupted. ` +
        `If no server is starting, it was interrupted. ${bringUp}`,
    );
  }
  const more = missing.length === 1 ? '' : ` and ${missing.length - 1} more`;
  throw new OutdatedDatabaseError(
    `The database is older than this version of the service: it lacks migration ${first}${more}. ${bringUp}`,
  );
}

/** Returns the error for a failed migration whose cause an operator can fix. Undefined for all other causes. */
function refusedBy(error: unknown): IncompatibleDatabaseError | undefined {
  const said = error instanceof Error ? error.message : '';
  if (said.includes('schema is not empty')) {
    return new IncompatibleDatabaseError(
      'The database contains tables of another application. Set DATABASE_URL to a database for the service alone, or to ' +
        'another schema by ?schema=.',
    );
  }
  const denied = /permission denied for (\w+ \S+)/.exec(said);
  return denied === null
    ? undefined
    : new IncompatibleDatabaseError(
        `The database role cannot create tables: permission denied for ${denied[1]}. GRANT CREATE ON it to the role.`,
      );
}

/**
 * Finds out whether unfinished migrations were applied, and corrects their records. The engine records a migration
 * before it runs and again when it is done. A process that ends in between leaves the first record. Since a script runs
 * completely or not at all, a trial run shows whether it was applied.
 */
async function settleUnfinished(database: Database, migrations: Migration[]): Promise<void> {
  let complete = true;
  for (const { migration_name, finished } of await appliedMigrations(database)) {
    const migration = migrations.find(({ name }) => name === migration_name);
    if (finished || migration === undefined) continue;
    // If a migration has not run, later ones have not run either.
    complete &&= await hasRun(database, migration);
    if (complete) {
      await database.db.$executeRaw`
        UPDATE _prisma_migrations SET finished_at = now(), applied_steps_count = 1, logs = NULL
        WHERE migration_name = ${migration_name}`;
    } else await database.db.$executeRaw`DELETE FROM _prisma_migrations WHERE migration_name = ${migration_name}`;
  }
}

/** Codes of "already exists", for a table, another object, a column, a schema, and a function. */
const DUPLICATES = ['42P07', '42710', '42701', '42P06', '42723'];

async function hasRun(database: Database, { sql }: Migration): Promise<boolean> {
  try {
    await runBetweenOthers(database.runScript, `BEGIN;\n${sql}\n;ROLLBACK;`);
    return false;
  } catch (error) {
    if (DUPLICATES.includes(String(Reflect.get(error as object, 'code')))) return true;
    throw error;
  }
}

/**
 * Runs a script while nodes of the previous version use its tables. If they hold a lock for too long, the script is rolled back
 * and starts again after a short random pause.
 *
 * @throws IncompatibleDatabaseError if another session still holds a lock after `MAX_ATTEMPTS`.
 */
function runBetweenOthers(runScript: Database['runScript'], sql: string): Promise<void> {
  let attempt = 0;
  return retry(
    () => {
      attempt++;
      const ms = attempt % LONG_ATTEMPT === 0 ? AFTER_DEADLOCK_CHECK : `${LOCK_MS}`;
      return runScript(`SELECT set_config('lock_timeout', (${ms})::text, true);\n${sql}`);
    },
    (error) => {
      if (!isLockConflict(error)) return undefined;
      if (attempt < MAX_ATTEMPTS) return Math.round(LOCK_MS * (0.25 + Math.random()));
      throw new IncompatibleDatabaseError(
        'Another session holds a lock on a table that must be migrated, for example a dump. Find it in pg_stat_activity, and ' +
          'start again when it has ended.',
      );
    },
  );
}

/** SQL for a lock timeout in milliseconds that is longer than `deadlock_timeout`. */
const AFTER_DEADLOCK_CHECK =
  "500 + round(1000 * extract(epoch FROM current_setting('deadlock_timeout')::interval))::integer";

interface EngineDriver extends AsyncDisposable {
  readonly factory: Database['factory'];
  /** Returns the error of the failed script, which the engine does not report. Undefined if no script failed. */
  failure(): unknown;
}

/**
 * Matches the statement by which the engine acquires a lock for its session. The engine shares a pool, so a node that
 * had migrated kept the lock while one of its connections was in use. A node of a later version could then not start
 * beside it.
 */
const ENGINE_LOCK = /\bpg_advisory_lock\(/;

const withoutLock = (query: SqlQuery): SqlQuery =>
  ENGINE_LOCK.test(query.sql) ? { ...query, sql: 'SELECT 1' } : query;

/**
 * Returns a driver for the schema engine that executes scripts with `runScript`. The original drivers would run a script
 * statement by statement, split at every semicolon, even in functions and comments, or would not wait for its end. The driver
 * skips the engine's own lock, which would stay on a connection; the caller holds the service's lock.
 */
function engineDriver({ factory, runScript }: Database): EngineDriver {
  const connections: SqlDriverAdapter[] = [];
  let failure: unknown;
  const executeScript = async (sql: string) => {
    try {
      await runBetweenOthers(runScript, sql);
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
 * Returns the SQL that the Prisma schema needs beyond the migrations, which it applies to an empty embedded database.
 *
 * @returns SQL, or '' if the schema and the migrations agree.
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
        `The database is newer than this version of the service: it has migration ${migration_name}, which this ` +
          'version does not have. Start the version that created it, or a later one.',
      );
    }
    if (checksum !== createHash('sha256').update(migration.sql).digest('hex')) {
      throw new IncompatibleDatabaseError(
        `The database was created with a different version of migration ${migration_name} than the one in this service.`,
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

/** A global of Node, whose type declarations are only in those of the browser. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: Record<string, unknown> };
};

/** Opens Prisma's own schema engine, in WebAssembly: the native one is a download, which a closed network refuses. */
async function openEngine(factory: unknown): Promise<wasm.SchemaEngine> {
  if (!loaded) {
    // Node does not import .wasm as a module, so it is instantiated manually, once.
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
