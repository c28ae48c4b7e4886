import { setTimeout as sleep } from 'node:timers/promises';
import { Prisma } from '../../generated/prisma/client.ts';
import { OrganizationMovedError } from '../errors.ts';
import { retry } from '../retry.ts';
import { ADVISORY_LOCKS } from './advisory-lock.ts';
import type { RunSql, SqlClient } from './client.ts';
import { isLockConflict } from './errors.ts';
import { readTables, type Table } from './table-copy.ts';

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

/** Returns all moves of a database, by organization. */
export const readMoves = (run: RunSql): Promise<Move[]> =>
  run<Move>(`SELECT ${MOVE} FROM realm_move ORDER BY realm_id`);

/** Returns the move of an organization. Undefined if there is none. */
export async function readMove(run: RunSql, organizationId: number): Promise<Move | undefined> {
  const [move] = await run<Move>(`SELECT ${MOVE} FROM realm_move WHERE realm_id = $1::int`, [organizationId]);
  return move;
}

/** Stores the move of an organization, in place of an earlier one. */
export async function writeMove(run: RunSql, move: Move): Promise<void> {
  await run('DELETE FROM realm_move WHERE realm_id = $1::int', [move.organizationId]);
  await run(
    `INSERT INTO realm_move (realm_id, subdomain, state, place, move_id, at, organization, returns)
     VALUES ($1::int, $2::text, $3::text, $4::text, $5::uuid, now(), $6::jsonb, $7::boolean)`,
    [
      ...[move.organizationId, move.subdomain, move.state, move.place, move.moveId],
      ...[move.organization === null ? null : JSON.stringify(move.organization), move.returns],
    ],
  );
}

/** Deletes the record of a move. */
export async function removeMove(run: RunSql, organizationId: number): Promise<void> {
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

/** For the rest of the transaction, changes are made as by replication: without triggers and foreign keys. */
export async function withoutTriggers(run: RunSql): Promise<void> {
  await run('SET LOCAL session_replication_role = replica');
}

/** Returns all tables with rows of organizations, except `realm` and the records of moves. */
export async function tablesOfOrganizations(run: RunSql): Promise<Table[]> {
  return (await readTables(run)).filter(({ name, columns }) => columns.includes('realm_id') && name !== 'realm_move');
}

/** Maximum wait for the lock of a table, in milliseconds. Statements of nodes that wait behind it also wait no longer. */
const LOCK_MS = 300;
/** Pause between two attempts, and maximum number of attempts, about a minute. */
const [AGAIN_MS, MAX_ATTEMPTS] = [200, 120];

/** Runs a statement that locks a table which nodes use, in several attempts. */
async function runBetweenOthers(run: RunSql, sql: string): Promise<void> {
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
 * Creates triggers that guard the rows of an organization, as the SQL function `guard_moving_realm` describes. For the rows of
 * other organizations, they cost a comparison.
 */
export async function guardRows(run: RunSql, organizationId: number, tables: readonly string[]): Promise<void> {
  const execute = `EXECUTE FUNCTION guard_moving_realm('${organizationId}')`;
  const name = guardOf(organizationId);
  for (const table of ['realm', ...tables]) {
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
 * Holds all changes of a guarded organization: waits for the changes in progress, and makes others fail. Nodes answer them as
 * 503. The hold ends with `releaseWrites`, or with the session.
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

/**
 * Maximum time without a statement while changes are held, in milliseconds. Much longer than any pause of a command that runs.
 */
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
