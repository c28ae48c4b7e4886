import type { App } from '../../access/context.ts';
import { Prisma, type Realm, type ScheduledMessage, type User } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { fieldsOf } from '../../platform/db/columns.ts';

// The table `scheduled_message` is the queue. All nodes read it; the node that locks a row delivers it. @see
// src/messages/README.md

/** Ids of a scheduled message or reminder that is due, and of its owner. */
export interface Due {
  readonly id: number;
  readonly realmId: number;
  readonly ownerId: number;
}

/** A scheduled message or reminder that is due, locked by the transaction that delivers it. */
export interface Claimed {
  readonly row: ScheduledMessage;
  readonly owner: User;
  readonly realm: Realm;
  /** Time of the claim, by the clock that decides which rows are due. */
  readonly now: Date;
}

/** Maximum number of one owner's messages in one transaction. Other senders in the organization wait for this transaction. */
export const TOGETHER = 16;
/**
 * `MAX_DUE` is the maximum number of due messages in one read. Delivering them takes several seconds. `MAX_DUE_PER_REALM` is
 * the maximum number for one organization. It is enough for full transactions of four owners.
 */
const MAX_DUE = 400;
const MAX_DUE_PER_REALM = 4 * TOGETHER;

/**
 * Builds the SQL for the time up to which messages are due. All nodes use the clock of the database if their own clock is
 * ahead, so that no message is sent too early. The embedded database has no other clock than this process.
 */
function dueBy({ now, database }: Pick<App, 'now' | 'database'>): Prisma.Sql {
  // `statement_timestamp()` is constant within a statement, unlike `clock_timestamp()`. So it can bound an index scan.
  if (database.kind === 'postgresql') return Prisma.sql`LEAST(${now()}::timestamptz, statement_timestamp())`;
  return Prisma.sql`${now()}::timestamptz`;
}

/**
 * Reads due messages in the order of their delivery. In each organization, the owner with the oldest message comes first, with
 * at most the number of messages that one transaction delivers. Then each other owner follows with at most that number. The
 * remaining messages of all owners come last. So an owner with many messages does not delay other owners, and messages are
 * still delivered in batches.
 *
 * @param passedOver Ids of messages to skip.
 */
export async function whatIsDue(app: App, passedOver: readonly number[]): Promise<Due[]> {
  return app.db.$queryRaw<Due[]>`
    SELECT id, realm_id AS "realmId", owner_id AS "ownerId" FROM (
      SELECT own.*, row_number() OVER (PARTITION BY realm_id ORDER BY (nth - 1) / ${TOGETHER}, first_at, first_id, nth) AS place FROM (
        SELECT id, realm_id, owner_id, scheduled_at, row_number() OVER of_owner AS nth,
               first_value(scheduled_at) OVER of_owner AS first_at, first_value(id) OVER of_owner AS first_id
        FROM scheduled_message
        WHERE state = 'scheduled' AND scheduled_at <= ${dueBy(app)} AND id <> ALL(${passedOver}::int[])
        WINDOW of_owner AS (PARTITION BY realm_id, owner_id ORDER BY scheduled_at, id)) AS own) AS due
    WHERE place <= ${MAX_DUE_PER_REALM} ORDER BY place, scheduled_at, id LIMIT ${MAX_DUE}`;
}

/**
 * Returns the milliseconds until the next message is due. Negative if it is overdue. Undefined if nothing is scheduled. Skips
 * the ids in `passedOver`.
 */
export async function untilNextDue(app: App, passedOver: readonly number[]): Promise<number | undefined> {
  const [row] = await app.db.$queryRaw<{ scheduledAt: Date; now: Date }[]>`
    SELECT scheduled_at AS "scheduledAt", ${dueBy(app)} AS now FROM scheduled_message
    WHERE state = 'scheduled' AND id <> ALL(${passedOver}::int[]) ORDER BY scheduled_at, id LIMIT 1`;
  return row === undefined ? undefined : row.scheduledAt.getTime() - row.now.getTime();
}

/**
 * Locks a message for delivery if it is due and not locked by another transaction. Otherwise returns undefined.
 *
 * The messages of an owner are delivered in order. So a message is not locked while an earlier one of its owner is scheduled,
 * including those that another node has locked.
 *
 * @param passedOver Ids of messages that do not block later ones.
 */
export async function claim(tx: Tx, app: App, id: number, passedOver: readonly number[]): Promise<Claimed | undefined> {
  // Searches earlier messages in the index of scheduled rows by time, because few rows are earlier. `+ 0` prevents the planner
  // from using the index by owner, which contains everything that the owner ever sent.
  const earlier = Prisma.sql`
    SELECT FROM scheduled_message e
    WHERE e.state = 'scheduled' AND (e.scheduled_at, e.id) < (s.scheduled_at, s.id) AND e.owner_id + 0 = s.owner_id
      AND e.id <> ALL(${passedOver}::int[])`;
  const [found] = await tx.$queryRaw<(ScheduledMessage & { now: Date })[]>`
    SELECT ${fieldsOf('s', 'ScheduledMessage')}, ${dueBy(app)} AS now
    FROM scheduled_message s
    WHERE s.id = ${id} AND s.state = 'scheduled' AND s.scheduled_at <= ${dueBy(app)} AND NOT EXISTS (${earlier})
    FOR NO KEY UPDATE OF s SKIP LOCKED`;
  if (found === undefined) return undefined;
  const { now, ...row } = found;
  const { realm, ...owner } = await tx.user.findUniqueOrThrow({
    where: { realmId_id: { realmId: row.realmId, id: row.ownerId } },
    include: { realm: true },
  });
  return { row, owner, realm, now };
}

/**
 * Time after the scheduled time for which delivered rows are kept, in milliseconds. Long enough for every client to read that a
 * message was sent.
 */
const KEPT_MS = 30 * 86_400_000;

/**
 * Deletes delivered rows whose scheduled time is longer ago than `KEPT_MS`. Failed rows are kept until their owner deletes
 * them.
 */
export async function purge({ db, now }: App): Promise<void> {
  const scheduledAt = { lt: new Date(now().getTime() - KEPT_MS) };
  await db.scheduledMessage.deleteMany({ where: { state: 'delivered', scheduledAt } });
}
