import { setTimeout as sleep } from 'node:timers/promises';
import { Prisma } from '../../generated/prisma/client.ts';
import { OrganizationMovedError } from '../errors.ts';
import { retry } from '../retry.ts';
import { ADVISORY_LOCKS } from './advisory-lock.ts';
import type { RunSql, SqlClient } from './client.ts';
import { isLockConflict } from './errors.ts';
import { type ChangedRows, readTables, type Table } from './table-copy.ts';

/**
 * State of an organization that moves to another database. `leaving`: its rows are being copied to the other database, and this
 * one is in use. `arriving`: its rows are being copied to this database. `moved`: the other database is in use.
 *
 * An organization whose row in `realm` is missing does not exist for requests and background workers, although other tables may
 * contain its rows. So a move hides or shows an organization by this one row.
 */
export type MoveState = 'leaving' | 'arriving' | 'moved';

/** The record of a move, in the database that an organization leaves, or in the one at which it arrives. */
export interface Move {
  readonly organizationId: number;
  readonly subdomain: string;
  readonly state: MoveState;
  /** The other database, without credentials. */
  readonly place: string;
  /** Identifies the move in both databases. */
  readonly moveId: string;
  /** The row of the organization when it moved. Null unless `state` is `moved`, and after its rows were removed. */
  readonly organization: object | null;
  /** Whether the organization was in the database before, and had moved from there to `place`. */
  readonly returns: boolean;
}

const MOVE = `realm_id AS "organizationId", subdomain, state, place, move_id::text AS "moveId", organization, returns`;

/**
 * Checks that an organization that was not found has not moved to another database.
 *
 * @throws OrganizationMovedError if it has moved.
 */
export async function requireNotMoved(
  db: SqlClient,
  which: { readonly id: number } | { readonly subdomain: string },
): Promise<void> {
  const isIt = 'id' in which ? Prisma.sql`realm_id = ${which.id}` : Prisma.sql`subdomain = ${which.subdomain}`;
  const found = await db.$queryRaw<
    unknown[]
  >`SELECT 1 AS found FROM realm_move WHERE state = 'moved' AND ${isIt} LIMIT 1`;
  if (found.length > 0) throw new OrganizationMovedError();
}

/**
 * Builds the SQL condition that an organization is in this database. False while its copy in another database is compared, so that
 * no message is sent by both. During the copy itself, which can take hours, the condition is true.
 *
 * @param organization SQL for the id of the organization.
 */
export const isHere = (organization: Prisma.Sql): Prisma.Sql => Prisma.sql`
  EXISTS (SELECT FROM realm r WHERE r.id = ${organization} OFFSET 0)
  AND NOT EXISTS (SELECT FROM realm_move v WHERE v.realm_id = ${organization} AND (v.state <> 'leaving' OR v.records_changes) OFFSET 0)`;

/** Returns all moves of a database, by organization. */
export const readMoves = (run: RunSql): Promise<Move[]> =>
  run<Move>(`SELECT ${MOVE} FROM realm_move ORDER BY realm_id`);

/** Returns the move of an organization. Undefined if there is none. */
export async function readMove(run: RunSql, organizationId: number): Promise<Move | undefined> {
  const [move] = await run<Move>(`SELECT ${MOVE} FROM realm_move WHERE realm_id = $1::int`, [organizationId]);
  return move;
}

/** Stores the move of an organization, in place of an earlier one, without recorded changes. */
export async function writeMove(run: RunSql, move: Move): Promise<void> {
  await removeMove(run, move.organizationId);
  await run(
    `INSERT INTO realm_move (realm_id, subdomain, state, place, move_id, at, organization, returns)
     VALUES ($1::int, $2::text, $3::text, $4::text, $5::uuid, now(), $6::jsonb, $7::boolean)`,
    [
      ...[move.organizationId, move.subdomain, move.state, move.place, move.moveId],
      ...[move.organization === null ? null : JSON.stringify(move.organization), move.returns],
    ],
  );
}

/** Deletes the record of a move, and the recorded changes. */
export async function removeMove(run: RunSql, organizationId: number): Promise<void> {
  await run('DELETE FROM realm_move_change WHERE realm_id = $1::int', [organizationId]);
  await run('DELETE FROM realm_move WHERE realm_id = $1::int', [organizationId]);
}

/** Returns the row of an organization. Undefined if the database does not contain it. */
export async function readOrganization(run: RunSql, organizationId: number): Promise<object | undefined> {
  const [found] = await run<{ row: object }>('SELECT to_jsonb(r) AS row FROM realm r WHERE r.id = $1::int', [
    organizationId,
  ]);
  return found?.row;
}

