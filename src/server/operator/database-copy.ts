import { randomBytes, randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LogContext } from '../../events/context.ts';
import { beginEpoch, readEpoch } from '../../events/epoch.ts';
import { judge } from '../../events/epoch-rules.ts';
import type { Config } from '../../platform/config.ts';
import { ADVISORY_LOCKS } from '../../platform/db/advisory-lock.ts';
import type { RunSql } from '../../platform/db/client.ts';
import { migrate, requireMigrated } from '../../platform/db/migrate.ts';
import { NoRightsError, requireRights, requireUsableSettings } from '../../platform/db/rights.ts';
import { permitEvents, readSeal, removeSeal, sealMessage, writeSeal } from '../../platform/db/seal.ts';
import { requireSessions } from '../../platform/db/sessions.ts';
import {
  copyRows,
  copySequences,
  hasRows,
  readTables,
  sumTable,
  type Table,
  withoutRules,
} from '../../platform/db/table-copy.ts';
import { ConflictError } from '../../platform/errors.ts';
import { openLog } from '../../platform/log.ts';
import { moveCookieId, renewCookieId } from '../cookie-id.ts';
import { type Report, requireConnectionString, requireDifferent, type Side, withSide } from './sides.ts';

/** Minimum interval between two lines about one table, in milliseconds. Lines in between are omitted. */
const REPORT_MS = 1_000;
/**
 * `END_MS`: time in which the sessions of a stopped node end, in milliseconds. If sessions remain afterwards, the copy is
 * refused with ConflictError. `QUIET_MS`: time without any session, in milliseconds, after which no node is running. A running
 * node that lost its connection connects again within this time.
 */
const [END_MS, QUIET_MS] = [5_000, 1_500];
const LOOK_AGAIN_MS = 250;

/** The result of `copyDatabase`. */
export interface Copied {
  /** Whether clients resume their event queues at the copy. Otherwise they register again. */
  readonly event_queues: 'continue' | 'end';
  readonly next: string;
}

/**
 * Copies all data of the configured database to an empty PostgreSQL database: rows with their ids, and sequences. Then seals
 * the configured database, so that no server starts on it by mistake.
 *
 * All rows are inserted and compared in one transaction. If the command is killed before its commit, the configured database is
 * unchanged and the target contains no rows. If it is killed later, the next call finishes the copy.
 *
 * @param to Connection string of the target.
 * @throws DataDirectoryInUseError, ConflictError if a server uses one of the databases, if the target contains data, or if the
 *   data was copied to another database before.
 * @throws IncompatibleDatabaseError if one of the databases is of another version.
 * @throws NoRightsError if the role of one of the databases does not own the tables.
 */
export async function copyDatabase(config: Config, to: string, report: Report): Promise<Copied> {
  requireConnectionString(to);
  // PostgreSQL lists the sessions of this command under this name. It truncates names to 63 bytes.
  const name = `copy-${randomBytes(6).toString('hex')}`;
  const { databaseUrl: from } = config;
  return withSide({ ...config, ...(from !== undefined && { databaseUrl: named(from, name) }) }, async (source) => {
    await requireMigrated(source.database);
    const seal = await readSeal(source.run);
    if (seal?.state === 'incomplete') throw new ConflictError(sealMessage(seal));
    await requireOwner(source, 'the copy seals them');
    await requireUnused(source, name);
    return withSide({ ...config, databaseUrl: named(to, name) }, async (target) => {
      await requireDifferent(source, target);
      await prepareTarget(target, { name, copyId: seal?.copyId, report });
      if (seal === null) await copyAll(source, target, report);
      else if ((await readSeal(target.run)) === null) throw new ConflictError(sealMessage(seal));
      return finish(source, target);
    });
  });
}

/**
 * Checks that the role of the database owns the tables of the service.
 *
 * @param reason Why the command needs the owner, for the operator.
 * @throws NoRightsError if it does not.
 */
async function requireOwner({ run, place }: Side, reason: string): Promise<void> {
  const [found] = await run<{ name: string; owner: string; role: string }>(
    `SELECT c.relname::text AS name, pg_get_userbyid(c.relowner)::text AS owner, current_user::text AS role
     FROM pg_class c JOIN pg_class first ON first.oid = '_prisma_migrations'::regclass
     WHERE c.relnamespace = first.relnamespace AND c.relowner = first.relowner AND c.relkind = 'r'
       AND NOT pg_has_role(c.relowner, 'USAGE') ORDER BY c.relname LIMIT 1`,
  );
  if (found === undefined) return;
  const { name, owner, role } = found;
  throw new NoRightsError(
    `The role ${role} does not own table ${name} of ${place}, and ${reason}. Run this command as its owner, ${owner}.`,
  );
}

