import { topicKey } from '../../contract/topic-key.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { readRows } from '../../platform/db/rows.ts';
import { IS_TOPIC_MUTED } from '../topic-policies/policies.ts';
import { conversationRecipientId } from '../wire.ts';
import type { Holder } from './read-state.ts';

/** Maximum number of unread messages in the initial state of an event queue. If there are more, the newest are returned. */
export const MAX_UNREAD = 50_000;

/** Unread messages of a user in one topic or conversation. */
export interface UnreadGroup {
  /** Id of the channel. Null for a direct conversation. */
  readonly channelId: number | null;
  /** Name of the topic, exactly as in the newest of the messages. "" for a conversation. */
  readonly topic: string;
  /** Ids of the members of the conversation, ascending. Null for a topic. */
  readonly memberIds: readonly number[] | null;
  /** Whether the topic is muted by the user's policy or, without a policy, by its channel. False for a conversation. */
  readonly isMuted: boolean;
  /** Ids of the unread messages, ascending. */
  readonly ids: readonly number[];
  /**
   * Ids of those unread messages that mention the user by name or through a group. If the topic is not muted, ids of messages
   * with a wildcard mention are included.
   */
  readonly mentions: readonly number[];
}

/** A channel or topic whose unread messages are fetched. The user need not be subscribed to the channel. */
export interface UnreadPlace {
  readonly channelId: number;
  readonly topic?: string | undefined;
}

/** Ids of a user and of their organization. The user id is a number, or SQL for a column with user ids. */
export interface AnyHolder extends Omit<Holder, 'userId'> {
  readonly userId: number | Prisma.Sql;
}

/** Range of message ids: greater than `above` and at most `through`. */
interface Window {
  readonly above: number;
  readonly through: number;
}

/**
 * Builds SQL for a user's unread messages, with the columns `id`, `channel_id`, `topic`, `conversation_id` and
 * `channel_wildcard`.
 *
 * Each part of the UNION reads an index from the user's read mark on. So the cost grows with the number of unread messages,
 * channels and conversations, but not with the number of read messages. `OFFSET 0` forces this plan, because the planner does
 * not know the marks.
 *
 * @param place Channel or topic to which the result is restricted. Absent: all direct messages, and the channels that are not
 *   archived and to which the user is subscribed.
 * @param window Range of ids to which the result is restricted.
 */
export function unreadMessages(
  { organizationId, userId }: AnyHolder,
  place?: UnreadPlace,
  window?: Window,
): Prisma.Sql {
  const channels =
    place === undefined
      ? Prisma.sql`
          SELECT s.channel_id FROM subscription s JOIN channel c ON c.realm_id = s.realm_id AND c.id = s.channel_id AND NOT c.is_archived
          WHERE s.realm_id = ${organizationId} AND s.user_id = ${userId} AND s.active`
      : Prisma.sql`SELECT ${place.channelId}::int AS channel_id`;
  const columns = Prisma.sql`m.id, m.channel_id, m.topic, m.conversation_id, m.channel_wildcard`;
  const within = Prisma.sql`
    ${place?.topic === undefined ? Prisma.empty : Prisma.sql`AND topic_key(m.topic) = topic_key(${place.topic})`}
    ${window === undefined ? Prisma.empty : Prisma.sql`AND m.id > ${window.above} AND m.id <= ${window.through}`}`;
  const byMark = Prisma.sql`
    NOT (m.sender_id = ${userId} AND m.read_by_sender)
    AND NOT EXISTS (SELECT FROM read_exception x WHERE x.realm_id = ${organizationId} AND x.user_id = ${userId} AND x.message_id = m.id) ${within}`;
  const inPeriod = Prisma.sql`
    m.id > GREATEST(p.began_message_id, r.read_through) AND m.id <= COALESCE(p.ended_message_id, 9223372036854775807)`;
  const parts = [
    // Messages that are in the channel to which they were sent.
    Prisma.sql`
      SELECT sent.* FROM place 
      JOIN subscription_period p ON p.realm_id = ${organizationId} AND p.user_id = ${userId} AND p.channel_id = place.channel_id
      LEFT JOIN read_mark r ON r.realm_id = ${organizationId} AND r.user_id = ${userId} AND r.recipient_id = place.channel_id::bigint * 2
      CROSS JOIN LATERAL (
        SELECT ${columns} FROM message m
        WHERE m.realm_id = ${organizationId} AND m.channel_id = place.channel_id AND m.sent_channel_id = m.channel_id
          AND ${inPeriod} AND ${byMark} OFFSET 0
      ) AS sent`,
    // Messages that were moved from another channel.
    Prisma.sql`
      SELECT moved.* FROM subscription_period p
      LEFT JOIN read_mark r ON r.realm_id = p.realm_id AND r.user_id = p.user_id AND r.recipient_id = p.channel_id::bigint * 2
      CROSS JOIN LATERAL (
        SELECT ${columns} FROM message m
        WHERE m.realm_id = ${organizationId} AND m.sent_channel_id = p.channel_id AND m.channel_id <> m.sent_channel_id
          AND ${inPeriod} AND ${byMark} OFFSET 0
      ) AS moved
      WHERE p.realm_id = ${organizationId} AND p.user_id = ${userId} AND moved.channel_id IN (SELECT channel_id FROM place)`,
    // Messages that were marked as unread one by one, or left unread when the read mark was moved.
    Prisma.sql`
      SELECT excepted.* FROM read_exception x CROSS JOIN LATERAL (
        SELECT ${columns} FROM message m WHERE m.realm_id = ${organizationId} AND m.id = x.message_id ${within} OFFSET 0
      ) AS excepted
      WHERE x.realm_id = ${organizationId} AND x.user_id = ${userId} AND NOT x.is_read
        AND (excepted.channel_id IN (SELECT channel_id FROM place)
          OR ${place === undefined ? Prisma.sql`excepted.conversation_id IS NOT NULL` : Prisma.sql`false`})`,
  ];
  if (place === undefined) {
    parts.push(Prisma.sql`
      SELECT direct.* FROM conversation_member cm
      LEFT JOIN read_mark r ON r.realm_id = cm.realm_id AND r.user_id = cm.user_id AND r.recipient_id = cm.conversation_id::bigint * 2 + 1
      CROSS JOIN LATERAL (
        SELECT ${columns} FROM message m
        WHERE m.realm_id = ${organizationId} AND m.conversation_id = cm.conversation_id AND m.id > COALESCE(r.read_through, 0) AND ${byMark} OFFSET 0
      ) AS direct
      WHERE cm.realm_id = ${organizationId} AND cm.user_id = ${userId}`);
  }
  return Prisma.sql`(WITH place AS MATERIALIZED (${channels}) ${Prisma.join(parts, ' UNION ALL ')})`;
}

