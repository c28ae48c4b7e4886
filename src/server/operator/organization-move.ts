import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeAuditLog } from '../../events/audit.ts';
import { requireSameBucket } from '../../messages/attachments/place.ts';
import type { Config } from '../../platform/config.ts';
import { ADVISORY_LOCKS } from '../../platform/db/advisory-lock.ts';
import type { RunSql } from '../../platform/db/client.ts';
import { requireMigrated } from '../../platform/db/migrate.ts';
import {
  announceArrival,
  guardRows,
  hideOrganization,
  holdWrites,
  limitIdleTime,
  type Move,
  readMove,
  readMoves,
  readOrganization,
  recordChanges,
  releaseWrites,
  removeMove,
  removeRows,
  showOrganization,
  tablesOfOrganizations,
  takeChanges,
  unguardRows,
  withoutTriggers,
  writeMove,
} from '../../platform/db/organization-moves.ts';
import {
  beginReplication,
  endPublication,
  endReplication,
  endSubscription,
  isReplicating,
  type Replication,
  replicationName,
  requireReplicating,
  subscriptionsTo,
  untilCopied,
} from '../../platform/db/replication.ts';
import { requireRights } from '../../platform/db/rights.ts';
import { requireUnsealed } from '../../platform/db/seal.ts';
import {
  type ChangedRows,
  sumChanged,
  sumOrganization,
  type Table,
  tableWithRows,
} from '../../platform/db/table-copy.ts';
import { ConflictError, NotFoundError, ValidationError } from '../../platform/errors.ts';
import { isSendingMail } from '../../platform/mail/outbox.ts';
import { openVault } from '../secret-key.ts';
import { cellNumber, raiseSequences, raiseToCell, requireOtherIds, requireSequences } from './cells.ts';
import { type Report, requireConnectionString, requireDifferent, type Side, withSide } from './sides.ts';

/** Maximum wait for changes in progress, in milliseconds. All other changes of the organization are refused meanwhile. */
const HOLD_MS = 700;
/** Maximum time for the subscriber to catch up while changes are held, in milliseconds. */
const CATCH_UP_MS = 700;
/**
 * Maximum number of changed rows that are compared while changes are held. If there are more, changes are released, these rows
 * are compared while the organization is in use, and the switch is tried again with the rows that have changed since.
 */
const MAX_COMPARED = 3_000;
/**
 * Maximum time for the subscriber to apply the switch, in milliseconds. Afterwards the command fails, and the next one finishes
 * the move. The subscriber still applies the switch as soon as it can.
 */
const SHOW_MS = 20_000;
/** Maximum wait for the result of an email that is being sent, and interval of queries for it, in milliseconds. */
const [MAIL_MS, MAIL_LOOK_MS] = [30_000, 200];
/** Maximum duration of the command of `--on-switch`, in milliseconds. Afterwards its process group is killed. */
const ON_SWITCH_MS = 60_000;
/** Pause before changes are held again, in milliseconds, and maximum number of attempts. */
const [HOLD_AGAIN_MS, MAX_HOLDS] = [2_000, 20];
/** Interval at which the target is queried for the last change, in milliseconds. */
const LOOK_MS = 5;
/**
 * Time between the switch and the removal of the rows, in milliseconds. In this time, the requests that were in progress at the
 * switch end.
 */
const GRACE_MS = 5_000;
const REPORT_MS = 1_000;

/** The options of `org move`. */
export interface MoveOptions {
  readonly subdomain: string;
  /** Connection string of the other database. Undefined only with `abort`. */
  readonly to?: string | undefined;
  /** Host, or host and port, at which the server of the target reaches the source. Default: as in DATABASE_URL. */
  readonly sourceAddress?: string | undefined;
  /** A shell command that is run right after the switch, to change the map of the proxy. */
  readonly onSwitch?: string | undefined;
  /** Whether to undo an unfinished move: in both databases, or without `to` in the configured one alone. */
  readonly abort: boolean;
}

/** The result of `moveOrganization`. */
export interface Moved {
  readonly organization: string;
  readonly realm_id: number;
  /** Host and name of the database that serves the organization after the call, without credentials. */
  readonly database: string;
  /** Longest time for which changes of the organization were refused, in milliseconds. Null if this call did not switch. */
  readonly held_ms: number | null;
  readonly next: string;
}

