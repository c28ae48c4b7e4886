import { Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { readRows } from '../../platform/db/rows.ts';
import { IS_TOPIC_MUTED } from '../topic-policies/policies.ts';
import type { Holder } from './read-state.ts';

/** How many unread messages clients are told of, the newest. */
export const MAX_UNREAD = 50_000;

/** Unread messages that belong together: of one topic, or of one conversation; and what they are to the user. */
export interface UnreadGroup {
  /** Null for a direct conversation. */
  readonly channelId: number | null;
  /** As the newest of the messages has it; "" for a conversation. */
  readonly topic: string;
  /** Who takes part in the conversation, ascending; null for a topic. */
  readonly memberIds: readonly number[] | null;
  /** Whether the topic is muted, by itself or with its channel. */
  readonly isMuted: boolean;
  /** Ascending. */
  readonly ids: readonly number[];
  /** Those that mention the user by name, through a group, or with everybody where that is not muted. */
  readonly mentions: readonly number[];
}

/** A part of what is unread: a channel the user need not be subscribed to, or a topic of it. */
export interface UnreadPlace {
  readonly channelId: number;
  readonly topic?: string | undefined;
}

/** A holder, or a column of holders in a query. */
export interface AnyHolder extends Omit<Holder, 'userId'> {
  readonly userId: number | Prisma.Sql;
}

/** Ids above `above`, through `through`. */
interface Window {
  readonly above: number;
  readonly through: number;
}

/**
 * What is unread for a user, as SQL: rows of `id`, `channel_id`, `topic`, `conversation_id` and `channel_wildcard`.
 *
 * Each part enters an index at the user's mark, so that it costs what there is to find, and an entry for each channel and
 * conversation, however old the organisation is. `OFFSET 0` keeps the planner to that: it knows no user's mark.
 *
 * @param place Absent: direct messages, and the channels the user is subscribed to that are not archived.
 */
export function unreadMessages({ realmId, userId }: AnyHolder, place?: UnreadPlace, window?: Window): Prisma.Sql {
  const channels =
    place === undefined
      ? Prisma.sql`
          SELECT s.channel_id FROM subscription s JOIN channel c ON c.realm_id = s.realm_id AND c.id = s.channel_id AND NOT c.is_archived
          WHERE s.realm_id = ${realmId} AND s.user_id = ${userId} AND s.active`
      : Prisma.sql`SELECT ${place.channelId}::int AS channel_id`;
  const columns = Prisma.sql`m.id, m.channel_id, m.topic, m.conversation_id, m.channel_wildcard`;
  const within = Prisma.sql`
    ${place?.topic === undefined ? Prisma.empty : Prisma.sql`AND lower(m.topic) = lower(${place.topic})`}
    ${window === undefined ? Prisma.empty : Prisma.sql`AND m.id > ${window.above} AND m.id <= ${window.through}`}`;
  const byMark = Prisma.sql`
    NOT (m.sender_id = ${userId} AND m.read_by_sender)
    AND NOT EXISTS (SELECT FROM read_exception x WHERE x.realm_id = m.realm_id AND x.user_id = ${userId} AND x.message_id = m.id) ${within}`;
  const inPeriod = Prisma.sql`
    m.id > GREATEST(p.began_message_id, r.read_through) AND m.id <= COALESCE(p.ended_message_id, 9223372036854775807)`;
  const parts = [
    // Where they were sent.
    Prisma.sql`
      SELECT sent.* FROM place 
      JOIN subscription_period p ON p.realm_id = ${realmId} AND p.user_id = ${userId} AND p.channel_id = place.channel_id
      LEFT JOIN read_mark r ON r.realm_id = ${realmId} AND r.user_id = ${userId} AND r.recipient_id = place.channel_id::bigint * 2
      CROSS JOIN LATERAL (
        SELECT ${columns} FROM message m
        WHERE m.channel_id = place.channel_id AND m.sent_channel_id = m.channel_id AND ${inPeriod} AND ${byMark} OFFSET 0
      ) AS sent`,
    // Moved there from elsewhere.
    Prisma.sql`
      SELECT moved.* FROM subscription_period p
      LEFT JOIN read_mark r ON r.realm_id = p.realm_id AND r.user_id = p.user_id AND r.recipient_id = p.channel_id::bigint * 2
      CROSS JOIN LATERAL (
        SELECT ${columns} FROM message m
        WHERE m.sent_channel_id = p.channel_id AND m.channel_id <> m.sent_channel_id AND ${inPeriod} AND ${byMark} OFFSET 0
      ) AS moved
      WHERE p.realm_id = ${realmId} AND p.user_id = ${userId} AND moved.channel_id IN (SELECT channel_id FROM place)`,
    // Marked unread one by one, or left behind by the mark.
    Prisma.sql`
      SELECT excepted.* FROM read_exception x CROSS JOIN LATERAL (
        SELECT ${columns} FROM message m WHERE m.realm_id = ${realmId} AND m.id = x.message_id ${within} OFFSET 0
      ) AS excepted
      WHERE x.realm_id = ${realmId} AND x.user_id = ${userId} AND NOT x.is_read
        AND (excepted.channel_id IN (SELECT channel_id FROM place)
          OR ${place === undefined ? Prisma.sql`excepted.conversation_id IS NOT NULL` : Prisma.sql`false`})`,
  ];
  if (place === undefined) {
    parts.push(Prisma.sql`
      SELECT direct.* FROM conversation_member cm
      LEFT JOIN read_mark r ON r.realm_id = cm.realm_id AND r.user_id = cm.user_id AND r.recipient_id = cm.conversation_id::bigint * 2 + 1
      CROSS JOIN LATERAL (
        SELECT ${columns} FROM message m
        WHERE m.conversation_id = cm.conversation_id AND m.id > COALESCE(r.read_through, 0) AND ${byMark} OFFSET 0
      ) AS direct
      WHERE cm.realm_id = ${realmId} AND cm.user_id = ${userId}`);
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

/** At most `limit` of the messages, which ones is left open, in their groups. */
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
  const { realmId, userId } = holder;
  return Prisma.sql`
    WITH unread AS MATERIALIZED (
      SELECT * FROM ${unreadMessages(holder, place, window)} AS found LIMIT ${limit}
    ), gathered AS (
      SELECT u.channel_id, u.conversation_id, lower(u.topic) AS key, (array_agg(u.topic ORDER BY u.id DESC))[1] AS topic,
             json_agg(u.id ORDER BY u.id) AS ids, json_agg(u.id ORDER BY u.id) FILTER (WHERE um.mentioned) AS mentioned,
             json_agg(u.id ORDER BY u.id) FILTER (WHERE u.channel_wildcard OR um.topic_wildcard_mentioned) AS wildcards
      FROM unread u LEFT JOIN user_message um
        ON um.realm_id = ${realmId} AND um.user_id = ${userId} AND um.message_id = u.id
        AND (um.mentioned OR um.topic_wildcard_mentioned)
      GROUP BY u.channel_id, u.conversation_id, lower(u.topic)
    )
    SELECT g.channel_id, g.topic, c.member_ids, g.ids, g.mentioned, g.wildcards,
           ${IS_TOPIC_MUTED} AS is_muted
    FROM gathered g
    LEFT JOIN conversation c ON c.realm_id = ${realmId} AND c.id = g.conversation_id
    LEFT JOIN subscription s ON s.realm_id = ${realmId} AND s.user_id = ${userId} AND s.channel_id = g.channel_id
    LEFT JOIN user_topic t ON t.realm_id = ${realmId} AND t.user_id = ${userId} AND t.channel_id = g.channel_id AND lower(t.topic) = g.key`;
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

/** The newest unread messages of a user, in their groups. */
export interface Unread {
  readonly groups: readonly UnreadGroup[];
  /** Whether there are more than `MAX_UNREAD`, and the oldest are left out. */
  readonly isCut: boolean;
}

/**
 * What is unread for a user: direct messages, and what stands in channels they are subscribed to.
 *
 * @param max For tests.
 */
export async function readUnread(db: SqlClient, holder: Holder, max = MAX_UNREAD): Promise<Unread> {
  const groups = await readGroups(db, holder, max + 1);
  if (sizeOf(groups) <= max) return { groups, isCut: false };
  return { groups: await readNewest(db, holder, max), isCut: true };
}

/**
 * The newest of many: read in windows of ids, the newest first and each twice as wide as the one before it, so that not
 * much more is read than is wanted, however much there is.
 */
async function readNewest(db: SqlClient, holder: Holder, max: number): Promise<UnreadGroup[]> {
  const [last] = await readRows<{ id: bigint }>(
    db,
    Prisma.sql`
    SELECT COALESCE(max(id), 0) AS id FROM message WHERE realm_id = ${holder.realmId}`,
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

const keyOf = ({ channelId, topic, memberIds }: UnreadGroup) =>
  `${channelId} ${memberIds?.join()} ${topic.toLowerCase()}`;

/** One of each group, with its messages from `oldest` on. The parts with newer messages come first. */
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

/** The ids of all that is unread for a user in a channel or topic, ascending. */
export async function unreadIdsIn(db: SqlClient, holder: Holder, place: UnreadPlace): Promise<number[]> {
  const [row] = await readRows<{ ids: number[] | null }>(
    db,
    Prisma.sql`
    SELECT json_agg(id ORDER BY id) AS ids FROM ${unreadMessages(holder, place)} AS unread`,
  );
  return row?.ids ?? [];
}

/** Whether there is anything unread for a user that clients are told of. */
export async function hasUnread(db: SqlClient, holder: Holder): Promise<boolean> {
  const rows = await readRows<unknown>(
    db,
    Prisma.sql`SELECT 1 AS found FROM ${unreadMessages(holder)} AS unread LIMIT 1`,
  );
  return rows.length > 0;
}