/** Returns a connection string whose sessions have a name that ends with `name`. */
const named = (url: string, name: string): string =>
  `${url}${url.includes('?') ? '&' : '?'}application_name=${encodeURIComponent(name)}`;

/**
 * Checks that no node uses a database, and prevents nodes from starting until the session of this command ends.
 *
 * @throws ConflictError if a node or another copy uses the database.
 */
async function requireUnused({ database, run, place }: Side, name: string): Promise<void> {
  // The lock of the data directory already excludes other processes from the embedded database.
  if (database.kind === 'embedded') return;
  const [lock] = await run<{ held: boolean }>(
    `SELECT pg_try_advisory_lock(${ADVISORY_LOCKS.ofAll.database_copy}) AS held`,
  );
  if (lock?.held !== true) throw new ConflictError(`Another command is copying ${place}.`);
  let quietSince: number | undefined;
  for (const end = performance.now() + END_MS; ; await sleep(LOOK_AGAIN_MS)) {
    const [sessions] = await run<{ others: number }>(
      `SELECT count(*)::int AS others FROM pg_stat_activity WHERE datname = current_database()
       AND application_name ~ '^chat-[0-9a-f]{24}' AND NOT application_name LIKE '%' || $1::text`,
      [name],
    );
    const others = sessions?.others ?? 0;
    quietSince = others === 0 ? (quietSince ?? performance.now()) : undefined;
    if (quietSince !== undefined && performance.now() - quietSince >= QUIET_MS) return;
    if (others > 0 && performance.now() > end) {
      throw new ConflictError(`The service uses ${place}, with ${others} connections. Stop all its nodes first.`);
    }
  }
}

/**
 * Creates the tables in the target.
 *
 * @param copyId Identifies the copy that the target contains, if the source was already sealed.
 * @throws ConflictError if the target contains data.
 */
async function prepareTarget(
  target: Side,
  { name, copyId, report }: { readonly name: string; readonly copyId: string | undefined; readonly report: Report },
): Promise<void> {
  const { config, database, run, place } = target;
  if (config.databaseUrl !== undefined) await requireSessions(config.databaseUrl);
  await requireUsableSettings(database);
  await requireUnused(target, name);
  if (copyId !== undefined) return;
  const seal = await readSeal(run);
  if (seal !== null) throw new ConflictError(sealMessage(seal));
  for (const table of await readTables(run)) {
    if (table.name !== 'log_epoch' && (await hasRows(run, table))) {
      throw new ConflictError(
        `${place} is not empty: table ${table.name} has rows. Create a new database for the copy.`,
      );
    }
  }
  report('creating the tables');
  await migrate(config, database);
  await requireRights(database);
  await requireOwner(target, 'the copy disables their triggers and foreign keys');
}

