import { Prisma } from '../generated/prisma/client.ts';
import type { SqlClient } from '../platform/db/client.ts';
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
  return Prisma.sql`COALESCE(
    (SELECT NOT x.is_read FROM read_exception x WHERE x.user_id = ${userId} AND x.message_id = m.id),
    NOT (m.sender_id = ${userId} AND m.read_by_sender) AND m.id > COALESCE(
      (SELECT r.read_through FROM read_mark r WHERE r.user_id = ${userId} AND r.recipient_id = ${SENT_RECIPIENT}), 0)
      AND ${receivedBy(userId)})`;
}

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
  const rows = await readRows<UserFlagsRow>(
    db,
    Prisma.sql`
    SELECT viewer.id AS user_id, m.id, ${receivedBy(user)} AS received, ${isUnreadBy(user)} AS unread, m.channel_wildcard,
           COALESCE(um.starred, false) AS starred, COALESCE(um.collapsed, false) AS collapsed,
           COALESCE(um.mentioned, false) AS mentioned, COALESCE(um.topic_wildcard_mentioned, false) AS topic_wildcard,
           COALESCE(um.has_alert_word, false) AS alerted
    FROM message m CROSS JOIN unnest(${[...userIds]}::int[]) AS viewer(id)
    LEFT JOIN user_message um ON um.user_id = viewer.id AND um.message_id = m.id
    WHERE m.realm_id = ${realmId} AND m.id = ANY(${[...messageIds]}::bigint[])`,
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
