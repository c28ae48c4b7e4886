import { setTimeout as sleep } from 'node:timers/promises';
import { Prisma } from '../generated/prisma/client.ts';
import { databaseClock } from '../platform/db/clock.ts';
import { retrying } from './commit.ts';
import type { LogContext } from './context.ts';
import { type EpochReason, judge, type LogPlace } from './epoch-rules.ts';

const LOOK_AGAIN_MS = 250;

/** The epoch of the event log (the time in which the log has lost no events), and the location of the log's tables. */
export interface EpochState {
  /** Id of the epoch, unique among all epochs on all copies of the database. */
  readonly id: string;
  /**
   * Location of the log's tables, as stored in the row of the epoch. It differs from `found` if the tables were restored or
   * moved.
   */
  readonly kept: LogPlace;
  /** Location of the log's tables when the epoch was read. */
  readonly found: LogPlace;
  /** Time at which the database server was started. */
  readonly upSince: string;
  /** Whether the server is a standby. Its log may lag behind, so no conclusion about the log is possible. */
  readonly isStandby: boolean;
  /** Whether the data was copied to another database. Nodes must not use this one any more. */
  readonly isSealed: boolean;
  /** Ids of the organizations whose logs are in another database: they have moved there, or are still being copied here. */
  readonly away: readonly number[];
}

interface EpochRow {
  id: string;
  tables: string | null;
  cluster: string | null;
  copy: string | null;
  timeline: string | null;
  found_tables: string;
  found_cluster: string | null;
  found_timeline: string | null;
  up_since: string;
  is_standby: boolean;
  is_sealed: boolean;
  away: number[];
}

/** Returns the epoch of the log, and the stored and the current location of its tables. Runs one statement. */
export async function readEpoch({ db, database }: LogContext): Promise<EpochState> {
  const [row] = await db.$queryRaw<EpochRow[]>`
    SELECT e.id::text AS id, e.tables, e.cluster, e.copy, e.timeline,
      d.oid || '/' || e.tableoid AS found_tables, p.cluster AS found_cluster, p.timeline AS found_timeline,
      pg_postmaster_start_time()::text AS up_since, pg_is_in_recovery() AS is_standby,
      e.seal IS NOT NULL AS is_sealed,
      ARRAY(SELECT m.realm_id FROM realm_move m WHERE m.state <> 'leaving') AS away
    FROM log_epoch e, log_place() p, pg_database d WHERE d.datname = current_database()`;
  if (row === undefined) throw new Error('The event log has no epoch: log_epoch is empty');
  const { id, tables, cluster, copy, timeline } = row;
  return {
    id,
    kept: { tables, cluster, copy, timeline },
    found: {
      tables: row.found_tables,
      cluster: row.found_cluster,
      copy: database.copy,
      timeline: row.found_timeline,
    },
    upSince: row.up_since,
    isStandby: row.is_standby,
    isSealed: row.is_sealed,
    away: row.away,
  };
}

/** Returns the known fields of a location as SQL assignments to the row of the epoch. */
const assigned = ({ tables, cluster, copy, timeline }: LogPlace) => Prisma.sql`
  tables = COALESCE(${tables}, tables), cluster = COALESCE(${cluster}, cluster), copy = COALESCE(${copy}, copy),
  timeline = COALESCE(${timeline}, timeline)`;

/** Stores the current location of the log's tables, without beginning a new epoch. */
export async function adoptPlace({ db }: LogContext, { id, found }: EpochState): Promise<void> {
  await db.$executeRaw`UPDATE log_epoch SET ${assigned(found)} WHERE id = ${id}::uuid`;
}

/** The result of ending an epoch: the number of event queues that ended with the epoch. */
export interface EpochEnd {
  readonly queues: number;
}

/**
 * Begins a new epoch: ends every event queue, and raises the ids of every organization's log, so that no earlier position is
 * valid in the new log. If several nodes try at the same time, only one of them succeeds. Logs that have moved to another
 * database, or are still being copied from there, are not changed.
 *
 * The next ids follow the current time in milliseconds since 1970, and the log counts as pruned up to that number. The last id
 * before the restore is unknown: any number of events may be lost, and one backup may be restored twice. The current time is
 * higher than every earlier id, unless the log always grew by more than a thousand ids per second. Positions are still integers
 * of up to 53 bits.
 *
 * @param reason Logged with the new epoch.
 * @returns Undefined if another call has already begun a new epoch.
 */
export async function beginEpoch(
  app: LogContext,
  { id, kept, found }: EpochState,
  reason: EpochReason,
): Promise<EpochEnd | undefined> {
  const clock = databaseClock(app);
  const isHere = (table: Prisma.Sql) => Prisma.sql`
    NOT EXISTS (SELECT FROM realm_move m WHERE m.realm_id = ${table}.realm_id AND m.state <> 'leaving')`;
  const position = Prisma.sql`GREATEST(last_id + 1, floor(extract(epoch FROM ${clock}) * 1000)::bigint)`;
  const [begun] = await retrying(
    () => app.db.$queryRaw<{ id: string; queues: number }[]>`
      WITH begun AS (
        UPDATE log_epoch SET id = gen_random_uuid(), began_at = ${clock}, ${assigned(found)}
        WHERE id = ${id}::uuid RETURNING id
      ), moved AS (
        UPDATE event_counter SET last_id = ${position}, pruned_through = ${position} FROM begun
        WHERE ${isHere(Prisma.sql`event_counter`)}
      ), ended AS (
        UPDATE event_queue SET ended_at = ${clock}, end_reason = 'restored', options = '{}' FROM begun
        WHERE ended_at IS NULL AND ${isHere(Prisma.sql`event_queue`)} RETURNING 1
      )
      SELECT id::text AS id, (SELECT count(*)::int FROM ended) AS queues FROM begun`,
  );
  if (begun === undefined) return undefined;
  const { queues } = begun;
  app.log.warn(
    { epoch: begun.id, reason, before: kept, after: found, queues },
    'new event log epoch, all clients must register again',
  );
  return { queues };
}

/**
 * Decides, at the start of a node, whether the epoch of the log continues, and if not, begins a new epoch. If the epoch
 * continues, runs a single statement. If another node must provide evidence for the decision, waits up to 10 s for it.
 */
export async function settleEpoch(app: LogContext): Promise<EpochState> {
  const since = performance.now();
  for (;;) {
    const state = await readEpoch(app);
    if (state.isStandby) return state;
    const waitedMs = performance.now() - since;
    const verdict = judge(state.kept, state.found, { witness: 'none', waitedMs });
    if (verdict === 'same') return state;
    if (verdict === 'wait') await sleep(LOOK_AGAIN_MS);
    else if (verdict === 'adopt') await adoptPlace(app, state);
    else await beginEpoch(app, state, verdict.begin);
  }
}
