import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../platform/config.ts';
import { ADVISORY_LOCKS } from '../../platform/db/advisory-lock.ts';
import type { RunSql } from '../../platform/db/client.ts';
import { requireMigrated } from '../../platform/db/migrate.ts';
import {
  guardRows,
  hideOrganization,
  holdWrites,
  limitIdleTime,
  type Move,
  readMove,
  readMoves,
  readOrganization,
  releaseWrites,
  removeMove,
  removeRows,
  showOrganization,
  tablesOfOrganizations,
  unguardRows,
  withoutTriggers,
  writeMove,
} from '../../platform/db/organization-moves.ts';
import {
  beginReplication,
  endReplication,
  type Replication,
  replicationName,
  requireReplicating,
  untilCopied,
} from '../../platform/db/replication.ts';
import { requireRights } from '../../platform/db/rights.ts';
import { requireUnsealed } from '../../platform/db/seal.ts';
import { sumOrganization, type Table, tableWithRows } from '../../platform/db/table-copy.ts';
import { ConflictError, NotFoundError, ValidationError } from '../../platform/errors.ts';
import { openVault } from '../secret-key.ts';
import { cellNumber, raiseSequences, requireOtherIds } from './cells.ts';
import { type Report, requireConnectionString, requireDifferent, type Side, withSide } from './sides.ts';

/** Maximum wait for changes in progress, in milliseconds. All other changes of the organization are refused meanwhile. */
const HOLD_MS = 1_000;
/** Maximum time for the subscriber to catch up while changes are held, in milliseconds. */
const CATCH_UP_MS = 2_000;
/** Pause before changes are held again, in milliseconds, and maximum number of attempts. */
const [HOLD_AGAIN_MS, MAX_HOLDS] = [2_000, 20];
/** Interval at which the target is queried for the last change, in milliseconds. */
const LOOK_MS = 5;
/** Interval of statements on the session with the source while only the target is working, in milliseconds. */
const ALIVE_MS = 1_000;
/**
 * Time between the switch and the removal of the rows, in milliseconds. Requests that were in progress at the switch get the
 * same answer as later ones.
 */
const GRACE_MS = 5_000;
const REPORT_MS = 1_000;

/** The options of `org move`. */
export interface MoveOptions {
  readonly subdomain: string;
  /** Connection string of the other database. */
  readonly to: string;
  /** Host, or host and port, at which the server of the target reaches the source. Default: as in DATABASE_URL. */
  readonly sourceAddress?: string | undefined;
  /** A shell command that is run right after the switch, to change the map of the proxy. */
  readonly onSwitch?: string | undefined;
  /** Whether to undo an unfinished move. */
  readonly abort: boolean;
}

/** The result of `moveOrganization`. */
export interface Moved {
  readonly organization: string;
  readonly realm_id: number;
  /** The database that is in use for the organization. */
  readonly database: string;
  /** Time for which changes of the organization were refused, in milliseconds. Null if this call did not switch. */
  readonly held_ms: number | null;
  readonly next: string;
}

/** The two databases of a move, the organization, and what copies it. */
interface Ground {
  readonly source: Side;
  readonly target: Side;
  readonly organizationId: number;
  readonly subdomain: string;
  readonly tables: readonly Table[];
  readonly replication: Replication;
  readonly report: Report;
}

/**
 * Moves an organization to another PostgreSQL database, on which a service of the same version runs, while both are in use.
 *
 * The rows are copied by logical replication. Then changes of the organization are held until the target has all of them, both
 * are compared, and one transaction hides the organization in the source. The next one shows it in the target. If the command
 * fails or is killed before the first of the two, the source is in use, and the next call begins anew. If it is killed later,
 * the next call finishes the move.
 *
 * @throws ValidationError if the options are invalid, or the embedded database is used.
 * @throws NotFoundError if there is no such organization. ConflictError if it cannot be moved: the message says why.
 * @throws IncompatibleDatabaseError if one of the databases is of another version.
 */
