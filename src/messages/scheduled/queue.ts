import type { App } from '../../access/context.ts';
import { Prisma, type Realm, type ScheduledMessage, type User } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { fieldsOf, SCHEDULED_MESSAGE_COLUMNS } from '../../platform/db/columns.ts';

// The table is the queue. Several nodes read it; the node that locks a row delivers it. @see src/messages/README.md

/** A message or reminder that is due, and its owner. */
export interface Due {
  readonly id: number;
  readonly realmId: number;
  readonly ownerId: number;
}

/** A row that is due, locked by the transaction that delivers it. */
export interface Claimed {
  readonly row: ScheduledMessage;
  readonly owner: User;
  readonly realm: Realm;
  /** Current time, by the clock that decides which rows are due. */
  readonly now: Date;
}

/** Largest number of one owner's messages in one transaction, for which other senders in the organization wait. */
export const TOGETHER = 16;
/**
 * Largest numbers of due messages in one read: several seconds of work in total. For one organization, enough for full
 * transactions of four owners, while other organizations wait.
 */
const MAX_DUE = 400;
const MAX_DUE_PER_REALM = 4 * TOGETHER;

/**
 * Returns the time up to which messages are due, as SQL. The clocks of nodes differ, and a message scheduled by one node
 * must not be sent too early by another. All nodes share the clock of the database, so a node whose own clock is ahead uses
 * the database's. The embedded database has only the clock of this process.
 */
function dueBy({ now, database }: Pick<App, 'now' | 'database'>): Prisma.Sql {
  // Stable within the statement, unlike clock_timestamp(), so that it can bound an index scan.
  if (database.kind === 'postgresql') return Prisma.sql`LEAST(${now()}::timestamptz, statement_timestamp())`;
  return Prisma.sql`${now()}::timestamptz`;
}

/**
 * Returns the messages that are due. In each organization, the owner with the oldest message comes first, with as many
 * messages as one transaction delivers. The other owners follow. Further messages of the same owners come after these. So
 * an owner with many messages does not delay others, and messages are still delivered in batches.
 *
 * @param passedOver Ids to skip.
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

/** Returns the milliseconds until something is due, negative if it is overdue. Undefined if nothing is scheduled. */
export async function untilNextDue(app: App, passedOver: readonly number[]): Promise<number | undefined> {
  const [row] = await app.db.$queryRaw<{ scheduledAt: Date; now: Date }[]>`
    SELECT scheduled_at AS "scheduledAt", ${dueBy(app)} AS now FROM scheduled_message
    WHERE state = 'scheduled' AND id <> ALL(${passedOver}::int[]) ORDER BY scheduled_at, id LIMIT 1`;
  return row === undefined ? undefined : row.scheduledAt.getTime() - row.now.getTime();
}

/**
 * Claims a row if it is due and not locked by another transaction.
 *
 * The messages of an owner are delivered in order: a row waits for the owner's earlier ones, including those that another
 * node has locked.
 *
 * @param passedOver Ids to skip. They do not block later rows.
 */
export async function claim(tx: Tx, app: App, id: number, passedOver: readonly number[]): Promise<Claimed | undefined> {
  // Reads scheduled rows in the order of their times, because few are earlier. `+ 0` avoids the index by owner, which would
  // lead to everything that the owner ever sent.
  const earlier = Prisma.sql`
    SELECT FROM scheduled_message e
    WHERE e.state = 'scheduled' AND (e.scheduled_at, e.id) < (s.scheduled_at, s.id) AND e.owner_id + 0 = s.owner_id
      AND e.id <> ALL(${passedOver}::int[])`;
  const [found] = await tx.$queryRaw<(ScheduledMessage & { now: Date })[]>`
    SELECT ${fieldsOf('s', SCHEDULED_MESSAGE_COLUMNS)}, ${dueBy(app)} AS now
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

/** Time for which delivered rows are kept, in milliseconds. Long enough for every client to read that a message was sent. */
const KEPT_MS = 30 * 86_400_000;

/** Deletes rows that were delivered some weeks ago (`KEPT_MS`). Failed rows stay until their owner deletes them. */
export async function purge({ db, now }: App): Promise<void> {
  const scheduledAt = { lt: new Date(now().getTime() - KEPT_MS) };
  await db.scheduledMessage.deleteMany({ where: { state: 'delivered', scheduledAt } });
}
