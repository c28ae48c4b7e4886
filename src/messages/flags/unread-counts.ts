import { Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { readRows } from '../../platform/db/rows.ts';
import { IS_TOPIC_MUTED } from '../topic-policies/policies.ts';
import { type AnyHolder, MAX_UNREAD, readUnread, type UnreadGroup, unreadMessages } from './unread.ts';

/** How much is unread in one channel, or in all conversations: what is muted of it, and what is not. */
export interface UnreadCount {
  /** Null for conversations. */
  readonly channelId: number | null;
  readonly isMuted: boolean;
  readonly count: number;
  /** How many of these mention the user: with everybody, where it is not muted. */
  readonly mentions: number;
}

/** What is unread for a user, counted. */
export interface CountedUnread {
  readonly counts: readonly UnreadCount[];
  /** Whether there is more than `MAX_UNREAD`, and the oldest is not counted. */
  readonly isCut: boolean;
}

/** A statement of `channelId`, `isMuted`, `count` and `mentions`; of no more messages than `MAX_UNREAD` and one. */
function countsOf(holder: AnyHolder): Prisma.Sql {
  const { userId } = holder;
  return Prisma.sql`
    WITH unread AS MATERIALIZED (SELECT * FROM ${unreadMessages(holder)} AS found LIMIT ${MAX_UNREAD + 1})
    SELECT u.channel_id AS "channelId", placed.is_muted AS "isMuted", count(*)::int AS count,
           (count(*) FILTER (WHERE um.mentioned
             OR NOT placed.is_muted AND (u.channel_wildcard OR um.topic_wildcard_mentioned)))::int AS mentions
    FROM unread u
    LEFT JOIN user_message um ON um.user_id = ${userId} AND um.message_id = u.id
      AND (um.mentioned OR um.topic_wildcard_mentioned)
    LEFT JOIN subscription s ON s.user_id = ${userId} AND s.channel_id = u.channel_id
    LEFT JOIN user_topic t ON t.user_id = ${userId} AND t.channel_id = u.channel_id AND lower(t.topic) = lower(u.topic)
    CROSS JOIN LATERAL (SELECT ${IS_TOPIC_MUTED} AS is_muted) AS placed
    GROUP BY u.channel_id, placed.is_muted`;
}

/** What is unread for each of the users, counted by the database: one query, and more for those who have too much. */
export async function countUnreadOfEach(
  db: SqlClient,
  realmId: number,
  userIds: readonly number[],
): Promise<Map<number, CountedUnread>> {
  const [alone, another] = userIds;
  if (alone === undefined) return new Map();
  type Row = UnreadCount & { readonly userId: number };
  // Who is alone is read by a query of their own, which the planner knows more of.
  const rows =
    another === undefined
      ? (await readRows<UnreadCount>(db, countsOf({ realmId, userId: alone }))).map((row) => ({
          ...row,
          userId: alone,
        }))
      : await readRows<Row>(
          db,
          Prisma.sql`
            SELECT holder.id AS "userId", found.* FROM unnest(${[...userIds]}::int[]) AS holder(id)
            CROSS JOIN LATERAL (${countsOf({ realmId, userId: Prisma.sql`holder.id` })}) AS found`,
        );
  const byUser = Map.groupBy(rows, ({ userId }) => userId);
  const found = new Map<number, CountedUnread>();
  for (const userId of userIds) {
    const counts = byUser.get(userId) ?? [];
    const isCut = counts.reduce((sum, { count }) => sum + count, 0) > MAX_UNREAD;
    // Which are the newest is known when all are read.
    const cut = async () => (await readUnread(db, { realmId, userId })).groups.map(countOf);
    found.set(userId, { counts: isCut ? await cut() : counts, isCut });
  }
  return found;
}

const countOf = ({ channelId, isMuted, ids, mentions }: UnreadGroup): UnreadCount => ({
  ...{ channelId, isMuted, count: ids.length, mentions: mentions.length },
});