export async function moveOrganization(config: Config, options: MoveOptions, report: Report): Promise<Moved> {
  const { subdomain, to, sourceAddress, onSwitch, abort } = options;
  requireConnectionString(to);
  const from = config.databaseUrl;
  if (from === undefined)
    throw new ValidationError('An organization cannot leave the embedded database. Copy it first: "database copy".');
  return withSide(config, (source) =>
    withSide({ ...config, databaseUrl: to }, async (target) => {
      for (const side of [source, target]) await requireUsable(side);
      await requireDifferent(source, target);
      const organizationId = await findOrganization(source, subdomain);
      const tables = await tablesOfBoth(source, target);
      const name = await replicationName(source.run, organizationId);
      const replication = { name, source: source.run, target: target.run };
      const ground: Ground = { ...{ source, target, organizationId, subdomain, tables, replication, report } };
      await lockBoth(ground);
      const move = await readMove(source.run, organizationId);
      if (abort) return undo(ground, move);
      if (move?.state === 'moved') {
        if (move.organization === null)
          throw new ConflictError(`${named(subdomain)} has already moved to ${move.place}.`);
        return finish(ground, onSwitch, null);
      }
      await requireTarget(ground);
      await clear(ground);
      let heldMs: number;
      try {
        await copy(ground, addressOf(from, sourceAddress));
        heldMs = await switchOver(ground);
      } catch (error) {
        // Without this, the next call or --abort would do the same.
        const left = await readMove(source.run, organizationId).catch(() => ({ state: 'moved' }));
        if (left?.state !== 'moved')
          await clear(ground).catch(() => report('the copy could not be removed: repeat the command with --abort'));
        throw error;
      }
      return finish(ground, onSwitch, heldMs);
    }),
  );
}

const named = (subdomain: string): string =>
  subdomain === '' ? 'The organization of the root domain' : `The organization ${subdomain}`;

/** Checks the version, the rights and the secret key of a database. */
async function requireUsable({ config, database, run }: Side): Promise<void> {
  await requireMigrated(database);
  await requireUnsealed(database);
  await requireRights(database);
  await openVault(config, database.db, false);
  // Fails if the role may not copy rows without triggers.
  await run('BEGIN');
  try {
    await withoutTriggers(run);
  } finally {
    await run('ROLLBACK');
  }
}

/** Returns the id of an organization that is in the source, or has moved from there. @throws NotFoundError */
async function findOrganization({ run, place }: Side, subdomain: string): Promise<number> {
  const [row] = await run<{ id: number }>('SELECT id FROM realm WHERE subdomain = $1', [subdomain]);
  if (row !== undefined) return row.id;
  const move = (await readMoves(run)).find((one) => one.subdomain === subdomain && one.state === 'moved');
  if (move !== undefined) return move.organizationId;
  throw new NotFoundError(`${named(subdomain)} does not exist in ${place}.`);
}

/** Returns the tables to copy. @throws ConflictError if the databases have them in other schemas. */
async function tablesOfBoth(source: Side, target: Side): Promise<Table[]> {
  if (source.database.schema() !== target.database.schema()) {
    throw new ConflictError(
      `The tables are in schema ${source.database.schema()} of the source, but in schema ${target.database.schema()} of the ` +
        'target. Replication needs the same name.',
    );
  }
  return tablesOfOrganizations(target.run);
}

/** Locks the organization in both databases until the command ends. @throws ConflictError if another command is moving it. */
async function lockBoth({ source, target, organizationId, subdomain }: Ground): Promise<void> {
  for (const { run } of [source, target]) {
    const [lock] = await run<{ held: boolean }>(
      `SELECT pg_try_advisory_lock(${ADVISORY_LOCKS.ofOne.organization_move}, ${organizationId}) AS held`,
    );
    if (lock?.held !== true) throw new ConflictError(`Another command is moving ${named(subdomain)}.`);
  }
}

/**
 * Checks that the organization can be copied to the target.
 *
 * @throws ConflictError if the source does not support replication, or the target has the organization's number, subdomain or
 *   ids.
 */
