import { Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { readRows } from '../../platform/db/rows.ts';
import type { Holder } from './read-state.ts';

/**
 * Maximum number of starred messages, and maximum number of conversations, in the initial state of an event queue. Older ones
 * are omitted.
 */
const [MAX_STARRED, MAX_CONVERSATIONS] = [10_000, 1_000];

/** Reads the ids of the user's newest starred messages, ascending. At most `MAX_STARRED`. */
export async function starredIds(db: SqlClient, { organizationId, userId }: Holder): Promise<number[]> {
  const [row] = await readRows<{ ids: number[] | null }>(
    db,
    Prisma.sql`
    SELECT json_agg(message_id ORDER BY message_id) AS ids FROM (
      SELECT message_id FROM user_message
      WHERE realm_id = ${organizationId} AND user_id = ${userId} AND starred
      ORDER BY message_id DESC LIMIT ${MAX_STARRED}) AS newest`,
  );
  return row?.ids ?? [];
}

/** A direct conversation that has a message. */
export interface RecentConversation {
  /** Id of the last message in the conversation. */
  readonly maxId: number;
  /** Ids of all members, ascending. */
  readonly memberIds: readonly number[];
}

/** Reads the user's conversations, at most `MAX_CONVERSATIONS`. The conversation with the newest message comes first. */
export async function recentConversations(
  db: SqlClient,
  { organizationId, userId }: Holder,
): Promise<RecentConversation[]> {
  const rows = await readRows<{ max_id: bigint; member_ids: number[] }>(
    db,
    Prisma.sql`
    SELECT last.id AS max_id, c.member_ids FROM conversation_member cm
    CROSS JOIN LATERAL (
      SELECT m.id FROM message m
      WHERE m.realm_id = ${organizationId} AND m.conversation_id = cm.conversation_id ORDER BY m.id DESC LIMIT 1) AS last
    JOIN conversation c ON c.realm_id = cm.realm_id AND c.id = cm.conversation_id
    WHERE cm.realm_id = ${organizationId} AND cm.user_id = ${userId} ORDER BY last.id DESC LIMIT ${MAX_CONVERSATIONS}`,
  );
  return rows.map(({ max_id, member_ids }) => ({ maxId: Number(max_id), memberIds: member_ids }));
}

/** Reads the id of the last message that the user received. -1 if there is none. */
export async function lastReceivedId(db: SqlClient, holder: Holder): Promise<number> {
  return (await lastReceivedIds(db, [holder])).get(holder.userId) ?? -1;
}

/**
 * Reads the id of the last message that each user received, by user id, with one query. Users who received no message are
 * absent from the result.
 *
 * The query is equivalent to `receivedBy` in messages/access.ts, but each of the query's parts can use a separate index.
 * `COALESCE` around a comparison keeps the planner from estimating few matches and reading the whole channel.
 */
export async function lastReceivedIds(db: SqlClient, holders: readonly Holder[]): Promise<Map<number, number>> {
  const rows = await readRows<{ user_id: number; id: bigint | null }>(
    db,
    Prisma.sql`
    SELECT u.id AS user_id, (SELECT max(id) FROM (
      SELECT (SELECT m.id FROM message m
              WHERE m.realm_id = u.realm_id AND m.channel_id = p.channel_id AND COALESCE(m.sent_channel_id = m.channel_id) AND m.id > p.began_message_id
                AND m.id <= COALESCE(p.ended_message_id, 9223372036854775807) ORDER BY m.id DESC LIMIT 1) AS id
      FROM subscription_period p WHERE p.realm_id = u.realm_id AND p.user_id = u.id
      UNION ALL
      SELECT (SELECT m.id FROM message m
              WHERE m.realm_id = u.realm_id AND m.sent_channel_id = p.channel_id AND m.channel_id <> m.sent_channel_id
                AND m.id > p.began_message_id
                AND m.id <= COALESCE(p.ended_message_id, 9223372036854775807) ORDER BY m.id DESC LIMIT 1)
      FROM subscription_period p WHERE p.realm_id = u.realm_id AND p.user_id = u.id
      UNION ALL
      SELECT (SELECT m.id FROM message m
              WHERE m.realm_id = u.realm_id AND m.conversation_id = cm.conversation_id ORDER BY m.id DESC LIMIT 1)
      FROM conversation_member cm WHERE cm.realm_id = u.realm_id AND cm.user_id = u.id
      UNION ALL
      (SELECT m.id FROM message m WHERE m.realm_id = u.realm_id AND m.sender_id = u.id ORDER BY m.id DESC LIMIT 1)
    ) AS last) AS id FROM unnest(
      ${holders.map(({ organizationId }) => organizationId)}::int[], ${holders.map(({ userId }) => userId)}::int[]) AS u(realm_id, id)`,
  );
  return new Map(rows.flatMap(({ user_id, id }) => (id === null ? [] : [[user_id, Number(id)] as const])));
}
