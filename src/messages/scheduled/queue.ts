import type { App } from '../../access/context.ts';
import { Prisma, type Realm, type ScheduledMessage, type User } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { fieldsOf, SCHEDULED_MESSAGE_COLUMNS } from '../../platform/db/columns.ts';

// The table is the queue. Several nodes read it; who has locked a row delivers it. @see src/messages/README.md

/** Something that is due, and in whose turn it comes. */
export interface Due {
  readonly id: number;
  readonly realmId: number;
  readonly ownerId: number;
}

/** A row whose time has come, locked by the change that is to deliver it. */
export interface Claimed {
  readonly row: ScheduledMessage;
  readonly owner: User;
  readonly realm: Realm;
  /** The time by which it is due. */
  readonly now: Date;
}

/** Our choice: so many of one owner's in one change, for which others who send to the organisation wait. */
export const TOGETHER = 16;
/** Our choices: seconds of work, after which it is looked again; of one organisation four owners' at least, while others wait. */
const MAX_DUE = 400;
const MAX_DUE_PER_REALM = 4 * TOGETHER;

/**
 * The time by which messages are due. The clocks of nodes differ, and what is scheduled on one must not be early on
 * another: the clock they share is the database's, so a node whose own is ahead waits for that. The embedded database has
 * none but this process's.
 */
function dueBy({ now, database }: Pick<App, 'now' | 'database'>): Prisma.Sql {
  // Stable within the statement, unlike clock_timestamp(), so that it can bound an index scan.
  if (database.kind === 'postgresql') return Prisma.sql`LEAST(${now()}::timestamptz, statement_timestamp())`;
  return Prisma.sql`${now()}::timestamptz`;
}

/**
 * What is due: in each organisation of the owner whose first is the oldest, as many as are delivered together, then as many of the
 * next; of who has more, only then. So who has much of it keeps nobody waiting, and where many have some it comes together
 * all the same.
 *
 * @param passedOver Ids of what is to wait.
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

/** Milliseconds until something is due, negative when it is; undefined when nothing is scheduled. */
export async function untilNextDue(app: App, passedOver: readonly number[]): Promise<number | undefined> {
  const [row] = await app.db.$queryRaw<{ scheduledAt: Date; now: Date }[]>`
    SELECT scheduled_at AS "scheduledAt", ${dueBy(app)} AS now FROM scheduled_message
    WHERE state = 'scheduled' AND id <> ALL(${passedOver}::int[]) ORDER BY scheduled_at, id LIMIT 1`;
  return row === undefined ? undefined : row.scheduledAt.getTime() - row.now.getTime();
}

/**
 * Claims a row, if its time has come and nobody else has it in hand.
 *
 * What one owner scheduled comes in its order: a row waits for the owner's earlier ones, also for those that another node
 * has in hand.
 *
 * @param passedOver Ids of what is to wait, and holds up nothing.
 */
export async function claim(tx: Tx, app: App, id: number, passedOver: readonly number[]): Promise<Claimed | undefined> {
  // Read in the order of their time, of which few are earlier: an index by owner leads past all that was ever sent.
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

/** Our choice: long enough for every client to learn that a message it still shows was sent. */
const KEPT_MS = 30 * 86_400_000;

/** Forgets what was delivered some weeks ago. What failed stays until its owner deletes it. */
export async function purge({ db, now }: App): Promise<void> {
  const scheduledAt = { lt: new Date(now().getTime() - KEPT_MS) };
  await db.scheduledMessage.deleteMany({ where: { state: 'delivered', scheduledAt } });
}