async function requireTarget({ source, target, organizationId, subdomain }: Ground): Promise<void> {
  const [setting] = await source.run<{ level: string }>(`SELECT current_setting('wal_level') AS level`);
  if (setting?.level !== 'logical') {
    throw new ConflictError(
      `${source.place} has wal_level ${setting?.level}. Set it to logical, and restart the PostgreSQL server.`,
    );
  }
  const [[taken], arriving] = [
    await target.run<{ id: number; subdomain: string }>(
      'SELECT id, subdomain FROM realm WHERE id = $1::int OR subdomain = $2',
      [organizationId, subdomain],
    ),
    (await readMoves(target.run)).find(
      (move) => move.subdomain === subdomain && move.organizationId !== organizationId,
    ),
  ];
  if (taken?.subdomain === subdomain || arriving !== undefined)
    throw new ConflictError(`${target.place} has or had another organization with the subdomain "${subdomain}".`);
  if (taken !== undefined)
    throw new ConflictError(`${target.place} has another organization with the number ${organizationId}.`);
  const [own, other] = [await cellNumber(source.run), await cellNumber(target.run)];
  if (own === other) {
    throw new ConflictError(
      `Both databases are cell ${own}, so they assign the same ids. Before its first organization is created, give the new one ` +
        'another number: npm run cli -- cell number 2',
    );
  }
  await requireOtherIds(source.run, target.run, organizationId);
}

/** Returns the connection string by which the server of the target reaches the source. */
function addressOf(databaseUrl: string, sourceAddress: string | undefined): string {
  const url = new URL(databaseUrl);
  // The parameter of the service, which PostgreSQL does not know.
  url.searchParams.delete('schema');
  if (!url.searchParams.has('connect_timeout')) url.searchParams.set('connect_timeout', '10');
  // The server reads a plus sign as such, not as a space.
  url.search = url.search.replaceAll('+', '%20');
  if (sourceAddress !== undefined) url.host = sourceAddress;
  return url.href;
}

/** Removes everything that an unfinished move has left in both databases. The source is in use. */
async function clear(ground: Ground): Promise<void> {
  const { source, target, organizationId, subdomain, tables, replication, report } = ground;
  const names = tables.map(({ name }) => name);
  await endReplication(replication);
  // A replication in the other direction, of an earlier move that was not finished, would delete rows of the source.
  await endReplication({
    name: await replicationName(target.run, organizationId),
    ...{ source: target.run, target: source.run },
  });
  const arriving = await readMove(target.run, organizationId);
  if (arriving !== undefined) {
    const removed = await removeRows(target.run, organizationId, names);
    if (removed > 0) report(`removed ${removed} rows of an earlier move from ${target.place}`);
  } else await requireNoRows(ground);
  await unguardRows(target.run, organizationId);
  if (arriving?.state === 'arriving') {
    if (arriving.returns)
      await writeMove(target.run, { ...arriving, subdomain, state: 'moved', place: source.place, returns: false });
    else await removeMove(target.run, organizationId);
  }
  await unguardRows(source.run, organizationId);
  await removeMove(source.run, organizationId);
}

/** Checks that the target has no rows of the organization. @throws ConflictError if it has. */
async function requireNoRows({ target, organizationId, tables }: Ground): Promise<void> {
  const name = await tableWithRows(target.run, tables, organizationId);
  if (name !== undefined)
    throw new ConflictError(`${target.place} has rows of organization ${organizationId} in table ${name}.`);
}

/** Copies the organization to the target, where it stays hidden. Afterwards all changes are replicated. */
async function copy(ground: Ground, address: string): Promise<void> {
  const { source, target, organizationId, subdomain, tables, replication, report } = ground;
  const names = tables.map(({ name }) => name);
  const returns = (await readMove(target.run, organizationId)) !== undefined;
  const move = { organizationId, subdomain, moveId: randomUUID(), organization: null };
  report(`preparing ${target.place}`);
  await writeMove(target.run, { ...move, state: 'arriving', place: source.place, returns });
  await guardRows(target.run, organizationId, names);
  report(`preparing ${source.place}`);
  await writeMove(source.run, { ...move, state: 'leaving', place: target.place, returns: false });
  await guardRows(source.run, organizationId, names);
  report('beginning the replication');
  const isPrivate = await beginReplication(replication, organizationId, { tables: names, address });
  if (!isPrivate)
    report(`the role may not change settings of the log: the log of ${target.place} may contain the source's password`);
  let reportedAt = performance.now();
  report(`copying ${names.length} tables`);
  await untilCopied(replication, (left) => {
    if (performance.now() - reportedAt < REPORT_MS) return;
    reportedAt = performance.now();
    report(`copying: ${left} tables left`);
  });
  report('collecting statistics');
  for (const name of names) await target.run(`ANALYZE "${name}"`);
  await raiseSequences(source.run, target.run);
}

