import { Prisma } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { receivedBy } from '../access.ts';
import { SENT_RECIPIENT } from '../flag-conditions.ts';

/** Ids of a user and of their organization. */
export interface Holder {
  readonly realmId: number;
  readonly userId: number;
}

/**
 * Locks users, so that changes of their flags run one after another. Must be called before all other locks are taken, unless
 * the transaction already holds a lock of the organization or of a channel.
 */
export async function lockReaders(tx: Tx, realmId: number, userIds: readonly number[]): Promise<void> {
  await tx.$queryRaw`
    SELECT 1 AS held FROM user_account WHERE realm_id = ${realmId} AND id = ANY(${[...new Set(userIds)]})
    ORDER BY id FOR NO KEY UPDATE`;
}

/**
 * Number of exceptions to one read mark up to which the mark is not moved. Beyond it, the best position of the mark is searched
 * each time the number of exceptions has doubled. So a user who marks one message after another as unread does not cause a
 * search each time.
 */
const MAX_EXCEPTIONS = 64;
/** Number of messages that are examined to find the best position of a mark. The database takes some 50 ms for them. */
const MAX_SPAN = 20_000;

/** Returns how often the number of exceptions has doubled beyond the limit. 0 if it is below the limit. */
const doublings = (count: number): number => Math.max(0, Math.floor(Math.log2(count / MAX_EXCEPTIONS)) + 1);

interface Touched {
  readonly recipient_id: bigint;
  /** Number of exceptions before the change. `put` and `gone` are the numbers of rows that were inserted and deleted. */
  readonly before: number;
  readonly put: number;
  readonly gone: number;
}

/**
 * Marks messages as read or unread for a locked user, as part of a change. An exception is stored only if the read mark alone
 * does not give the requested state. Messages that do not exist are ignored.
 *
 * @see src/messages/README.md
 */
export async function setRead(tx: Tx, holder: Holder, messageIds: readonly number[], isRead: boolean): Promise<void> {
  if (messageIds.length === 0) return;
  const { realmId, userId } = holder;
  // `FOR KEY SHARE` waits for concurrent deletions of the messages. Messages that were deleted are omitted then.
  const touched = await tx.$queryRaw<Touched[]>`
    WITH wanted AS (
      SELECT m.id, ${SENT_RECIPIENT} AS recipient_id,
             (m.sender_id = ${userId} AND m.read_by_sender) OR m.id <= COALESCE((
               SELECT r.read_through FROM read_mark r
               WHERE r.realm_id = m.realm_id AND r.user_id = ${userId} AND r.recipient_id = ${SENT_RECIPIENT}), 0)
             OR NOT ${receivedBy(userId)} AS by_itself
      FROM message m WHERE m.realm_id = ${realmId} AND m.id = ANY(${[...messageIds]}::bigint[]) FOR KEY SHARE OF m
    ), put AS (
      INSERT INTO read_exception (realm_id, user_id, message_id, recipient_id, is_read)
      SELECT ${realmId}, ${userId}, id, recipient_id, ${isRead}::boolean FROM wanted WHERE by_itself <> ${isRead}::boolean
      ON CONFLICT (realm_id, user_id, message_id) DO UPDATE SET is_read = EXCLUDED.is_read
      RETURNING recipient_id
    ), gone AS (
      DELETE FROM read_exception x USING wanted
      WHERE x.realm_id = ${realmId} AND x.user_id = ${userId} AND x.message_id = wanted.id AND wanted.by_itself = ${isRead}::boolean
      RETURNING x.recipient_id
    )
    SELECT w.recipient_id,
           (SELECT count(*)::int FROM read_exception x
            WHERE x.realm_id = ${realmId} AND x.user_id = ${userId} AND x.recipient_id = w.recipient_id) AS before,
           (SELECT count(*)::int FROM put WHERE put.recipient_id = w.recipient_id) AS put,
           (SELECT count(*)::int FROM gone WHERE gone.recipient_id = w.recipient_id) AS gone
    FROM (SELECT DISTINCT recipient_id FROM wanted) AS w`;
  for (const { recipient_id, before, put, gone } of touched) {
    if (doublings(before + put - gone) > doublings(before)) await compact(tx, holder, Number(recipient_id));
  }
}

