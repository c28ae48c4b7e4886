import { setTimeout as sleep } from 'node:timers/promises';
import { Prisma } from '../generated/prisma/client.ts';
import { databaseClock } from '../platform/db/clock.ts';
import { retrying } from './commit.ts';
import type { LogContext } from './context.ts';
import { type EpochReason, judge, type LogPlace } from './epoch-rules.ts';

const LOOK_AGAIN_MS = 250;

/** What the log's epoch is, and where its tables are. */
export interface EpochState {
  /** No two epochs have the same, on whatever copy of the database they begin. */
  readonly id: string;
  /** Where the tables were, as they tell themselves. */
  readonly kept: LogPlace;
  /** Where they are. */
  readonly found: LogPlace;
  /** When the database's server was started. */
  readonly upSince: string;
  /** Whether it follows another server: nothing can be said of the log then, which may lag behind. */
  readonly isStandby: boolean;
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
}

/** One statement. */
export async function readEpoch({ db, database }: LogContext): Promise<EpochState> {
  const [row] = await db.$queryRaw<EpochRow[]>`
    SELECT e.id::text AS id, e.tables, e.cluster, e.copy, e.timeline,
      d.oid || '/' || e.tableoid AS found_tables, p.cluster AS found_cluster, p.timeline AS found_timeline,
      pg_postmaster_start_time()::text AS up_since, pg_is_in_recovery() AS is_standby
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
  };
}

/** What is known of a place, as assignments to the epoch's row. */
const assigned = ({ tables, cluster, copy, timeline }: LogPlace) => Prisma.sql`
  tables = COALESCE(${tables}, tables), cluster = COALESCE(${cluster}, cluster), copy = COALESCE(${copy}, copy),
  timeline = COALESCE(${timeline}, timeline)`;

/** Notes where the tables are: the epoch goes on there. */
export async function adoptPlace({ db }: LogContext, { id, found }: EpochState): Promise<void> {
  await db.$executeRaw`UPDATE log_epoch SET ${assigned(found)} WHERE id = ${id}::uuid`;
}

/** What ended with an epoch. */
export interface EpochEnd {
  readonly queues: number;
}

/**
 * Begins a new epoch: ends every queue, and moves every organization's log on, so that no position of before can be taken
 * for one of it. Of those who want to begin one at the same time, one does.
 *
 * The log goes on at the time, in milliseconds, and counts as pruned up to there. Nobody knows how far it had come: what is
 * gone may be longer than what is left, and the same back-up may be restored twice. No position was as high before unless
 * there were more than a thousand a second all the time; and all of them are integers of 53 bits as before.
 *
 * @returns Undefined where it has begun already.
 */
export async function beginEpoch(
  app: LogContext,
  { id, kept, found }: EpochState,
  reason: EpochReason,
): Promise<EpochEnd | undefined> {
  const clock = databaseClock(app);
  const position = Prisma.sql`GREATEST(last_id + 1, floor(extract(epoch FROM ${clock}) * 1000)::bigint)`;
  const [begun] = await retrying(
    () => app.db.$queryRaw<{ id: string; queues: number }[]>`
      WITH begun AS (
        UPDATE log_epoch SET id = gen_random_uuid(), began_at = ${clock}, ${assigned(found)}
        WHERE id = ${id}::uuid RETURNING id
      ), moved AS (
        UPDATE event_counter SET last_id = ${position}, pruned_through = ${position} FROM begun
      ), ended AS (
        UPDATE event_queue SET ended_at = ${clock}, end_reason = 'restored', options = '{}' FROM begun
        WHERE ended_at IS NULL RETURNING 1
      )
      SELECT id::text AS id, (SELECT count(*)::int FROM ended) AS queues FROM begun`,
  );
  if (begun === undefined) return undefined;
  const { queues } = begun;
  app.log.warn(
    { epoch: begun.id, reason, before: kept, after: found, queues },
    'a new epoch of the event log begins: every client registers anew',
  );
  return { queues };
}

/**
 * Finds out, when a node starts, whether the log goes on where it was. Takes one statement where it does; where another
 * node has to be asked, it takes its time.
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
