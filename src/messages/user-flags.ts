import { Prisma } from '../generated/prisma/client.ts';
import type { SqlClient } from '../platform/db/client.ts';
import { listOf } from '../platform/db/lists.ts';
import { readRows } from '../platform/db/rows.ts';
import { receivedBy } from './access.ts';
import type { UserFlags } from './wire.ts';

/** The key of the read mark that the message `m` falls under, as SQL: that of where it was sent. */
export const SENT_RECIPIENT = Prisma.sql`COALESCE(m.sent_channel_id::bigint * 2, m.conversation_id::bigint * 2 + 1)`;

/** Whether the user, who received the message `m`, has read it, as SQL. */
export function isReadBy(userId: number | Prisma.Sql): Prisma.Sql {
  return Prisma.sql`COALESCE(
    (SELECT x.is_read FROM read_exception x WHERE x.user_id = ${userId} AND x.message_id = m.id),
    (m.sender_id = ${userId} AND m.read_by_sender) OR m.id <= COALESCE(
      (SELECT r.read_through FROM read_mark r WHERE r.user_id = ${userId} AND r.recipient_id = ${SENT_RECIPIENT}), 0))`;
}

/**
 * Whether the message `m` is unread for the user, whether they received it or not, as SQL. What was never received is
 * read, because nobody waits for it, unless the user took it up from the channel's history and marked it unread.
 */
export function isUnreadBy(userId: number | Prisma.Sql): Prisma.Sql {
  return unreadFrom(userId, {
    isRead: Prisma.sql`(SELECT x.is_read FROM read_exception x WHERE x.user_id = ${userId} AND x.message_id = m.id)`,
    readThrough: Prisma.sql`
      (SELECT r.read_through FROM read_mark r WHERE r.user_id = ${userId} AND r.recipient_id = ${SENT_RECIPIENT})`,
    received: receivedBy(userId),
  });
}

/** What decides whether a message is unread, as SQL, wherever it is taken from. */
interface ReadFacts {
  /** What was said of this message alone, or null. */
  readonly isRead: Prisma.Sql;
  /** The mark it falls under, or null. */
  readonly readThrough: Prisma.Sql;
  readonly received: Prisma.Sql;
}

const unreadFrom = (
  userId: number | Prisma.Sql,
  { isRead, readThrough, received }: ReadFacts,
): Prisma.Sql => Prisma.sql`
  COALESCE(NOT ${isRead}, NOT (m.sender_id = ${userId} AND m.read_by_sender) AND m.id > COALESCE(${readThrough}, 0)
    AND ${received})`;

interface UserFlagsRow {
  readonly user_id: number;
  readonly id: bigint;
  readonly received: boolean;
  readonly unread: boolean;
  readonly starred: boolean;
  readonly collapsed: boolean;
  readonly mentioned: boolean;
  readonly channel_wildcard: boolean;
  readonly topic_wildcard: boolean;
  readonly alerted: boolean;
}

/** What the user has with each of the messages, by id, in one query. Whether they may read them is not asked. */
export async function readFlags(
  db: SqlClient,
  { id, realm }: { readonly id: number; readonly realm: { readonly id: number } },
  messageIds: readonly number[],
): Promise<Map<number, UserFlags>> {
  return (await readFlagsOfEach(db, realm.id, [id], messageIds)).get(id) ?? new Map();
}

/** What each of the users has with each of the messages, by their ids, in one query. */
export async function readFlagsOfEach(
  db: SqlClient,
  realmId: number,
  userIds: readonly number[],
  messageIds: readonly number[],
): Promise<Map<number, Map<number, UserFlags>>> {
  if (messageIds.length === 0) return new Map();
  const user = Prisma.sql`viewer.id`;
  // For one, as is usual, so that one plan is good for all: for a list of unknown length it would be made anew each time.
  const viewers =
    userIds.length === 1
      ? Prisma.sql`(SELECT ${userIds[0]}::int AS id) AS viewer`
      : Prisma.sql`unnest(${[...userIds]}::int[]) AS viewer(id)`;
  const facts = {
    isRead: Prisma.sql`x.is_read`,
    readThrough: Prisma.sql`r.read_through`,
    received: Prisma.sql`received.so`,
  };
  // Whether a message was received is worked out once. OFFSET 0 has each row of another table found by its key: the planner
  // would rather read all that everybody has with any message.
  const rows = await readRows<UserFlagsRow>(
    db,
    Prisma.sql`
    SELECT viewer.id AS user_id, m.id, received.so AS received, ${unreadFrom(user, facts)} AS unread, m.channel_wildcard,
           COALESCE(um.starred, false) AS starred, COALESCE(um.collapsed, false) AS collapsed,
           COALESCE(um.mentioned, false) AS mentioned, COALESCE(um.topic_wildcard_mentioned, false) AS topic_wildcard,
           COALESCE(um.has_alert_word, false) AS alerted
    FROM message m CROSS JOIN ${viewers}
    LEFT JOIN LATERAL (
      SELECT um.starred, um.collapsed, um.mentioned, um.topic_wildcard_mentioned, um.has_alert_word
      FROM user_message um WHERE um.user_id = viewer.id AND um.message_id = m.id OFFSET 0) AS um ON true
    LEFT JOIN LATERAL (
      SELECT x.is_read FROM read_exception x
      WHERE x.user_id = viewer.id AND x.message_id = m.id OFFSET 0) AS x ON true
    LEFT JOIN LATERAL (
      SELECT r.read_through FROM read_mark r
      WHERE r.user_id = viewer.id AND r.recipient_id = ${SENT_RECIPIENT} OFFSET 0) AS r ON true
    CROSS JOIN LATERAL (SELECT ${receivedBy(user)} AS so OFFSET 0) AS received
    WHERE m.realm_id = ${realmId} AND m.id = ANY(${listOf('bigint', messageIds)})`,
  );
  const byUser = Map.groupBy(rows, ({ user_id }) => user_id);
  return new Map([...byUser].map(([id, ofUser]) => [id, new Map(ofUser.map((row) => [Number(row.id), toFlags(row)]))]));
}

const toFlags = (row: UserFlagsRow): UserFlags => ({
  read: !row.unread,
  starred: row.starred,
  collapsed: row.collapsed,
  mentioned: row.mentioned,
  channelWildcard: row.channel_wildcard && row.received,
  topicWildcard: row.topic_wildcard,
  hasAlertWord: row.alerted,
  historical: !row.received,
});
