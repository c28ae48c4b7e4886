import { databaseNow } from '../platform/db/clock.ts';
import type { LogContext } from './context.ts';
import { MAX_IDLE_SECONDS } from './queue.ts';
import type { QueueRegistry } from './queue-registry.ts';

/** Interval between two runs of `sweep`, in milliseconds. Several nodes can run it at the same time without harm. */
const SWEEP_MS = 60_000;
/**
 * Age, in milliseconds, below which events are never pruned. A client that registers reads its state shortly before its queue
 * exists, and the new queue needs all events after that state.
 */
const MIN_AGE_MS = 600_000;
/**
 * Age, in milliseconds, at which ephemeral events, such as typing and presence, are deleted. Replay skips them after a minute.
 */
const EPHEMERAL_MS = 120_000;
/**
 * Age, in milliseconds, below which events are kept until the background readers have read them. Bounds the log of an
 * organization that is suspended, or for which no worker runs.
 */
const UNREAD_MS = 86_400_000;
const TOMBSTONE_MS = 30 * 86_400_000;
/**
 * Lifetime, in milliseconds, of stored responses to requests with an idempotency key: a day longer than the longest idle queue.
 * A client that resumes its queue can then repeat every request whose response it did not receive.
 */
const IDEMPOTENCY_MS = MAX_IDLE_SECONDS * 1_000 + 86_400_000;
/** Time, in milliseconds, for which copies of deleted messages are kept for the operator. */
const ARCHIVE_MS = 30 * 86_400_000;
const BATCH = 5_000;

/** The parts of a running service that `sweep` needs, with the event queues. */
interface SweepContext extends LogContext {
  readonly queues: Pick<QueueRegistry, 'expire'>;
}

/** Ends idle queues, prunes events that no queue can still request, and deletes records whose retention has ended. */
export async function sweep(app: SweepContext): Promise<void> {
  const { db, queues } = app;
  // Uses the clock of the database: a node whose own clock is fast would delete records and prune events too early.
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
 * Prunes each organization's log below the lowest position of its live queues. Events beyond the configured age or number of
 * rows are pruned regardless of queues: a queue that still needs them gets the error `pruned`. Events that a background reader has
 * not read yet are kept for a day, regardless of both.
 */
async function pruneLog({ db, config }: LogContext, now: number): Promise<void> {
  const young = new Date(now - MIN_AGE_MS);
  const old = new Date(now - config.logRetentionMs);
  const unread = new Date(now - UNREAD_MS);
  const organizations = await db.$queryRaw<{ realm_id: number; prune_through: bigint }[]>`
    SELECT c.realm_id, LEAST(
        -- Zero, because LEAST ignores null: if no event is old enough, none is pruned.
        COALESCE((SELECT e.id FROM event e WHERE e.realm_id = c.realm_id AND e.created_at < ${young}
                  ORDER BY e.created_at DESC, e.id DESC LIMIT 1), 0),
        GREATEST(
          LEAST(
            COALESCE((SELECT n.through_id FROM notification_progress n WHERE n.realm_id = c.realm_id), 0),
            -- Null for organizations without previews, whose logs are not read.
            (SELECT l.through_id FROM link_preview_progress l WHERE l.realm_id = c.realm_id)),
          (SELECT e.id FROM event e WHERE e.realm_id = c.realm_id AND e.created_at < ${unread}
           ORDER BY e.created_at DESC, e.id DESC LIMIT 1)),
        GREATEST(
          COALESCE((SELECT min(q.scanned_through) FROM event_queue q
                    WHERE q.realm_id = c.realm_id AND q.ended_at IS NULL), c.last_id),
          (SELECT e.id FROM event e WHERE e.realm_id = c.realm_id AND e.created_at < ${old}
           ORDER BY e.created_at DESC, e.id DESC LIMIT 1),
          c.last_id - ${config.logRowsPerOrganization})) AS prune_through
    -- Without the organizations that have moved to another database: their rows cannot be changed.
    FROM event_counter c JOIN realm r ON r.id = c.realm_id WHERE c.last_id > c.pruned_through`;
  for (const { realm_id, prune_through } of organizations) {
    if (prune_through === null) continue;
    const through = Number(prune_through);
    // The bound is recorded before rows are deleted. A reader that checks the bound after its read therefore always detects a
    // deletion.
    await db.$executeRaw`
      UPDATE event_counter SET pruned_through = ${through} WHERE realm_id = ${realm_id} AND pruned_through < ${through}`;
  }
  await deletePruned(db);
}

/**
 * Deletes the events that are recorded as pruned, and the role changes up to the same id. This includes events of an earlier
 * sweep whose node stopped before it deleted them.
 */
async function deletePruned(db: LogContext['db']): Promise<void> {
  const organizations = await db.$queryRaw<{ realm_id: number; pruned_through: bigint }[]>`
    SELECT c.realm_id, c.pruned_through FROM event_counter c JOIN realm r ON r.id = c.realm_id
    -- The oldest event of each organization, because the planner would read all events for an EXISTS.
    WHERE (SELECT e.id FROM event e WHERE e.realm_id = c.realm_id ORDER BY e.id LIMIT 1) <= c.pruned_through`;
  for (const { realm_id, pruned_through: through } of organizations) {
    // Replay reads only the role changes after its position, which is never below the bound.
    await db.$executeRaw`DELETE FROM role_change WHERE realm_id = ${realm_id} AND event_id <= ${through}`;
    for (let deleted = BATCH; deleted === BATCH; ) {
      deleted = await db.$executeRaw`
        DELETE FROM event WHERE realm_id = ${realm_id} AND id IN (
          SELECT id FROM event WHERE realm_id = ${realm_id} AND id <= ${through} ORDER BY id LIMIT ${BATCH})`;
    }
  }
}

/**
 * Runs `sweep` about once a minute until stopped. Failures are logged.
 *
 * @returns An object whose `stop` returns a promise that resolves when no sweep is running.
 */
export function startSweeping(app: SweepContext): { stop(): Promise<void> } {
  let timer: NodeJS.Timeout;
  let stopped = false;
  let running: Promise<void> = Promise.resolve();
  const tick = async () => {
    try {
      await sweep(app);
    } catch (error) {
      app.log.warn({ err: error }, 'event log pruning failed, retrying');
    }
    if (!stopped) schedule();
  };
  const schedule = () => {
    timer = setTimeout(() => {
      running = tick();
    }, SWEEP_MS).unref();
  };
  schedule();
  return {
    stop() {
      stopped = true;
      clearTimeout(timer);
      return running;
    },
  };
}
