import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import { retry } from '../retry.ts';
import { holdingLock } from './advisory-lock.ts';
import type { Database } from './client.ts';
import { isBusy, isLockConflict } from './errors.ts';
import { type FunctionFile, functionScript, outdatedFunctionFiles, readFunctionFiles } from './sql-functions.ts';

const FOLDER = join(import.meta.dirname, '../../../prisma/migrations');

/**
 * Maximum time that a migration usually waits for one lock, in milliseconds. It is shorter than PostgreSQL's `deadlock_timeout`
 * of one second, so that the migration ends a deadlock itself and no statement of another node fails. Statements of other nodes
 * that wait behind the migration also wait no longer than this.
 */
const LOCK_MS = 400;
/**
 * Interval, in number of attempts, between attempts that wait longer for locks than `deadlock_timeout`. Only after that time
 * does PostgreSQL cancel an autovacuum that blocks another session.
 */
const LONG_ATTEMPT = 10;
/**
 * Maximum number of attempts of a migration. If every attempt fails with a lock timeout, all attempts take about three minutes,
 * and the migration fails with `IncompatibleDatabaseError`.
 */
const MAX_ATTEMPTS = 240;

/**
 * Maximum time that the build of an index waits for one lock or for the end of one transaction, in milliseconds, and maximum
 * number of builds.
 */
const [BUILD_LOCK_MS, MAX_BUILDS] = [60_000, 3];

/** A migration, read from a folder in `prisma/migrations`. */
interface Migration {
  readonly name: string;
  readonly sql: string;
}

/** Thrown if the database has migrations that this version of the service lacks, or that are different in this version. */
export class IncompatibleDatabaseError extends Error {
  override name = 'IncompatibleDatabaseError';
}

/** Thrown if the database lacks migrations or SQL functions of this version of the service. */
export class OutdatedDatabaseError extends IncompatibleDatabaseError {
  override name = 'OutdatedDatabaseError';
}