interface UnreadGroupRow {
  readonly channel_id: number | null;
  readonly topic: string;
  readonly member_ids: number[] | null;
  readonly is_muted: boolean;
  readonly ids: number[];
  readonly mentioned: number[] | null;
  readonly wildcards: number[] | null;
}

/**
 * Fetches at most `limit` unread messages, grouped by topic and conversation. If the user has more, the result can omit any of
 * them.
 */
async function readGroups(
  db: SqlClient,
  holder: Holder,
  limit: number,
  place?: UnreadPlace,
  window?: Window,
): Promise<UnreadGroup[]> {
  return (await readRows<UnreadGroupRow>(db, groupsOf(holder, limit, place, window))).map(toGroup);
}

function groupsOf(holder: AnyHolder, limit: number, place?: UnreadPlace, window?: Window): Prisma.Sql {
  const { organizationId, userId } = holder;
  return Prisma.sql`
    WITH unread AS MATERIALIZED (
      SELECT * FROM ${unreadMessages(holder, place, window)} AS found LIMIT ${limit}
    ), spelling AS MATERIALIZED (
      -- Computes the key once per spelling, not once per message.
      SELECT d.topic, topic_key(d.topic) AS key FROM (SELECT DISTINCT topic FROM unread) AS d
    ), gathered AS (
      SELECT u.channel_id, u.conversation_id, spelling.key, (array_agg(u.topic ORDER BY u.id DESC))[1] AS topic,
             json_agg(u.id ORDER BY u.id) AS ids, json_agg(u.id ORDER BY u.id) FILTER (WHERE um.mentioned) AS mentioned,
             json_agg(u.id ORDER BY u.id) FILTER (WHERE u.channel_wildcard OR um.topic_wildcard_mentioned) AS wildcards
      FROM unread u JOIN spelling ON spelling.topic = u.topic LEFT JOIN user_message um
        ON um.realm_id = ${organizationId} AND um.user_id = ${userId} AND um.message_id = u.id
        AND (um.mentioned OR um.topic_wildcard_mentioned)
      GROUP BY u.channel_id, u.conversation_id, spelling.key
    )
    SELECT g.channel_id, g.topic, c.member_ids, g.ids, g.mentioned, g.wildcards,
           ${IS_TOPIC_MUTED} AS is_muted
    FROM gathered g
    LEFT JOIN conversation c ON c.realm_id = ${organizationId} AND c.id = g.conversation_id
    LEFT JOIN subscription s ON s.realm_id = ${organizationId} AND s.user_id = ${userId} AND s.channel_id = g.channel_id
    LEFT JOIN user_topic t ON t.realm_id = ${organizationId} AND t.user_id = ${userId} AND t.channel_id = g.channel_id AND topic_key(t.topic) = g.key`;
}

const toGroup = (row: UnreadGroupRow): UnreadGroup => ({
  channelId: row.channel_id,
  topic: row.topic,
  memberIds: row.member_ids,
  isMuted: row.is_muted,
  ids: row.ids,
  mentions: union(row.mentioned ?? [], row.is_muted ? [] : (row.wildcards ?? [])),
});

