import type { App } from '../../access/context.ts';
import { type Organization, Prisma, type ScheduledMessage, type User } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { fieldsOf } from '../../platform/db/columns.ts';

// The table `scheduled_message` is the queue. All nodes read it. The node that locks a row delivers the message. See
// src/messages/README.md.

/** Ids of a due scheduled message or reminder, of its organization and of its owner. */
export interface Due {
  readonly id: number;
  readonly organizationId: number;
  readonly ownerId: number;
}

/** A scheduled message or reminder that is due, locked by the transaction that delivers it. */
export interface Claimed {
  readonly row: ScheduledMessage;
  readonly owner: User;
  readonly organization: Organization;
  /** Time when the message was locked, by the clock that also decides which messages are due. */
  readonly now: Date;
}

/**
 * Maximum number of one owner's messages that one transaction delivers. Further messages are delivered by the next transaction.
 * Other senders in the organization wait for this transaction.
 */
export const MAX_BATCH_SIZE = 16;
/**
 * `MAX_DUE` is the maximum number of due messages that one query reads. Delivering so many takes several seconds.
 * `MAX_DUE_PER_ORGANIZATION` is the maximum number for one organization. It is enough for a full transaction of each of four
 * owners. Further messages are read by the next query.
 */
const MAX_DUE = 400;
const MAX_DUE_PER_ORGANIZATION = 4 * MAX_BATCH_SIZE;

/**
 * SQL condition that the organization is in this database. Excludes remaining rows of organizations that move to another
 * database. With OFFSET 0, it reads one row for each due message. Otherwise the planner can read all organizations.
 */
const IS_HERE = Prisma.sql`EXISTS (SELECT FROM realm r WHERE r.id = scheduled_message.realm_id OFFSET 0)`;

/**
 * Builds SQL for the current time, up to which scheduled times count as due. If the node's clock is ahead of the database's
 * clock, the database's clock is used, so that no message is sent too early. The embedded database has no clock of its own.
 */
function dueBy({ now, database }: Pick<App, 'now' | 'database'>): Prisma.Sql {
  // `statement_timestamp()` is constant within a statement, unlike `clock_timestamp()`. So it can bound an index scan.
  if (database.kind === 'postgresql') return Prisma.sql`LEAST(${now()}::timestamptz, statement_timestamp())`;
  return Prisma.sql`${now()}::timestamptz`;
}

/**
 * Reads due messages in the order of their delivery. In each organization, owners are sorted by their oldest message. The first
 * `MAX_BATCH_SIZE` messages of each owner come first, then the next ones of each owner, and so on. So an owner with many
 * messages does not delay other owners, and messages are still delivered in batches.
 *
 * @param passedOver Ids of messages to skip.
 */
export async function readDue(app: App, passedOver: readonly number[]): Promise<Due[]> {
  return app.db.$queryRaw<Due[]>`
    SELECT id, realm_id AS "organizationId", owner_id AS "ownerId" FROM (
      SELECT own.*, row_number() OVER (PARTITION BY realm_id ORDER BY (nth - 1) / ${MAX_BATCH_SIZE}, first_at, first_id, nth) AS place FROM (
        SELECT id, realm_id, owner_id, scheduled_at, row_number() OVER of_owner AS nth,
               first_value(scheduled_at) OVER of_owner AS first_at, first_value(id) OVER of_owner AS first_id
        FROM scheduled_message
        WHERE state = 'scheduled' AND scheduled_at <= ${dueBy(app)} AND id <> ALL(${passedOver}::int[]) AND ${IS_HERE}
        WINDOW of_owner AS (PARTITION BY realm_id, owner_id ORDER BY scheduled_at, id)) AS own) AS due
    WHERE place <= ${MAX_DUE_PER_ORGANIZATION} ORDER BY place, scheduled_at, id LIMIT ${MAX_DUE}`;
}

/**
 * Returns the number of milliseconds until the next message is due. Negative if the message is overdue. Undefined if no message
 * is scheduled. Ignores messages whose ids are in `passedOver`.
 */
export async function untilNextDue(app: App, passedOver: readonly number[]): Promise<number | undefined> {
  const [row] = await app.db.$queryRaw<{ scheduledAt: Date; now: Date }[]>`
    SELECT scheduled_at AS "scheduledAt", ${dueBy(app)} AS now FROM scheduled_message
    WHERE state = 'scheduled' AND id <> ALL(${passedOver}::int[]) AND ${IS_HERE} ORDER BY scheduled_at, id LIMIT 1`;
  return row === undefined ? undefined : row.scheduledAt.getTime() - row.now.getTime();
}

/**
 * Locks a message for delivery if it is due and not locked by another transaction. Otherwise returns undefined.
 *
 * The messages of an owner are delivered in order. So a message is not locked while an earlier message of its owner is still
 * scheduled, even if another node has locked the earlier message.
 *
 * @param passedOver Ids of messages that do not block later ones.
 */
export async function claim(
  tx: Tx,
  app: App,
  { organizationId, id }: Pick<Due, 'organizationId' | 'id'>,
  passedOver: readonly number[],
): Promise<Claimed | undefined> {
  // Searches earlier messages in the index that contains only scheduled rows, ordered by time, because few rows are earlier. `+
  // 0` prevents the planner from using the index by owner, which contains everything that the owner ever sent.
  const earlier = Prisma.sql`
    SELECT FROM scheduled_message e
    WHERE e.realm_id = ${organizationId} AND e.state = 'scheduled' AND (e.scheduled_at, e.id) < (s.scheduled_at, s.id)
      AND e.owner_id + 0 = s.owner_id AND e.id <> ALL(${passedOver}::int[])`;
  const [found] = await tx.$queryRaw<(ScheduledMessage & { now: Date })[]>`
    SELECT ${fieldsOf('s', 'ScheduledMessage')}, ${dueBy(app)} AS now
    FROM scheduled_message s
    WHERE s.realm_id = ${organizationId} AND s.id = ${id} AND s.state = 'scheduled' AND s.scheduled_at <= ${dueBy(app)}
      AND NOT EXISTS (${earlier})
    FOR NO KEY UPDATE OF s SKIP LOCKED`;
  if (found === undefined) return undefined;
  const { now, ...row } = found;
  const { organization, ...owner } = await tx.user.findUniqueOrThrow({
    where: { organizationId_id: { organizationId: row.organizationId, id: row.ownerId } },
    include: { organization: true },
  });
  return { row, owner, organization, now };
}

/**
 * Time, in milliseconds, from the scheduled time of a delivered message or reminder to its deletion. It is long enough for
 * every client to read that a message was sent.
 */
const KEPT_MS = 30 * 86_400_000;

/**
 * Deletes delivered messages and reminders whose scheduled time was more than `KEPT_MS` ago. Failed ones stay until their owner
 * deletes them.
 */
export async function purge({ db, now }: App): Promise<void> {
  const scheduledAt = { lt: new Date(now().getTime() - KEPT_MS) };
  await db.scheduledMessage.deleteMany({ where: { state: 'delivered', scheduledAt } });
}
