import { databaseNow } from '../platform/db/clock.ts';
import type { LogContext } from './context.ts';
import type { QueueRegistry } from './queue-registry.ts';

/** How often a node tidies up. Several nodes may do so at once without harm. */
const SWEEP_MS = 60_000;
/** No event younger than this is pruned, even when nobody needs it: a queue is registered a moment after its snapshot. */
const MIN_AGE_MS = 600_000;
/** Typing and presence are skipped on replay after a minute; their rows go soon after. */
const EPHEMERAL_MS = 120_000;
const TOMBSTONE_MS = 30 * 86_400_000;
/** Our choice: longer than the promised day, so that a client that retries just after it still gets its reply. */
const IDEMPOTENCY_MS = 2 * 86_400_000;
/** Deleted messages are kept so long. */
const ARCHIVE_MS = 30 * 86_400_000;
const BATCH = 5_000;

/** The log, and the queues that read it. */
interface SweepContext extends LogContext {
  readonly queues: Pick<QueueRegistry, 'expire'>;
}

/** Ends idle queues, prunes what no queue can still ask for, and forgets what was kept for a time only. */
export async function sweep(app: SweepContext): Promise<void> {
  const { db, queues } = app;
  // Not by this node's own clock: one that is wrong would end what the others hold.
  const now = (await databaseNow(app)).getTime();
  const before = (age: number) => new Date(now - age);
  await queues.expire();
  await db.eventQueue.deleteMany({ where: { endedAt: { lt: before(TOMBSTONE_MS) } } });
  await db.idempotencyRecord.deleteMany({ where: { createdAt: { lt: before(IDEMPOTENCY_MS) } } });
  await db.deletedMessage.deleteMany({ where: { deletedAt: { lt: before(ARCHIVE_MS) } } });
  await db.event.deleteMany({ where: { ephemeral: true, createdAt: { lt: before(EPHEMERAL_MS) } } });
  await pruneLog(app, now);
}

/**
 * Prunes each realm's log below the lowest position of its live queues, and beyond the age and the number of rows
 * configured regardless: a queue left behind by that is told `pruned`.
 */
async function pruneLog({ db, config }: LogContext, now: number): Promise<void> {
  const young = new Date(now - MIN_AGE_MS);
  const old = new Date(now - config.logRetentionMs);
  const realms = await db.$queryRaw<{ realm_id: number; prune_through: bigint }[]>`
    SELECT c.realm_id, LEAST(
        -- Zero, because LEAST passes over null: where nothing is old enough, nothing goes.
        COALESCE((SELECT e.id FROM event e WHERE e.realm_id = c.realm_id AND e.created_at < ${young}
                  ORDER BY e.created_at DESC, e.id DESC LIMIT 1), 0),
        GREATEST(
          COALESCE((SELECT min(q.scanned_through) FROM event_queue q
                    WHERE q.realm_id = c.realm_id AND q.ended_at IS NULL), c.last_id),
          (SELECT e.id FROM event e WHERE e.realm_id = c.realm_id AND e.created_at < ${old}
           ORDER BY e.created_at DESC, e.id DESC LIMIT 1),
          c.last_id - ${config.logRowsPerRealm})) AS prune_through
    FROM event_counter c WHERE c.last_id > c.pruned_through`;
  for (const { realm_id, prune_through } of realms) {
    if (prune_through === null) continue;
    const through = Number(prune_through);
    // Recorded before rows are deleted: a reader that checks it after reading cannot miss that rows are gone.
    await db.$executeRaw`
      UPDATE event_counter SET pruned_through = ${through} WHERE realm_id = ${realm_id} AND pruned_through < ${through}`;
  }
  await deletePruned(db);
}

/** Deletes what is recorded as pruned: by this sweep, or by one whose node was gone before it had done so. */
async function deletePruned(db: LogContext['db']): Promise<void> {
  const realms = await db.$queryRaw<{ realm_id: number; pruned_through: bigint }[]>`
    SELECT c.realm_id, c.pruned_through FROM event_counter c
    WHERE EXISTS (SELECT FROM event e WHERE e.realm_id = c.realm_id AND e.id <= c.pruned_through)`;
  for (const { realm_id, pruned_through: through } of realms) {
    for (let deleted = BATCH; deleted === BATCH; ) {
      deleted = await db.$executeRaw`
        DELETE FROM event WHERE realm_id = ${realm_id} AND id IN (
          SELECT id FROM event WHERE realm_id = ${realm_id} AND id <= ${through} ORDER BY id LIMIT ${BATCH})`;
    }
  }
}

/** Sweeps now and then until stopped. */
export function startSweeping(app: SweepContext): { stop(): void } {
  let timer: NodeJS.Timeout;
  let stopped = false;
  const tick = async () => {
    try {
      await sweep(app);
    } catch (error) {
      app.log.warn({ err: error }, 'could not tidy up; trying again');
    }
    if (!stopped) timer = setTimeout(tick, SWEEP_MS).unref();
  };
  timer = setTimeout(tick, SWEEP_MS).unref();
  return {
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