/**
 * Holds the changes of the organization until the target has all of them, compares source and target, and switches.
 *
 * @returns Time for which changes were refused, in milliseconds.
 * @throws ConflictError if changes in progress, or the replication, take too long.
 */
async function switchOver(ground: Ground): Promise<number> {
  const { source, organizationId, replication, report } = ground;
  for (let attempt = 1; attempt <= MAX_HOLDS; attempt++) {
    await untilCaughtUp(ground, Number.POSITIVE_INFINITY);
    report('holding changes');
    const since = performance.now();
    await limitIdleTime(source.run, true);
    try {
      if (await holdWrites(source.run, organizationId, HOLD_MS)) {
        try {
          if (await untilCaughtUp(ground, CATCH_UP_MS)) {
            await raiseSequences(source.run, ground.target.run);
            await compare(ground);
            await show(ground);
            return Math.round(performance.now() - since);
          }
        } finally {
          await releaseWrites(source.run, organizationId).catch(() => {});
        }
      }
    } finally {
      await limitIdleTime(source.run, false).catch(() => {});
    }
    await requireReplicating(replication);
    report(`released: changes in progress or the replication took too long (attempt ${attempt})`);
    await sleep(HOLD_AGAIN_MS);
  }
  throw new ConflictError(
    'The organization could not be held: its changes, or the replication, took too long each time.',
  );
}

/**
 * Waits until the target has all changes that were committed before the call.
 *
 * @returns Whether it has, after at most `patienceMs` milliseconds.
 */
async function untilCaughtUp(
  { source, target, organizationId, replication }: Ground,
  patienceMs: number,
): Promise<boolean> {
  // An id of the log that belongs to no event. Changes arrive in the order of their commits.
  const [last] = await source.run<{ id: string }>(
    'UPDATE event_counter SET last_id = last_id + 1 WHERE realm_id = $1::int RETURNING last_id::text AS id',
    [organizationId],
  );
  const since = performance.now();
  for (let look = 1; performance.now() - since < patienceMs; look++) {
    const [found] = await target.run<{ isThere: boolean }>(
      'SELECT last_id >= $2::bigint AS "isThere" FROM event_counter WHERE realm_id = $1::int',
      [organizationId, last?.id],
    );
    if (found?.isThere === true) return true;
    if (look % 100 === 0) await requireReplicating(replication);
    await sleep(LOOK_MS);
  }
  return false;
}

/** Compares all rows of the organization in both databases. @throws Error if they differ, which is a fault of this program. */
async function compare({ source, target, organizationId, tables, report }: Ground): Promise<void> {
  const copying = sumOrganization(target.run, tables, organizationId);
  const summing = sumOrganization(source.run, tables, organizationId).then(async (sums) => {
    await keepAlive(source.run, copying);
    return sums;
  });
  const [own, copied] = await Promise.all([summing, copying]);
  for (const [i, { name }] of tables.entries()) {
    if (JSON.stringify(own?.[i]) === JSON.stringify(copied?.[i])) continue;
    throw new Error(`The copy of table ${name} differs: ${JSON.stringify({ source: own?.[i], copy: copied?.[i] })}`);
  }
  const rows = own?.reduce((sum, one) => sum + one.rows, 0) ?? 0;
  report(`compared ${rows} rows in ${tables.length} tables`);
}

/** Runs statements on an idle session until a promise is settled. */
async function keepAlive(run: RunSql, until: Promise<unknown>): Promise<void> {
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  const over = until.then(end, end);
  for (;;) {
    await Promise.race([over, sleep(ALIVE_MS)]);
    if (isOver) return;
    await run('SELECT 1 AS alive');
  }
}