/**
 * Inserts or deletes the row of an organization, which shows the organization to requests and workers, or hides it. Must be
 * called in a transaction in which `withoutTriggers` was called: rows of other tables refer to it.
 */
export async function showOrganization(run: RunSql, organization: object): Promise<void> {
  await run('INSERT INTO realm SELECT * FROM jsonb_populate_record(NULL::realm, $1::jsonb)', [
    JSON.stringify(organization),
  ]);
}
export async function hideOrganization(run: RunSql, organizationId: number): Promise<void> {
  await run('DELETE FROM realm WHERE id = $1::int', [organizationId]);
}

/** Disables triggers and foreign keys for the rest of the transaction, as for replicated changes. */
export async function withoutTriggers(run: RunSql): Promise<void> {
  await run('SET LOCAL session_replication_role = replica');
}

/** Tables whose rows name an organization, but are records of its moves. */
const RECORDS = ['realm_move', 'realm_move_change'];

/** Returns all tables with rows of organizations, except `realm` and the records of moves. */
export async function tablesOfOrganizations(run: RunSql): Promise<Table[]> {
  return (await readTables(run)).filter(({ name, columns }) => columns.includes('realm_id') && !RECORDS.includes(name));
}

/**
 * Inserts and deletes a row whose replication shows the organization in the target of its move. Must be called at the beginning
 * of the transaction that hides the organization in the source, before `withoutTriggers`.
 */
export async function announceArrival(
  run: RunSql,
  { organizationId, moveId }: Move,
  organization: object,
): Promise<void> {
  await run('INSERT INTO realm_arrival (realm_id, move_id, organization) VALUES ($1::int, $2::uuid, $3::jsonb)', [
    ...[organizationId, moveId, JSON.stringify(organization)],
  ]);
  await run('DELETE FROM realm_arrival WHERE realm_id = $1::int', [organizationId]);
}

/** Makes the triggers of `guardRows` record the keys of all rows that change from now on. Call it while changes are held. */
export async function recordChanges(run: RunSql, organizationId: number): Promise<void> {
  await run('UPDATE realm_move SET records_changes = true WHERE realm_id = $1::int', [organizationId]);
}

/** Removes the recorded changes of an organization, and returns them. Call it while changes are held. */
export async function takeChanges(run: RunSql, organizationId: number): Promise<ChangedRows> {
  const rows = await run<{ name: string; keys: string; count: number }>(
    `WITH taken AS (DELETE FROM realm_move_change WHERE realm_id = $1::int RETURNING name, key)
     SELECT name, jsonb_agg(DISTINCT key)::text AS keys, count(DISTINCT key)::int AS count FROM taken GROUP BY name`,
    [organizationId],
  );
  return {
    keys: new Map(rows.map(({ name, keys }) => [name, keys])),
    count: rows.reduce((sum, { count }) => sum + count, 0),
  };
}

/**
 * Maximum wait for the lock of a table, in milliseconds. Statements of nodes that wait for the same lock behind this one are
 * delayed no longer than this.
 */
const LOCK_MS = 300;
/** Pause between two attempts in milliseconds, and maximum number of attempts. All attempts take about a minute. */
const [AGAIN_MS, MAX_ATTEMPTS] = [200, 120];

/** Runs a statement that locks a table which nodes use, in several attempts. */
export async function runBetweenOthers(run: RunSql, sql: string): Promise<void> {
  await run(`SET lock_timeout = '${LOCK_MS}ms'`);
  try {
    await retry(
      () => run(sql),
      (error, attempts) => (isLockConflict(error) && attempts < MAX_ATTEMPTS ? AGAIN_MS : undefined),
    );
  } finally {
    await run(`SET lock_timeout = 0`);
  }
}

const guardOf = (organizationId: number): string => `guard_move_${organizationId}`;

/**
 * Creates triggers that guard the rows of an organization, as the SQL function `guard_moving_realm` describes. For a row of
 * another organization, a trigger only compares one id.
 */
export async function guardRows(run: RunSql, organizationId: number, tables: readonly string[]): Promise<void> {
  const name = guardOf(organizationId);
  const keys = await primaryKeys(run);
  for (const table of ['realm', ...tables]) {
    // The row of the organization itself is not compared, and needs no key.
    const key = table === 'realm' ? '' : `, '{${keys.get(table)?.join(',')}}'`;
    const execute = `EXECUTE FUNCTION guard_moving_realm('${organizationId}'${key})`;
    const column = table === 'realm' ? 'id' : 'realm_id';
    await runBetweenOthers(
      run,
      `CREATE OR REPLACE TRIGGER ${name} BEFORE INSERT OR UPDATE ON "${table}" FOR EACH ROW
         WHEN (NEW.${column} = ${organizationId}) ${execute};
       CREATE OR REPLACE TRIGGER ${name}_deleted BEFORE DELETE ON "${table}" FOR EACH ROW
         WHEN (OLD.${column} = ${organizationId}) ${execute}`,
    );
  }
}