/** The two databases of a move, the organization, its tables, and the replication that copies them. */
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
 * The rows are copied by logical replication. Then changes of the organization are blocked (held) until both databases have the
 * same state, and a snapshot of each is taken. The snapshots are compared after the changes are released. Then changes are held
 * again until the target has all of them, and the rows that changed since the snapshots are compared. Finally, one transaction
 * hides the organization in the source, and its replication shows the organization in the target: this is the switch. If the
 * command fails or is killed before the switch, the source stays in use, and the next call begins anew. If it is killed later,
 * the target is in use, and the next call removes the rows from the source.
 *
 * @throws ValidationError if the options are invalid, or the embedded database is used.
 * @throws NotFoundError if there is no such organization.
 * @throws ConflictError if it cannot be moved. The message contains the reason.
 * @throws IncompatibleDatabaseError if one of the databases is of another version.
 */
export async function moveOrganization(config: Config, options: MoveOptions, report: Report): Promise<Moved> {
  const { subdomain, to, sourceAddress, onSwitch, abort } = options;
  if (to === undefined && !abort)
    throw new ValidationError('--to is required: the connection string of the other database.', { parameter: 'to' });
  if (to !== undefined) requireConnectionString(to);
  const from = config.databaseUrl;
  if (from === undefined)
    throw new ValidationError('An organization cannot leave the embedded database. Copy it first: "database copy".');
  if (to === undefined) return withSide(config, (side) => undoHere(side, subdomain, report));
  return withSide(config, (source) =>
    withSide({ ...config, databaseUrl: to }, async (target) => {
      for (const side of [source, target]) await requireUsable(side);
      await requireDifferent(source, target);
      const organizationId = await findOrganization(source, subdomain);
      if (!abort) for (const side of [source, target]) await requireCurrentNodes(side);
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
        // If this cleanup fails, the next call or --abort repeats it.
        await source.run('ROLLBACK').catch(() => {});
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

/**
 * Checks that no node of a version without moves uses a database. It would not end the readers of an organization that has moved.
 *
 * @throws ConflictError if one does.
 */
async function requireCurrentNodes({ run, place }: Side): Promise<void> {
  const [found] = await run<{ nodes: number }>(
    `SELECT count(*)::int AS nodes FROM pg_stat_activity
     WHERE datname = current_database() AND application_name ~ '^chat-[0-9a-f]{24}( |$)'`,
  );
  if (found?.nodes !== 0)
    throw new ConflictError(`Nodes of an earlier version use ${place}. Restart all nodes with this version first.`);
}

/** Returns the id of an organization that is in the source, or has moved from there. @throws NotFoundError */
async function findOrganization({ run, place }: Side, subdomain: string): Promise<number> {
  const [row] = await run<{ id: number }>('SELECT id FROM realm WHERE subdomain = $1', [subdomain]);
  if (row !== undefined) return row.id;
  const move = (await readMoves(run)).find((one) => one.subdomain === subdomain && one.state === 'moved');
  if (move !== undefined) return move.organizationId;
  throw new NotFoundError(`${named(subdomain)} does not exist in ${place}.`);
}

/** Returns the tables to copy. @throws ConflictError if the name of their schema differs between the databases. */
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
  for (const { run } of [source, target]) await lockOne(run, organizationId, subdomain);
}

async function lockOne(run: RunSql, organizationId: number, subdomain: string): Promise<void> {
  const [lock] = await run<{ held: boolean }>(
    `SELECT pg_try_advisory_lock(${ADVISORY_LOCKS.ofOne.organization_move}, ${organizationId}) AS held`,
  );
  if (lock?.held !== true) throw new ConflictError(`Another command is moving ${named(subdomain)}.`);
}

/**
 * Checks that the organization can be copied to the target. Raises sequences of both that are below the ids of their cells.
 *
 * @throws ConflictError if the source does not support replication, the target has the organization's number, subdomain or ids,
 *   or its nodes cannot read files that the organization has in a bucket.
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
      `Both databases have the cell number ${own}, so they assign the same ids. Assign another number to the new database ` +
        'before its first organization is created: npm run cli -- cell number --number 2',
    );
  }
  for (const { run } of [source, target]) await raiseToCell(run);
  await requireOtherIds(source.run, target.run, organizationId);
  await requireSameBucket(source.run, target.run, organizationId);
}

/** Returns the connection string by which the server of the target reaches the source. */
function addressOf(databaseUrl: string, sourceAddress: string | undefined): string {
  const url = new URL(databaseUrl);
  // A parameter of the service that PostgreSQL rejects.
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
  if (arriving?.state === 'arriving') await forgetArrival(target.run, { ...arriving, subdomain, place: source.place });
  await unguardRows(source.run, organizationId);
  await removeMove(source.run, organizationId);
}

/** Replaces the record of an unfinished move by the record that existed before this move. */
async function forgetArrival(run: RunSql, arriving: Move): Promise<void> {
  if (arriving.returns) await writeMove(run, { ...arriving, state: 'moved', returns: false });
  else await removeMove(run, arriving.organizationId);
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
  await auditMove(source, move, 'organization_move_begun');
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
 * Compares source and target, and switches.
 *
 * First, changes are held until both databases have the same state, of which a snapshot is taken in both. The snapshots are
 * compared while the organization is in use. Then changes are held again, the rows that changed meanwhile are compared, and the
 * organization is switched. So the time of a hold does not depend on the size of the organization.
 *
 * @returns The longest time for which changes were refused, in milliseconds.
 * @throws ConflictError if changes in progress, or the replication, take too long, or the nodes of the target cannot read files
 *   that the organization has in a bucket.
 */
async function switchOver(ground: Ground): Promise<number> {
  const { source, target, organizationId, replication, report } = ground;
  let longest = 0;
  return source.database.session((own) =>
    target.database.session(async (copied) => {
      let isCompared = false;
      for (let attempt = 1; attempt <= MAX_HOLDS; attempt++) {
        await untilCaughtUp(ground, Number.POSITIVE_INFINITY);
        await raiseSequences(source.run, target.run);
        report('holding changes');
        const since = performance.now();
        const round = await whileHeld(ground, async () => {
          if (!(await untilCaughtUp(ground, CATCH_UP_MS))) return undefined;
          const changes = isCompared ? await takeChanges(source.run, organizationId) : undefined;
          if (changes !== undefined && changes.count <= MAX_COMPARED) {
            await requireSequences(source.run, target.run);
            await compare(ground, source.run, target.run, changes);
            // Files can have been uploaded to the bucket since the first check.
            await requireSameBucket(source.run, target.run, organizationId);
            await show(ground);
            return { isSwitched: true, changes };
          }
          if (changes === undefined) await recordChanges(source.run, organizationId);
          for (const run of [own, copied]) {
            await run('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
            // The first statement takes the snapshot.
            await run('SELECT pg_current_snapshot()::text AS taken');
          }
          return { isSwitched: false, changes };
        });
        longest = Math.max(longest, Math.round(performance.now() - since));
        if (round?.isSwitched === true) return longest;
        if (round === undefined) {
          await requireReplicating(replication);
          report(`released: changes in progress or the replication took too long (attempt ${attempt})`);
          await sleep(HOLD_AGAIN_MS);
          continue;
        }
        report('released: comparing');
        await compare(ground, own, copied, round.changes);
        for (const run of [own, copied]) await run('COMMIT');
        isCompared = true;
        await untilMailSent(ground);
      }
      throw new ConflictError(
        'Changes of the organization could not be blocked: in each attempt, changes in progress or the replication ' +
          'took too long.',
      );
    }),
  );
}

/** Waits until the results of emails that are being sent are stored. Nodes claim no further ones meanwhile. */
async function untilMailSent({ source, organizationId, report }: Ground): Promise<void> {
  const since = performance.now();
  while (await isSendingMail(source.run, organizationId)) {
    if (performance.now() - since > MAIL_MS) {
      report('an email is still being sent: the other database may send it again, with the same Message-ID');
      return;
    }
    await sleep(MAIL_LOOK_MS);
  }
}

/**
 * Holds the changes of the organization while `work` runs. Other changes are refused.
 *
 * @returns The result of `work`. Undefined if changes in progress took too long, and `work` was not called.
 */
async function whileHeld<T>({ source, organizationId }: Ground, work: () => Promise<T>): Promise<T | undefined> {
  await limitIdleTime(source.run, true);
  try {
    if (!(await holdWrites(source.run, organizationId, HOLD_MS))) return undefined;
    try {
      return await work();
    } finally {
      await releaseWrites(source.run, organizationId).catch(() => {});
    }
  } finally {
    await limitIdleTime(source.run, false).catch(() => {});
  }
}

/**
 * Waits until the target has all changes that were committed before the call.
 *
 * @returns False if some changes are still missing after `patienceMs` milliseconds.
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

/**
 * Compares rows of the organization in both databases.
 *
 * @param changes The rows to compare. Undefined: all rows.
 * @throws Error if they differ, which is a fault of this program.
 */
async function compare(
  { organizationId, tables, report }: Ground,
  own: RunSql,
  copied: RunSql,
  changes: ChangedRows | undefined,
): Promise<void> {
  const [ofSource, ofTarget] = await Promise.all(
    [own, copied].map((run) =>
      changes === undefined
        ? sumOrganization(run, tables, organizationId)
        : sumChanged(run, tables, organizationId, changes),
    ),
  );
  for (const [i, { name }] of tables.entries()) {
    const [source, copy] = [ofSource?.[i], ofTarget?.[i]];
    if (JSON.stringify(source) !== JSON.stringify(copy))
      throw new Error(`The copy of table ${name} differs: ${JSON.stringify({ source, copy })}`);
  }
  const rows = ofSource?.reduce((sum, one) => sum + one.rows, 0) ?? 0;
  report(
    changes === undefined
      ? `compared ${rows} rows in ${tables.length} tables`
      : `compared again ${changes.count} rows that changed`,
  );
}

/**
 * Hides the organization in the source, by a transaction whose replication shows it in the target, and waits for that. If the
 * command is killed after the commit, the target still shows the organization.
 *
 * @throws ConflictError if the target does not apply the transaction in time.
 */
async function show(ground: Ground): Promise<void> {
  const { source, target, organizationId, subdomain, report } = ground;
  const [move, arriving, organization] = [
    await readMove(source.run, organizationId),
    await readMove(target.run, organizationId),
    await readOrganization(source.run, organizationId),
  ];
  if (move === undefined || arriving?.moveId !== move.moveId || organization === undefined)
    throw new Error('The records of the move are missing.');
  report('switching');
  await source.run('BEGIN');
  await announceArrival(source.run, move, organization);
  await withoutTriggers(source.run);
  await writeMove(source.run, { ...move, state: 'moved', organization });
  await hideOrganization(source.run, organizationId);
  await source.run('COMMIT');
  if (await untilShown(ground)) return;
  throw new ConflictError(
    `${named(subdomain)} has left ${source.place}, but ${target.place} has not applied the switch: the log of its server says ` +
      'why. Until it has, requests are answered 503. To finish the move, repeat the command. To revert it, add --abort.',
  );
}

/** Waits until the target shows the organization. @returns Whether it does. False if it cannot apply the switch. */
async function untilShown({ source, target, organizationId, replication }: Ground): Promise<boolean> {
  const since = performance.now();
  for (let look = 1; performance.now() - since < SHOW_MS; look++) {
    if ((await readOrganization(target.run, organizationId)) !== undefined) return true;
    if (look % 100 === 0) {
      if (!(await isReplicating(replication))) return false;
      // The session with the source must not be idle for long.
      await source.run('SELECT 1 AS alive');
    }
    await sleep(LOOK_MS);
  }
  return false;
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
    const isShown = (await isReplicating(replication)) && (await untilShown(ground));
    if (!isShown) await showByHand(ground, arriving, move.organization);
  } else if ((await readOrganization(target.run, organizationId)) === undefined)
    throw new ConflictError(`${named(subdomain)} has moved to ${move.place}, not to ${target.place}.`);
  report(`switched: ${target.place} is in use`);
  if (onSwitch !== undefined) await runShell(onSwitch, report);
  await endReplication(replication);
  await unguardRows(target.run, organizationId);
  await auditMove(target, move, 'organization_moved');
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

/**
 * Writes the entry of the audit log about a move to one of its databases, unless an earlier call has. The entry of the source is
 * copied to the target.
 */
async function auditMove(
  { database }: Side,
  { organizationId, moveId }: Pick<Move, 'organizationId' | 'moveId'>,
  action: 'organization_move_begun' | 'organization_moved',
): Promise<void> {
  const { db } = database;
  const details = { path: ['move_id', 'new'], equals: moveId };
  if ((await db.auditLogEntry.count({ where: { organizationId, action, details } })) > 0) return;
  const scope = { app: { database, now: () => new Date() }, organizationId, isOperator: true };
  const changes = { move_id: { new: moveId } };
  await writeAuditLog(db, scope, [{ action, objectType: 'organization', objectId: organizationId, changes }]);
}

/** Shows the organization in the target if its subscription has stopped: all changes before the switch have arrived. */
async function showByHand(
  { target, organizationId, replication }: Ground,
  arriving: Move,
  organization: object,
): Promise<void> {
  await endReplication(replication);
  if ((await readOrganization(target.run, organizationId)) !== undefined) return;
  await target.run('BEGIN');
  await withoutTriggers(target.run);
  await showOrganization(target.run, organization);
  await removeMove(target.run, arriving.organizationId);
  await target.run('COMMIT');
}

async function runShell(command: string, report: Report): Promise<void> {
  // A process group of its own, which is killed as a whole.
  const child = spawn(command, { shell: true, stdio: ['ignore', 2, 2], detached: true });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  }, ON_SWITCH_MS);
  const [code] = (await once(child, 'close')) as [number | null];
  clearTimeout(timer);
  const how = isLate ? `was killed after ${ON_SWITCH_MS / 1_000} s` : `failed (${code})`;
  if (code !== 0) report(`the command of --on-switch ${how}: change the map of the proxy by hand`);
}

/**
 * Undoes an unfinished move.
 *
 * @throws ConflictError if the target already serves the organization. Also thrown if `target` is not the target of this move,
 *   because the actual target may serve the organization.
 */
async function undo(ground: Ground, move: Move | undefined): Promise<Moved> {
  const { source, target, organizationId, subdomain } = ground;
  const other = await readMove(target.run, organizationId);
  const isOfMove = other !== undefined && other.moveId === move?.moveId;
  if (move?.state === 'leaving' && !isOfMove && (other !== undefined || move.place !== target.place))
    throw new ConflictError(`${named(subdomain)} is moving to ${move.place}, not to ${target.place}.`);
  if (move?.state === 'moved') {
    // `--abort` in the target alone has removed the record there.
    const isTarget = isOfMove ? other.state === 'arriving' : other === undefined && move.place === target.place;
    // Afterwards the switch can arrive no more.
    if (isTarget) await endReplication(ground.replication);
    const isShown = (await readOrganization(target.run, organizationId)) !== undefined;
    if (isShown || move.organization === null)
      throw new ConflictError(`${named(subdomain)} has moved to ${move.place}. To return it, move it back.`);
    if (!isTarget) throw new ConflictError(`${named(subdomain)} has moved to ${move.place}, not to ${target.place}.`);
    await source.run('BEGIN');
    await withoutTriggers(source.run);
    await showOrganization(source.run, move.organization);
    await writeMove(source.run, { ...move, state: 'leaving', organization: null });
    await source.run('COMMIT');
  }
  await clear(ground);
  return {
    ...{ organization: subdomain, realm_id: organizationId, database: source.place, held_ms: null },
    next: 'The organization was not moved.',
  };
}

/**
 * Undoes an unfinished move in one database, if the other one cannot be reached: in the source before the switch, or in the target.
 *
 * @throws NotFoundError if no move was left there. ConflictError if the target can be in use.
 */
async function undoHere({ database, run, place }: Side, subdomain: string, report: Report): Promise<Moved> {
  await requireMigrated(database);
  const move = (await readMoves(run)).find((one) => one.subdomain === subdomain);
  if (move === undefined) throw new NotFoundError(`${place} has no unfinished move of ${named(subdomain)}.`);
  const { organizationId, state } = move;
  await lockOne(run, organizationId, subdomain);
  if (state === 'moved') {
    throw new ConflictError(
      move.organization === null
        ? `${named(subdomain)} has moved to ${move.place}. To return it, move it back.`
        : `${named(subdomain)} has moved to ${move.place}, which may be in use. To finish or revert the move, add --to.`,
    );
  }
  if (state === 'leaving') {
    await endPublication(run, await replicationName(run, organizationId), undefined);
    await unguardRows(run, organizationId);
    await removeMove(run, organizationId);
  } else {
    for (const name of await subscriptionsTo(run, organizationId)) await endSubscription(run, name);
    if ((await readOrganization(run, organizationId)) !== undefined)
      throw new ConflictError(`${named(subdomain)} has arrived: ${place} is in use.`);
    const tables = await tablesOfOrganizations(run);
    const removed = await removeRows(
      run,
      organizationId,
      tables.map(({ name }) => name),
    );
    if (removed > 0) report(`removed ${removed} rows of the move from ${place}`);
    await unguardRows(run, organizationId);
    await forgetArrival(run, move);
  }
  const until = state === 'leaving' ? ', to remove the copy' : ', if its move is not finished';
  const next = `When ${move.place} can be reached again, run the same command there${until}.`;
  return {
    ...{ organization: subdomain, realm_id: organizationId, database: state === 'leaving' ? place : move.place },
    ...{ held_ms: null, next },
  };
}