/** Hides the organization in the source and shows it in the target. */
async function show(ground: Ground): Promise<void> {
  const { source, target, organizationId, report } = ground;
  const [move, arriving, organization] = [
    await readMove(source.run, organizationId),
    await readMove(target.run, organizationId),
    await readOrganization(source.run, organizationId),
  ];
  if (move === undefined || arriving === undefined || organization === undefined)
    throw new Error('The records of the move are missing.');
  report('switching');
  await target.run('BEGIN');
  await showIn(target.run, arriving, organization);
  await source.run('BEGIN');
  await withoutTriggers(source.run);
  await writeMove(source.run, { ...move, state: 'moved', organization });
  await hideOrganization(source.run, organizationId);
  await source.run('COMMIT');
  await target.run('COMMIT');
}

async function showIn(run: RunSql, { organizationId }: Move, organization: object): Promise<void> {
  await withoutTriggers(run);
  await showOrganization(run, organization);
  await removeMove(run, organizationId);
}

/** Completes a move after the source has hidden the organization. May be repeated. */
async function finish(ground: Ground, onSwitch: string | undefined, heldMs: number | null): Promise<Moved> {
  const { source, target, organizationId, subdomain, tables, replication, report } = ground;
  const move = await readMove(source.run, organizationId);
  const arriving = await readMove(target.run, organizationId);
  if (move?.state !== 'moved') throw new Error('The record of the move is missing.');
  if (arriving?.state === 'arriving') {
    if (arriving.moveId !== move.moveId || move.organization === null)
      throw new ConflictError(`${named(subdomain)} has moved to ${move.place}.`);
    await raiseSequences(source.run, target.run);
    await target.run('BEGIN');
    await showIn(target.run, arriving, move.organization);
    await target.run('COMMIT');
  } else if ((await readOrganization(target.run, organizationId)) === undefined)
    throw new ConflictError(`${named(subdomain)} has moved to ${move.place}, not to ${target.place}.`);
  report(`switched: ${target.place} is in use`);
  if (onSwitch !== undefined) await runShell(onSwitch, report);
  await endReplication(replication);
  await unguardRows(target.run, organizationId);
  await sleep(GRACE_MS);
  report(`removing the rows from ${source.place}`);
  const removed = await removeRows(
    source.run,
    organizationId,
    tables.map(({ name }) => name),
  );
  await unguardRows(source.run, organizationId);
  await writeMove(source.run, { ...move, organization: null });
  report(`removed ${removed} rows`);
  return {
    ...{ organization: subdomain, realm_id: organizationId, database: target.place, held_ms: heldMs },
    next: 'The proxy must send the requests of this organization to the nodes of that database.',
  };
}

async function runShell(command: string, report: Report): Promise<void> {
  const child = spawn(command, { shell: true, stdio: ['ignore', 2, 2] });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) report(`the command of --on-switch failed (${code}): change the map of the proxy by hand`);
}

/**
 * Undoes an unfinished move.
 *
 * @throws ConflictError if the target is already in use, or is not the target of the move. The target of the move could be in
 *   use then.
 */
async function undo(ground: Ground, move: Move | undefined): Promise<Moved> {
  const { source, target, organizationId, subdomain } = ground;
  const other = await readMove(target.run, organizationId);
  const isOfMove = other !== undefined && other.moveId === move?.moveId;
  if (move?.state === 'leaving' && !isOfMove && (other !== undefined || move.place !== target.place))
    throw new ConflictError(`${named(subdomain)} is moving to ${move.place}, not to ${target.place}.`);
  if (move?.state === 'moved') {
    const isShown = (await readOrganization(target.run, organizationId)) !== undefined;
    if (isShown || move.organization === null)
      throw new ConflictError(`${named(subdomain)} has moved to ${move.place}. To return it, move it back.`);
    if (!isOfMove || other.state !== 'arriving')
      throw new ConflictError(`${named(subdomain)} has moved to ${move.place}, not to ${target.place}.`);
    await source.run('BEGIN');
    await withoutTriggers(source.run);
    await showOrganization(source.run, move.organization);
    await writeMove(source.run, { ...move, state: 'leaving', organization: null });
    await source.run('COMMIT');
  }
  await clear(ground);
  return {
    ...{ organization: subdomain, realm_id: organizationId, database: source.place, held_ms: null },
    next: 'The organization stays where it was.',
  };
}