/**
 * Returns one or two conditions on the message `m`. A message was sent to the recipient id if it meets one of them. Each
 * condition has its own index.
 */
function sentTo(recipientId: number): readonly Prisma.Sql[] {
  const id = Math.floor(recipientId / 2);
  if (recipientId % 2 === 1) return [Prisma.sql`m.conversation_id = ${id}`];
  return [
    Prisma.sql`m.channel_id = ${id} AND m.sent_channel_id = m.channel_id`,
    Prisma.sql`m.sent_channel_id = ${id} AND m.channel_id <> m.sent_channel_id`,
  ];
}

/**
 * Moves a read mark forward to the position with the fewest exceptions, if there are fewer than now. Up to the new position,
 * read messages lose their exception and unread messages get one. No message changes its state.
 */
export async function compact(tx: Tx, { realmId, userId }: Holder, recipientId: number): Promise<void> {
  const places = sentTo(recipientId).map(
    (place) => Prisma.sql`(
      SELECT m.id, m.sender_id = ${userId} AND m.read_by_sender AS by_itself, x.is_read
      FROM mark, last, message m LEFT JOIN read_exception x ON x.realm_id = m.realm_id AND x.user_id = ${userId} AND x.message_id = m.id
      WHERE m.realm_id = ${realmId} AND ${place} AND m.id > mark.id AND m.id <= last.id AND ${receivedBy(userId)}
      ORDER BY m.id LIMIT ${MAX_SPAN})`,
  );
  // `dearer` is the number by which exceptions increase if the mark is moved to a message. Each unread message up to that
  // message needs a new exception. Each message that was marked as read by an exception no longer needs it. Messages that count
  // as read because the user sent them need no exception in either case.
  await tx.$executeRaw`
    WITH mark AS (
      SELECT COALESCE(max(read_through), 0) AS id FROM read_mark
      WHERE realm_id = ${realmId} AND user_id = ${userId} AND recipient_id = ${recipientId}::bigint
    ), last AS (
      SELECT max(message_id) AS id FROM read_exception
      WHERE realm_id = ${realmId} AND user_id = ${userId} AND recipient_id = ${recipientId}::bigint
    ), span AS MATERIALIZED (
      SELECT id, by_itself, is_read, sum(CASE WHEN by_itself THEN 0 WHEN is_read THEN -1 ELSE 1 END) OVER (ORDER BY id) AS dearer
      FROM (SELECT * FROM (${Prisma.join(places, ' UNION ALL ')}) AS sent ORDER BY id LIMIT ${MAX_SPAN}) AS few
    ), best AS (
      SELECT id FROM span WHERE dearer < 0 ORDER BY dearer, id DESC LIMIT 1
    ), put AS (
      INSERT INTO read_exception (realm_id, user_id, message_id, recipient_id, is_read)
      SELECT ${realmId}, ${userId}, there.id, ${recipientId}::bigint, false FROM (
        SELECT m.id FROM message m
        WHERE m.realm_id = ${realmId} AND m.id IN (
          SELECT span.id FROM span, best WHERE span.id <= best.id AND NOT by_itself AND is_read IS NULL)
        FOR KEY SHARE OF m) AS there
    ), gone AS (
      DELETE FROM read_exception x USING best
      WHERE x.realm_id = ${realmId} AND x.user_id = ${userId} AND x.recipient_id = ${recipientId}::bigint AND x.is_read AND x.message_id <= best.id
    )
    INSERT INTO read_mark (realm_id, user_id, recipient_id, read_through)
    SELECT ${realmId}, ${userId}, ${recipientId}::bigint, id FROM best
    ON CONFLICT (realm_id, user_id, recipient_id) DO UPDATE SET read_through = EXCLUDED.read_through`;
}
