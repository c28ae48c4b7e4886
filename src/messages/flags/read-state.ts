import { Prisma } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { receivedBy } from '../access.ts';
import { SENT_RECIPIENT } from '../flag-conditions.ts';

/** Ids of a user and of their organization. */
export interface Holder {
  readonly organizationId: number;
  readonly userId: number;
}

/**
 * Locks the rows of users, so that changes of one user's flags run one after another. Must be called before any other lock is
 * taken. Only locks of the organization and of channels may be held already.
 */
export async function lockReaders(tx: Tx, organizationId: number, userIds: readonly number[]): Promise<void> {
  await tx.$queryRaw`
    SELECT 1 AS held FROM user_account WHERE realm_id = ${organizationId} AND id = ANY(${[...new Set(userIds)]})
    ORDER BY id FOR NO KEY UPDATE`;
}

/**
 * Number of read exceptions in one channel or conversation at which `compact` moves the user's read mark to its best position.
 * `compact` runs again each time the number of exceptions has doubled. So a user who marks many messages one by one does not
 * cause a run with each message.
 */
const MAX_EXCEPTIONS = 64;
/**
 * Maximum number of messages after the read mark that are examined to find its best position. The mark is not moved beyond
 * them. Examining them takes about 50 ms.
 */
const MAX_SPAN = 20_000;

/**
 * Returns 0 for fewer than `MAX_EXCEPTIONS` exceptions, 1 from `MAX_EXCEPTIONS` on, and 1 more each time the number doubles.
 */
const doublings = (count: number): number => Math.max(0, Math.floor(Math.log2(count / MAX_EXCEPTIONS)) + 1);

interface Touched {
  readonly recipient_id: bigint;
  /**
   * Number of read exceptions for this recipient id before the change. `put` and `gone` are the numbers of exceptions that were
   * inserted and deleted.
   */
  readonly before: number;
  readonly put: number;
  readonly gone: number;
}

/**
 * Marks messages as read or unread for a user, in the caller's transaction, which must have locked the user. A read exception
 * is stored for a message only if the user's read mark does not give the requested state. Messages that do not exist are
 * ignored.
 *
 * @see src/messages/README.md
 */
export async function setRead(tx: Tx, holder: Holder, messageIds: readonly number[], isRead: boolean): Promise<void> {
  if (messageIds.length === 0) return;
  const { organizationId, userId } = holder;
  // `FOR KEY SHARE` waits for concurrent deletions of the messages, and then omits the deleted messages.
  const touched = await tx.$queryRaw<Touched[]>`
    WITH wanted AS (
      SELECT m.id, ${SENT_RECIPIENT} AS recipient_id,
             (m.sender_id = ${userId} AND m.read_by_sender) OR m.id <= COALESCE((
               SELECT r.read_through FROM read_mark r
               WHERE r.realm_id = ${organizationId} AND r.user_id = ${userId} AND r.recipient_id = ${SENT_RECIPIENT}), 0)
             OR NOT ${receivedBy(organizationId, userId)} AS by_itself
      FROM message m WHERE m.realm_id = ${organizationId} AND m.id = ANY(${[...messageIds]}::bigint[]) FOR KEY SHARE OF m
    ), held AS MATERIALIZED (
      SELECT w.recipient_id, (
        SELECT count(*)::int FROM read_exception x
        WHERE x.realm_id = ${organizationId} AND x.user_id = ${userId} AND x.recipient_id = w.recipient_id) AS before
      FROM (SELECT DISTINCT recipient_id FROM wanted) AS w
    ), gone AS (
      DELETE FROM read_exception x USING wanted
      WHERE x.realm_id = ${organizationId} AND x.user_id = ${userId} AND x.message_id = wanted.id AND wanted.by_itself = ${isRead}::boolean
      RETURNING x.recipient_id
    ), put AS (
      INSERT INTO read_exception (realm_id, user_id, message_id, recipient_id, is_read)
      SELECT ${organizationId}, ${userId}, id, recipient_id, ${isRead}::boolean FROM wanted WHERE by_itself <> ${isRead}::boolean
      ON CONFLICT (realm_id, user_id, message_id) DO UPDATE SET is_read = EXCLUDED.is_read
      RETURNING recipient_id
    )
    SELECT held.recipient_id, held.before,
           (SELECT count(*)::int FROM put WHERE put.recipient_id = held.recipient_id) AS put,
           (SELECT count(*)::int FROM gone WHERE gone.recipient_id = held.recipient_id) AS gone
    FROM held`;
  for (const { recipient_id, before, put, gone } of touched) {
    if (doublings(before + put - gone) > doublings(before)) await compact(tx, holder, Number(recipient_id));
  }
}