/** Returns the columns of the primary key of each table. */
async function primaryKeys(run: RunSql): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = await run<{ name: string; columns: string[] }>(
    `SELECT c.relname::text AS name, json_agg(a.attname ORDER BY a.attnum) AS columns
     FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY(i.indkey)
     WHERE i.indisprimary AND c.relnamespace = quote_ident(current_schema())::regnamespace GROUP BY c.relname`,
  );
  return new Map(rows.map(({ name, columns }) => [name, columns]));
}

/** Drops the triggers of `guardRows`. */
export async function unguardRows(run: RunSql, organizationId: number): Promise<void> {
  const name = guardOf(organizationId);
  const guarded = await run<{ table: string }>(
    `SELECT DISTINCT t.tgrelid::regclass::text AS table FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
     WHERE t.tgname::text IN ($1::text, $1::text || '_deleted') AND c.relnamespace = quote_ident(current_schema())::regnamespace`,
    [name],
  );
  for (const { table } of guarded) {
    await runBetweenOthers(
      run,
      `DROP TRIGGER IF EXISTS ${name} ON ${table}; DROP TRIGGER IF EXISTS ${name}_deleted ON ${table}`,
    );
  }
}

/**
 * Blocks (holds) all changes of a guarded organization: waits for the changes in progress, and makes new changes fail. Nodes
 * answer the failed requests with status 503. The hold ends with `releaseWrites`, or with the session.
 *
 * @param patienceMs Maximum wait for the changes in progress, in milliseconds. Other changes are refused meanwhile.
 * @returns Whether the changes are held. False if a change in progress took longer.
 */
export async function holdWrites(run: RunSql, organizationId: number, patienceMs: number): Promise<boolean> {
  await run(`SET lock_timeout = '${patienceMs}ms'`);
  try {
    await run(`SELECT pg_advisory_lock(${ADVISORY_LOCKS.inSqlFunctions.guard_moving_realm}, ${organizationId})::text`);
    return true;
  } catch (error) {
    if (isLockConflict(error)) return false;
    throw error;
  } finally {
    await run('SET lock_timeout = 0');
  }
}

export async function releaseWrites(run: RunSql, organizationId: number): Promise<void> {
  await run(`SELECT pg_advisory_unlock(${ADVISORY_LOCKS.inSqlFunctions.guard_moving_realm}, ${organizationId})::text`);
}

/** Maximum time without a statement while changes are held, in milliseconds. A running command never pauses nearly as long. */
const MAX_IDLE_MS = 10_000;

/**
 * Limits the idle time of a session, or removes the limit. If the command is suspended, the server then ends the session, and
 * with it the hold.
 */
export async function limitIdleTime(run: RunSql, isLimited: boolean): Promise<void> {
  const ms = isLimited ? MAX_IDLE_MS : 0;
  await run(`SET idle_session_timeout = ${ms}; SET idle_in_transaction_session_timeout = ${ms}`);
}

/** Number of rows that one statement removes. */
const BATCH = 2_000;
/** Maximum pause after a batch, in milliseconds. */
const MAX_PAUSE_MS = 200;

/**
 * Removes all rows of an organization, in batches. Pauses after each batch for as long as it took, so that other organizations
 * can use the database. Must not be called while the deletions are replicated.
 *
 * @returns Number of removed rows.
 */
export async function removeRows(run: RunSql, organizationId: number, tables: readonly string[]): Promise<number> {
  let removed = 0;
  await run('SET session_replication_role = replica');
  try {
    for (const table of tables) {
      for (let count = BATCH; count === BATCH; ) {
        const began = performance.now();
        const rows = await run(
          `DELETE FROM "${table}" WHERE ctid = ANY (ARRAY(
             SELECT ctid FROM "${table}" WHERE realm_id = ${organizationId} LIMIT ${BATCH})) RETURNING 1 AS removed`,
        );
        count = rows.length;
        removed += count;
        if (count === BATCH) await sleep(Math.min(performance.now() - began, MAX_PAUSE_MS));
      }
    }
    await hideOrganization(run, organizationId);
  } finally {
    await run('SET session_replication_role = origin');
  }
  return removed;
}