async function copyAll(source: Side, target: Side, report: Report): Promise<void> {
  await source.run('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  await source.run(`SET LOCAL TimeZone = 'UTC'`);
  await target.run('BEGIN');
  const tables = await tablesOfBoth(source, target, report);
  await target.run('DELETE FROM log_epoch');
  const restoreRules = await withoutRules(target.run);
  for (const table of tables) await copyTable(source.run, target.run, table, report);
  await copySequences(source.run, target.run);
  report('checking foreign keys');
  await restoreRules();
  const [at, copyId] = [new Date(), randomUUID()];
  await writeSeal(target.run, { state: 'incomplete', place: source.place, at, copyId });
  await source.run('COMMIT');
  report('committing the copy');
  await target.run('COMMIT');
  await source.run('BEGIN');
  await writeSeal(source.run, { state: 'moved', place: target.place, at, copyId });
  await source.run('COMMIT');
  report('collecting statistics');
  await target.run('ANALYZE');
}

/**
 * Returns the tables of the service, which the target has after its migrations. Other tables of the source are not copied.
 *
 * @throws Error if the source lacks a table or column.
 */
async function tablesOfBoth(source: Side, target: Side, report: Report): Promise<readonly Table[]> {
  const tables = await readTables(target.run);
  const known = new Map((await readTables(source.run)).map((table) => [table.name, table]));
  for (const { name, columns } of tables) {
    if (known.get(name)?.columns.join() === columns.join()) known.delete(name);
    else
      throw new Error(`Table ${name} of ${source.place} has other columns than in this version: nothing was copied.`);
  }
  if (!tables.some(({ name }) => name === 'log_epoch'))
    throw new Error(`${target.place} has no tables of the service.`);
  for (const name of known.keys()) report(`not copied, because it is no table of the service: ${name}`);
  return tables;
}

/** Copies a table, and compares the copy with it. @throws Error if the copy differs, which is a fault of this program. */
async function copyTable(source: RunSql, target: RunSql, table: Table, report: Report): Promise<void> {
  const sum = await sumTable(source, table);
  let reportedAt = performance.now();
  await copyRows(source, target, { ...table, longest: sum.longest }, (rows) => {
    if (performance.now() - reportedAt < REPORT_MS) return;
    reportedAt = performance.now();
    report(`${table.name}: ${rows} of ${sum.rows} rows`);
  });
  const copied = await sumTable(target, table);
  if (copied.rows !== sum.rows || copied.checksum !== sum.checksum) {
    throw new Error(`The copy of table ${table.name} differs: ${JSON.stringify({ source: sum, copy: copied })}`);
  }
  if (sum.rows > 0) report(`${table.name}: ${sum.rows} rows, checksum ${sum.checksum}`);
}

/**
 * Makes a complete copy usable: removes the seal of the target. The seal of the source, which prevents its use, must exist and
 * remains.
 *
 * @throws ConflictError if the seals of source and target do not belong to the same copy.
 */
async function finish(source: Side, target: Side): Promise<Copied> {
  const seal = await readSeal(target.run);
  const own = await readSeal(source.run);
  if (seal?.state !== 'incomplete' || seal.copyId !== own?.copyId) {
    throw new ConflictError(`${target.place} does not contain the unfinished copy of ${source.place}.`);
  }
  const continues = (await isEpochWhole(source)) && (await hasSamePositions(source, target));
  await target.run('BEGIN');
  // Without this statement, the next start of the service finds tables at another location, and begins a new epoch.
  if (continues) {
    await target.run(
      `UPDATE log_epoch e SET tables = d.oid || '/' || e.tableoid, cluster = p.cluster, timeline = p.timeline, copy = NULL
       FROM log_place() p, pg_database d WHERE d.datname = current_database()`,
    );
  }
  await moveCookieId(source, target);
  await removeSeal(target.run);
  await target.run('COMMIT');
  const key =
    source.config.databaseUrl === undefined && source.config.secretKey === undefined
      ? `SECRET_KEY to the content of ${resolve(source.config.dataDir, 'secret-key')}`
      : 'keep SECRET_KEY (and SECRET_KEY_PREVIOUS, if it is set)';
  return {
    event_queues: continues ? 'continue' : 'end',
    next: `Set DATABASE_URL to ${target.place}, and ${key}. Then start the service.`,
  };
}

const contextOf = ({ config, database }: Side): LogContext => ({
  ...{ config, database, db: database.db, log: openLog(config.logLevel), now: () => new Date() },
});

/** Returns whether the log of a database has lost no events: whether its next start would continue the epoch. */
async function isEpochWhole(side: Side): Promise<boolean> {
  const { kept, found } = await readEpoch(contextOf(side));
  const verdict = judge(kept, found, { witness: 'none', waitedMs: Number.POSITIVE_INFINITY });
  return verdict === 'same' || verdict === 'adopt';
}

const POSITIONS = `SELECT COALESCE(sum(hashtextextended(realm_id || ' ' || last_id, 0)::numeric), 0)::text AS sum FROM event_counter`;

/** Returns whether no event was logged in the source after it was copied. */
async function hasSamePositions(source: Side, target: Side): Promise<boolean> {
  const [[ofSource], [ofTarget]] = [await source.run(POSITIONS), await target.run(POSITIONS)];
  return JSON.stringify(ofSource) === JSON.stringify(ofTarget);
}

/**
 * Makes a database usable again whose data was copied to another one. Begins a new epoch, because clients may have read events
 * of the other database.
 *
 * @throws ConflictError if the database is not sealed, or is an unfinished copy.
 * @throws NoRightsError if the role of the database does not own the tables.
 */
export async function unsealDatabase(config: Config): Promise<{ readonly queues_ended: number }> {
  return withSide(config, async (side) => {
    await requireMigrated(side.database);
    const seal = await readSeal(side.run);
    if (seal === null) throw new ConflictError('The database is not sealed.');
    if (seal.state === 'incomplete') throw new ConflictError(sealMessage(seal));
    await requireOwner(side, 'the command changes them');
    const app = contextOf(side);
    await permitEvents(side.run);
    const end = await beginEpoch(app, await readEpoch(app), 'operator');
    await renewCookieId(side.run);
    await removeSeal(side.run);
    return { queues_ended: end?.queues ?? 0 };
  });
}