/**
 * Returns one or two SQL conditions. The message `m` was sent to the channel or conversation with this recipient id if one of
 * them is true. The database has a separate index for each condition.
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
 * Moves a user's read mark forward to the position that needs the fewest read exceptions, if the current position needs more.
 * Up to the new position, exceptions of read messages are deleted, and unread messages get an exception. The read state of the
 * messages does not change.
 */
export async function compact(tx: Tx, { organizationId, userId }: Holder, recipientId: number): Promise<void> {
  const places = sentTo(recipientId).map(
    (place) => Prisma.sql`(
      SELECT m.id, m.sender_id = ${userId} AND m.read_by_sender AS by_itself, x.is_read
      FROM mark, last, message m LEFT JOIN read_exception x ON x.realm_id = ${organizationId} AND x.user_id = ${userId} AND x.message_id = m.id
      WHERE m.realm_id = ${organizationId} AND ${place} AND m.id > mark.id AND m.id <= last.id AND ${receivedBy(organizationId, userId)}
      ORDER BY m.id LIMIT ${MAX_SPAN})`,
  );
  // `dearer` is the number by which exceptions increase if the mark is moved to a message. Each unread message up to that
  // message needs a new exception. Each message that was marked as read by an exception no longer needs it. Messages that count
  // as read because the user sent them need no exception in either case.
  await tx.$executeRaw`
    WITH mark AS (
      SELECT COALESCE(max(read_through), 0) AS id FROM read_mark
      WHERE realm_id = ${organizationId} AND user_id = ${userId} AND recipient_id = ${recipientId}::bigint
    ), last AS MATERIALIZED (
      SELECT max(message_id) AS id FROM read_exception
      WHERE realm_id = ${organizationId} AND user_id = ${userId} AND recipient_id = ${recipientId}::bigint
    ), span AS MATERIALIZED (
      SELECT id, by_itself, is_read, sum(CASE WHEN by_itself THEN 0 WHEN is_read THEN -1 ELSE 1 END) OVER (ORDER BY id) AS dearer
      FROM (SELECT * FROM (${Prisma.join(places, ' UNION ALL ')}) AS sent ORDER BY id LIMIT ${MAX_SPAN}) AS few
    ), best AS (
      SELECT id FROM span WHERE dearer < 0 ORDER BY dearer, id DESC LIMIT 1
    ), gone AS (
      DELETE FROM read_exception x USING best
      WHERE x.realm_id = ${organizationId} AND x.user_id = ${userId} AND x.recipient_id = ${recipientId}::bigint AND x.is_read AND x.message_id <= best.id
    ), put AS (
      INSERT INTO read_exception (realm_id, user_id, message_id, recipient_id, is_read)
      SELECT ${organizationId}, ${userId}, there.id, ${recipientId}::bigint, false FROM (
        SELECT m.id FROM message m
        WHERE m.realm_id = ${organizationId} AND m.id IN (
          SELECT span.id FROM span, best WHERE span.id <= best.id AND NOT by_itself AND is_read IS NULL)
        FOR KEY SHARE OF m) AS there
    )
    INSERT INTO read_mark (realm_id, user_id, recipient_id, read_through)
    SELECT ${organizationId}, ${userId}, ${recipientId}::bigint, id FROM best
    ON CONFLICT (realm_id, user_id, recipient_id) DO UPDATE SET read_through = EXCLUDED.read_through`;
}
