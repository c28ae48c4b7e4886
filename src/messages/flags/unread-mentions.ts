import { Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { isUnreadBy } from '../flag-conditions.ts';
import { IS_TOPIC_MUTED } from '../topic-policies/policies.ts';
import { type PlaceFilter, placesOf } from './counted-places.ts';
import type { AnyHolder } from './unread.ts';
import { ofEach } from './unread-counts.ts';

/**
 * Maximum number of messages that are examined for mentions, newest first. Older messages are not counted as mentions. One such
 * limit applies to the messages that mention the user. Another applies, in each channel and conversation, to the messages that
 * mention all members.
 */
export const MAX_MENTIONS = 1_000;

/**
 * Number of unread messages in one topic or conversation that mention the user. Messages of muted topics that have only a
 * wildcard mention are not counted.
 */
export interface UnreadMentions {
  /** Id of the channel. Null for a conversation. */
  readonly channelId: number | null;
  /** Id of the conversation. Null for a topic. */
  readonly conversationId: number | null;
  /** Key of the topic: its name without differences of letter case and Unicode form. Empty for a conversation. */
  readonly topic: string;
  readonly count: number;
}

/** Builds the query of the unread mentions of one user. */
export function mentionsOf(holder: AnyHolder, filter?: PlaceFilter): Prisma.Sql {
  const { organizationId, userId } = holder;
  const wildcards = (stands: Prisma.Sql) => Prisma.sql`
    SELECT mentioned.id FROM place p CROSS JOIN LATERAL (
      SELECT m.id FROM message m
      WHERE m.realm_id = ${organizationId} AND ${stands} AND m.channel_wildcard AND m.id > p.above
      ORDER BY m.id DESC LIMIT ${MAX_MENTIONS}) AS mentioned`;
  return Prisma.sql`
    WITH ${placesOf(holder, filter)}, found AS (
      (SELECT um.message_id AS id FROM user_message um
       WHERE um.realm_id = ${organizationId} AND um.user_id = ${userId} AND (um.mentioned OR um.topic_wildcard_mentioned)
       ORDER BY um.message_id DESC LIMIT ${MAX_MENTIONS})
      UNION ${wildcards(Prisma.sql`m.channel_id IS NOT NULL AND m.channel_id = p.channel_id`)}
      UNION ${wildcards(Prisma.sql`m.conversation_id IS NOT NULL AND m.conversation_id = p.conversation_id`)}
      -- Messages marked as unread one by one, and moved messages: they can be before the read mark of their channel or conversation.
      UNION SELECT x.message_id FROM read_exception x
      WHERE x.realm_id = ${organizationId} AND x.user_id = ${userId} AND NOT x.is_read
      UNION
      SELECT m.id FROM subscription_period p
      JOIN message m ON m.realm_id = p.realm_id AND m.sent_channel_id = p.channel_id AND m.channel_id <> m.sent_channel_id
      WHERE p.realm_id = ${organizationId} AND p.user_id = ${userId} AND m.channel_wildcard
    )
    SELECT m.channel_id AS "channelId", m.conversation_id AS "conversationId", topic_key(m.topic) AS topic, count(*)::int AS count
    FROM found JOIN message m ON m.realm_id = ${organizationId} AND m.id = found.id
    JOIN place s ON s.recipient_id = COALESCE(m.channel_id::bigint * 2, m.conversation_id::bigint * 2 + 1)
    LEFT JOIN user_message um ON um.realm_id = m.realm_id AND um.user_id = ${userId} AND um.message_id = m.id
    LEFT JOIN user_topic t ON t.realm_id = m.realm_id AND t.user_id = ${userId} AND t.channel_id = m.channel_id AND topic_key(t.topic) = topic_key(m.topic)
    WHERE (um.mentioned OR NOT (${IS_TOPIC_MUTED}) AND (m.channel_wildcard OR um.topic_wildcard_mentioned))
      AND ${isUnreadBy(organizationId, userId)}
      -- Own messages in a channel without a subscription count only if they were marked as unread.
      AND (m.sender_id <> ${userId} OR m.conversation_id IS NOT NULL
        OR EXISTS (SELECT FROM read_exception x WHERE x.realm_id = ${organizationId} AND x.user_id = ${userId} AND x.message_id = m.id)
        OR EXISTS (
          SELECT FROM subscription_period p
          WHERE p.realm_id = ${organizationId} AND p.user_id = ${userId} AND p.channel_id = m.sent_channel_id AND p.began_message_id < m.id
            AND (p.ended_message_id IS NULL OR m.id <= p.ended_message_id)))
    GROUP BY 1, 2, 3`;
}

/** Counts the unread mentions of each user, per topic or conversation. Returns the counts by user id. Uses one query. */
export async function unreadMentionsOfEach(
  db: SqlClient,
  organizationId: number,
  userIds: readonly number[],
): Promise<Map<number, UnreadMentions[]>> {
  const rows = await ofEach<UnreadMentions>(db, userIds, (userId) => mentionsOf({ organizationId, userId }));
  return Map.groupBy(rows, ({ userId }) => userId);
}