const union = (a: readonly number[], b: readonly number[]): number[] =>
  [...new Set([...a, ...b])].sort((x, y) => x - y);

const sizeOf = (groups: readonly UnreadGroup[]): number => groups.reduce((sum, { ids }) => sum + ids.length, 0);

/** The newest unread messages of a user, grouped by topic and conversation. */
export interface Unread {
  readonly groups: readonly UnreadGroup[];
  /** Whether the user has more unread messages than `MAX_UNREAD`. The oldest are then omitted. */
  readonly isCut: boolean;
}

/**
 * Reads a user's unread messages: direct messages, and messages of channels to which the user is subscribed.
 *
 * @param max Maximum number of messages. Only tests set it.
 */
export async function readUnread(db: SqlClient, holder: Holder, max = MAX_UNREAD): Promise<Unread> {
  const groups = await readGroups(db, holder, max + 1);
  if (sizeOf(groups) <= max) return { groups, isCut: false };
  return { groups: await readNewest(db, holder, max), isCut: true };
}

/**
 * Reads the newest `max` unread messages. Queries ranges of ids from the newest on, each twice as wide as the previous one,
 * until enough messages are found. So hardly more than `max` messages are read.
 */
async function readNewest(db: SqlClient, holder: Holder, max: number): Promise<UnreadGroup[]> {
  const [last] = await readRows<{ id: bigint }>(
    db,
    Prisma.sql`
    SELECT COALESCE(max(id), 0) AS id FROM message WHERE realm_id = ${holder.organizationId}`,
  );
  const found: UnreadGroup[] = [];
  let through = Number(last?.id ?? 0);
  for (let width = max; through > 0 && sizeOf(found) < max; width *= 2) {
    const above = Math.max(0, through - width);
    found.push(...(await readGroups(db, holder, width, undefined, { above, through })));
    through = above;
  }
  const oldest = found
    .flatMap(({ ids }) => ids)
    .sort((a, b) => b - a)
    .at(max - 1);
  return mergeGroups(found, oldest ?? 0);
}

const keyOf = ({ channelId, topic, memberIds }: UnreadGroup) => `${channelId} ${memberIds?.join()} ${topicKey(topic)}`;

/**
 * Merges the groups of the same topic or conversation into one. Omits messages with ids below `oldest`.
 *
 * @param parts Groups. Groups with newer messages come first.
 */
function mergeGroups(parts: readonly UnreadGroup[], oldest: number): UnreadGroup[] {
  return [...Map.groupBy(parts, keyOf).values()].flatMap(([newest, ...older]) => {
    if (newest === undefined) return [];
    const kept = (name: 'ids' | 'mentions') =>
      [newest, ...older]
        .flatMap((part) => part[name])
        .filter((id) => id >= oldest)
        .sort((a, b) => a - b);
    const ids = kept('ids');
    return ids.length === 0 ? [] : [{ ...newest, ids, mentions: kept('mentions') }];
  });
}

/** Ids of unread messages in one topic of a channel. */
export interface UnreadInTopic {
  /** Name of the topic, as in some of the messages. */
  readonly topic: string;
  readonly ids: readonly number[];
}

/** Reads the ids of a user's unread messages in one of their direct conversations, ascending. */
export async function unreadIdsInConversation(
  db: SqlClient,
  { organizationId, userId }: Holder,
  conversationId: number,
): Promise<number[]> {
  const rows = await readRows<{ readonly id: bigint }>(
    db,
    Prisma.sql`
    WITH mark AS (
      SELECT COALESCE(max(read_through), 0) AS id FROM read_mark
      WHERE realm_id = ${organizationId} AND user_id = ${userId} AND recipient_id = ${conversationRecipientId(conversationId)}::bigint
    )
    SELECT m.id FROM mark, message m
    WHERE m.realm_id = ${organizationId} AND m.conversation_id = ${conversationId}::int AND m.id > mark.id
      AND NOT (m.sender_id = ${userId} AND m.read_by_sender)
      AND NOT EXISTS (
        SELECT FROM read_exception x WHERE x.realm_id = ${organizationId} AND x.user_id = ${userId} AND x.message_id = m.id)
    UNION
    SELECT x.message_id FROM read_exception x
    WHERE x.realm_id = ${organizationId} AND x.user_id = ${userId} AND NOT x.is_read
      AND x.recipient_id = ${conversationRecipientId(conversationId)}::bigint
    ORDER BY id`,
  );
  return rows.map(({ id }) => Number(id));
}

/** Reads the ids of a user's unread messages in a channel or topic. */
export async function unreadIdsIn(db: SqlClient, holder: Holder, place: UnreadPlace): Promise<UnreadInTopic[]> {
  return readRows<UnreadInTopic>(
    db,
    Prisma.sql`
    SELECT topic, json_agg(id) AS ids FROM ${unreadMessages(holder, place)} AS unread GROUP BY topic`,
  );
}