/** Reads the migrations of this version of the service, oldest first. */
export function readMigrations(): Migration[] {
  return readdirSync(FOLDER, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => ({ name, sql: readFileSync(join(FOLDER, name, 'migration.sql'), 'utf8') }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * Applies the migrations that the database lacks, each in one transaction, or in one for each batch or statement. Then applies the SQL
 * functions that changed, all in one transaction.
 *
 * If several nodes start at the same time, they migrate one after another. If nothing is missing, only small queries run.
 *
 * @param files Files with SQL functions, in the order in which they are applied. Default: all files of this version.
 * @returns Names of the applied migrations, oldest first.
 * @throws IncompatibleDatabaseError if the database is newer than this version, has other migrations of the same name, or
 *   contains tables of another program. Also thrown if the database role cannot create tables, or if the functions cannot be
 *   applied.
 */
export async function migrate(
  config: Config,
  database: Database,
  files: readonly FunctionFile[] = readFunctionFiles(),
): Promise<string[]> {
  const migrations = readMigrations();
  const known = migrations.map(({ name }) => name);
  const before = await appliedMigrations(database);
  if (before.every(({ finished }) => finished) && missingMigrations(migrations, before).length === 0) {
    if ((await outdatedFunctionFiles(database, files, known)).length === 0) return [];
  }
  // An unfinished migration can be in progress on another node. Only the holder of the lock can exclude this.
  return holdingLock(config, 'migrations', async () => {
    try {
      await settleUnfinished(database, migrations);
      const applied = await appliedMigrations(database);
      const missing = missingMigrations(migrations, applied);
      if (applied.length === 0) await createJournal(database);
      for (const migration of missing) {
        if (isInBatches(migration)) await runBatches(database.runScript, migration);
        if (isOneByOne(migration)) await runOneByOne(database, migration);
        await runBetweenOthers(database.runScript, isOneByOne(migration) ? record(migration) : recorded(migration));
      }
      const outdated = await outdatedFunctionFiles(database, files, known);
      if (outdated.length > 0) await applyFunctions(database, outdated, known);
      return missing.map(({ name }) => name);
    } catch (error) {
      throw (error instanceof IncompatibleDatabaseError ? undefined : refusedBy(error)) ?? error;
    }
  });
}

/**
 * Creates the table that lists the applied migrations, if it does not exist. The table has the same columns as in earlier
 * versions, in which another program applied the migrations.
 *
 * @throws IncompatibleDatabaseError if the table does not exist and the schema contains other tables.
 */
async function createJournal({ db, runScript }: Database): Promise<void> {
  const [found] = await db.$queryRaw<{ exists: boolean; other: boolean }[]>`
    SELECT to_regclass('_prisma_migrations') IS NOT NULL AS exists, EXISTS (
      SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
        AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')) AS other`;
  if (found?.exists === true) return;
  if (found?.other === true) {
    throw new IncompatibleDatabaseError(
      'The database contains tables of another application. Set DATABASE_URL to a database for the service alone, or to ' +
        'another schema by ?schema=.',
    );
  }
  await runScript(`
    CREATE TABLE _prisma_migrations (
      id varchar(36) PRIMARY KEY, checksum varchar(64) NOT NULL, finished_at timestamptz, migration_name varchar(255) NOT NULL,
      logs text, rolled_back_at timestamptz, started_at timestamptz NOT NULL DEFAULT now(),
      applied_steps_count integer NOT NULL DEFAULT 0)`);
}

/** Returns the script of a migration, extended by a statement that records the migration as applied. */
const recorded = (migration: Migration): string => `${migration.sql}\n;${record(migration)}`;

const record = ({ name, sql }: Migration): string => `
  INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count)
  VALUES (gen_random_uuid(), '${checksumOf(sql)}', '${name}', clock_timestamp(), 1)`;

/**
 * First line of a migration whose last statement changes a limited number of rows, or returns rows as long as work remains. A
 * loop over objects of the schema is limited by the setting `migration.batch`, which only the runner sets.
 */
const IN_BATCHES = '-- In batches\n';

const isInBatches = ({ sql }: Migration): boolean => sql.startsWith(IN_BATCHES);

/**
 * Runs a migration in transactions of its own until it changes no more rows, so that it locks no row for long. If the process
 * ends in between, the next start continues.
 */
async function runBatches(runScript: Database['runScript'], { sql }: Migration): Promise<void> {
  const batch = `SELECT set_config('migration.batch', '1', true);\n${sql}`;
  while ((await runBetweenOthers(runScript, batch)) > 0);
}

/** First line of a migration whose statements are repeatable, and end with a semicolon at the end of a line. */
const ONE_BY_ONE = '-- One by one\n';

const isOneByOne = ({ sql }: Migration): boolean => sql.startsWith(ONE_BY_ONE);

/**
 * Runs each statement of a migration in a transaction of its own, so that it locks one table at a time. On PostgreSQL, indexes
 * are built concurrently. If the process ends in between, the next start continues.
 */
async function runOneByOne(database: Database, { sql }: Migration): Promise<void> {
  const statements = sql.replace(/^--.*\n/gm, '').split(/;\s*(?:\n|$)/);
  for (const statement of statements.filter((one) => one.trim() !== '')) {
    const index = /^\s*CREATE INDEX IF NOT EXISTS "(\w+)"/.exec(statement)?.[1];
    if (index === undefined || database.kind === 'embedded') await runBetweenOthers(database.runScript, statement);
    else await buildConcurrently(database, index, statement);
  }
}

/**
 * Builds an index while nodes write to its table. The server waits for all transactions that are older than the build, and holds
 * no lock meanwhile for which they wait.
 *
 * @param statement `CREATE INDEX IF NOT EXISTS …`
 * @throws IncompatibleDatabaseError if a transaction of another session does not end after `MAX_BUILDS` attempts.
 */
async function buildConcurrently({ session }: Database, index: string, statement: string): Promise<void> {
  await session((run) =>
    retry(
      async () => {
        await run(`SET lock_timeout = ${BUILD_LOCK_MS}`);
        // A build that failed or was interrupted leaves an index that is not valid.
        const unfinished = await run(
          `SELECT 1 AS found FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
           WHERE c.relname = $1 AND c.relnamespace = quote_ident(current_schema())::regnamespace AND NOT i.indisvalid`,
          [index],
        );
        if (unfinished.length > 0) await run(`DROP INDEX CONCURRENTLY IF EXISTS "${index}"`);
        await run(statement.replace('CREATE INDEX', 'CREATE INDEX CONCURRENTLY'));
      },
      (error, attempts) => {
        if (!isLockConflict(error)) return undefined;
        if (attempts < MAX_BUILDS) return LOCK_MS;
        throw heldByOther();
      },
    ),
  );
}

const checksumOf = (sql: string): string => createHash('sha256').update(sql).digest('hex');

/** Applies files with SQL functions in one transaction. @throws IncompatibleDatabaseError if a file cannot be applied. */
async function applyFunctions(
  { runScript }: Database,
  files: readonly FunctionFile[],
  migrations: readonly string[],
): Promise<void> {
  try {
    await runBetweenOthers(runScript, functionScript(files, migrations));
  } catch (error) {
    const isOfFile = !(error instanceof IncompatibleDatabaseError) && refusedBy(error) === undefined && !isBusy(error);
    if (!(error instanceof Error) || !isOfFile) throw error;
    // The error does not say to which file the statement belongs.
    for (const [i, { name }] of files.entries()) {
      const isFine = await runScript(`BEGIN;\n${functionScript(files.slice(0, i + 1), migrations)}\nROLLBACK`).then(
        () => true,
        () => false,
      );
      if (isFine) continue;
      throw new IncompatibleDatabaseError(
        `The SQL functions of prisma/functions/${name} cannot be applied: ${error.message}. The previous functions are still ` +
          'in use.',
        { cause: error },
      );
    }
    throw error;
  }
}

/**
 * Compares the migrations and SQL functions of the database with those of this version, and changes nothing.
 *
 * @returns The number of migrations that the database and this version have in common.
 * @throws OutdatedDatabaseError if the database lacks migrations or SQL functions of this version, or has migrations that are
 *   not complete.
 * @throws IncompatibleDatabaseError if the database has migrations that this version does not have, or has in another form.
 */
export async function requireMigrated(database: Database): Promise<number> {
  const migrations = readMigrations();
  const applied = await appliedMigrations(database);
  const missing = missingMigrations(
    migrations,
    applied.filter(({ finished }) => finished),
  ).map(({ name }) => name);
  const bringUp = 'To migrate it, start the server, or run: npm run cli -- migrate';
  if (missing.length === 0) {
    const names = migrations.map(({ name }) => name);
    const outdated = await outdatedFunctionFiles(database, readFunctionFiles(), names);
    if (outdated.length === 0) return applied.length;
    const files = outdated.map(({ name }) => name).join(', ');
    throw new OutdatedDatabaseError(
      `The database is older than this version of the service: its SQL functions differ (${files}). ${bringUp}`,
    );
  }
  const [first] = missing;
  const open = applied.find(({ finished }) => !finished);
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
  const owned = /must be owner of (\w+ \S+)/.exec(said);
  if (owned !== null) {
    return new IncompatibleDatabaseError(
      `The database role cannot change ${owned[1]}, because it is not its owner. Run as the owner of the tables: ` +
        'npm run cli -- migrate',
    );
  }
  const denied = /permission denied for (\w+ \S+)/.exec(said);
  return denied === null
    ? undefined
    : new IncompatibleDatabaseError(
        `The database role cannot create tables and functions: permission denied for ${denied[1]}. GRANT CREATE ON it to the ` +
          'role, or run as the owner of the tables: npm run cli -- migrate',
      );
}

/**
 * Finds out whether unfinished migrations were applied, and corrects their records. Earlier versions recorded a migration
 * before it ran and again when it was done. A process that ended in between left the first record. Since a script runs
 * completely or not at all, a trial run shows whether the migration was applied.
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

/**
 * Error codes of a migration that runs a second time. The first five mean that a table, another object, a column, a schema or a
 * function already exists. The last one means that an index that the migration drops does not exist. It is needed because a
 * later migration may have dropped the objects that this migration creates first.
 */
const OF_SECOND_RUN = ['42P07', '42710', '42701', '42P06', '42723', '42704'];

async function hasRun(database: Database, { sql }: Migration): Promise<boolean> {
  try {
    await runBetweenOthers(database.runScript, `BEGIN;\n${sql}\n;ROLLBACK;`);
    return false;
  } catch (error) {
    if (OF_SECOND_RUN.includes(String(Reflect.get(error as object, 'code')))) return true;
    throw error;
  }
}

/**
 * Runs a script while nodes of the previous version use its tables. If a node holds a lock for too long, the script is rolled
 * back and starts again after a short random pause.
 *
 * @returns The number of rows that the last statement changed.
 * @throws IncompatibleDatabaseError if another session still holds a lock after `MAX_ATTEMPTS`.
 */
function runBetweenOthers(runScript: Database['runScript'], sql: string): Promise<number> {
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
      throw heldByOther();
    },
  );
}

const heldByOther = () =>
  new IncompatibleDatabaseError(
    'Another session holds a lock on a table that must be migrated, or an old transaction, for example a dump. Find it in ' +
      'pg_stat_activity, and start again when it has ended.',
  );

/** SQL for a lock timeout in milliseconds that is longer than `deadlock_timeout`. */
const AFTER_DEADLOCK_CHECK =
  "500 + round(1000 * extract(epoch FROM current_setting('deadlock_timeout')::interval))::integer";

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
    if (checksum !== checksumOf(migration.sql)) {
      throw new IncompatibleDatabaseError(
        `The database was created with a different version of migration ${migration_name} than the one in this service.`,
      );
    }
  }
  const names = new Set(applied.map(({ migration_name }) => migration_name));
  return known.filter(({ name }) => !names.has(name));
}
