import { Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { readRows } from '../../platform/db/rows.ts';
import { IS_TOPIC_MUTED } from '../topic-policies/policies.ts';
import {
  countedAbove,
  countedOtherwise,
  IN_CHANNEL,
  IN_CONVERSATION,
  inTopic,
  type PlaceFilter,
  placesOf,
  talliedOf,
} from './counted-places.ts';
import type { AnyHolder } from './unread.ts';

/** Number of unread messages in one conversation, or in all muted topics or all other topics of one channel. */
export interface UnreadCount {
  /** Id of the channel. Null for a conversation. */
  readonly channelId: number | null;
  /** Id of the conversation. Null for a channel. */
  readonly conversationId: number | null;
  readonly isMuted: boolean;
  readonly count: number;
}

/**
 * Builds common table expressions with the unread counts of one user. `counted` has the columns `channel_id`,
 * `conversation_id`, `is_muted` and `n`, whose sums are the counts. `base` and `otherwise` are its parts.
 */
export function countedBy(holder: AnyHolder, filter?: PlaceFilter): Prisma.Sql {
  const { organizationId, userId } = holder;
  return Prisma.sql`
    ${talliedOf(organizationId)}, ${placesOf(holder, filter)},
    base AS MATERIALIZED (
      SELECT p.*, ${countedAbove(organizationId, IN_CHANNEL)} AS n FROM place p WHERE p.channel_id IS NOT NULL
      UNION ALL SELECT p.*, ${countedAbove(organizationId, IN_CONVERSATION)} FROM place p WHERE p.conversation_id IS NOT NULL
    ), apart AS MATERIALIZED (
      -- Topics whose muting differs from that of their channel.
      SELECT p.channel_id, p.is_muted, ${countedAbove(organizationId, inTopic(Prisma.sql`topic_key(t.topic)`))} AS n
      FROM base p JOIN user_topic t ON t.realm_id = ${organizationId} AND t.user_id = ${userId} AND t.channel_id = p.channel_id
      CROSS JOIN LATERAL (SELECT p.is_muted) AS s
      WHERE p.n > 0 AND ${IS_TOPIC_MUTED} <> s.is_muted
    ), otherwise AS (${countedOtherwise(holder, Prisma.sql`base`)}),
    counted AS (
      SELECT channel_id, conversation_id, is_muted, n FROM base WHERE n > 0
      UNION ALL SELECT channel_id, NULL, is_muted, -n FROM apart
      UNION ALL SELECT channel_id, NULL, NOT is_muted, n FROM apart
      UNION ALL
      SELECT o.channel_id, o.conversation_id, ${IS_TOPIC_MUTED}, o.n FROM otherwise o CROSS JOIN LATERAL (SELECT o.is_muted) AS s
      LEFT JOIN user_topic t ON t.realm_id = ${organizationId} AND t.user_id = ${userId} AND t.channel_id = o.channel_id AND topic_key(t.topic) = topic_key(o.topic)
    )`;
}

/** SQL query for the unread counts of one user, from the table expression `counted`. */
export const COUNTS = Prisma.sql`
  SELECT channel_id AS "channelId", conversation_id AS "conversationId", is_muted AS "isMuted", sum(n)::int AS count
  FROM counted GROUP BY 1, 2, 3 HAVING sum(n) > 0`;

/**
 * Counts the unread messages of each user, per channel or conversation. Returns the counts by user id. Uses one query, whose
 * cost does not grow with the counts.
 */
export async function countUnreadOfEach(
  db: SqlClient,
  organizationId: number,
  userIds: readonly number[],
): Promise<Map<number, UnreadCount[]>> {
  const statement = (userId: number | Prisma.Sql) =>
    Prisma.sql`WITH ${countedBy({ organizationId, userId })} ${COUNTS}`;
  return byHolder(await ofEach<UnreadCount>(db, userIds, statement));
}

type OfHolder<Row> = Row & { readonly userId: number };

/**
 * Runs the same query for each of the users, in one statement. If there is only one user, the user id is a constant in the
 * statement, which gives the planner better estimates.
 */
export async function ofEach<Row extends object>(
  db: SqlClient,
  userIds: readonly number[],
  statement: (userId: number | Prisma.Sql) => Prisma.Sql,
): Promise<OfHolder<Row>[]> {
  const [alone, another] = userIds;
  if (alone === undefined) return [];
  if (another === undefined)
    return (await readRows<Row>(db, statement(alone))).map((row) => ({ ...row, userId: alone }));
  return readRows<OfHolder<Row>>(
    db,
    Prisma.sql`
    SELECT holder.id AS "userId", found.* FROM unnest(${[...userIds]}::int[]) AS holder(id)
    CROSS JOIN LATERAL (${statement(Prisma.sql`holder.id`)}) AS found`,
  );
}

const byHolder = <Row>(rows: readonly OfHolder<Row>[]): Map<number, OfHolder<Row>[]> =>
  Map.groupBy(rows, ({ userId }) => userId);

/**
 * A topic or conversation in which a user's unread messages are counted or searched. Either the channel id or the conversation
 * id is null.
 */
export interface WantedPlace {
  readonly userId: number;
  readonly channelId: number | null;
  readonly conversationId: number | null;
  /**
   * Name of the topic, as in any of its messages (they can differ in letter case and Unicode form). Empty for a conversation.
   */
  readonly topic: string;
}

/**
 * Builds the common table expression `wanted` with the topics and conversations of one user. Its column `nth` is the position
 * in `places`, from 1.
 */
const wantedBy = ({ userId }: AnyHolder, places: readonly WantedPlace[]): Prisma.Sql => Prisma.sql`
  wanted AS MATERIALIZED (
    SELECT w.nth::int AS nth, w.channel_id, w.conversation_id, topic_key(w.topic) AS topic FROM unnest(
      ${places.map((place) => place.userId)}::int[], ${places.map((place) => place.channelId)}::int[],
      ${places.map((place) => place.conversationId)}::int[], ${places.map((place) => place.topic)}::text[])
      WITH ORDINALITY AS w(user_id, channel_id, conversation_id, topic, nth)
    WHERE w.user_id = ${userId})`;

const WANTED = {
  channels: Prisma.sql`SELECT channel_id FROM wanted`,
  conversations: Prisma.sql`SELECT conversation_id FROM wanted`,
};
/**
 * Counts the unread messages in each topic. Returns the counts in the order of `places`. Uses one query.
 *
 * @param places Topics of channels. Conversations are not supported.
 */
export async function countUnreadInTopics(
  db: SqlClient,
  organizationId: number,
  places: readonly WantedPlace[],
): Promise<number[]> {
  const rows = await ofEach<{ nth: number; count: number }>(db, holdersOf(places), (userId) => {
    const holder = { organizationId, userId };
    return Prisma.sql`
      WITH ${talliedOf(organizationId)}, ${wantedBy(holder, places)}, ${placesOf(holder, { ...WANTED, conversations: null })},
      base AS MATERIALIZED (SELECT p.*, 1 AS n FROM place p),
      otherwise AS MATERIALIZED (${countedOtherwise(holder, Prisma.sql`base`)})
      SELECT w.nth, (${countedAbove(organizationId, inTopic(Prisma.sql`w.topic`))} + COALESCE(o.n, 0))::int AS count
      FROM wanted w JOIN place p ON p.channel_id = w.channel_id
      LEFT JOIN (SELECT channel_id, topic_key(topic) AS topic, sum(n) AS n FROM otherwise GROUP BY 1, 2) AS o
        ON o.channel_id = w.channel_id AND o.topic = w.topic`;
  });
  return inOrder(places, rows, ({ count }) => count, 0);
}

/**
 * Finds the oldest unread message in each topic and conversation. Returns the message ids in the order of `places`, with null
 * if there is no unread message. Uses one query.
 */
export async function firstUnreadIn(
  db: SqlClient,
  organizationId: number,
  places: readonly WantedPlace[],
): Promise<(number | null)[]> {
  const rows = await ofEach<{ nth: number; id: bigint | null }>(db, holdersOf(places), (userId) => {
    const holder = { organizationId, userId };
    const first = (stands: Prisma.Sql) => Prisma.sql`(
      SELECT m.id FROM message m
      WHERE m.realm_id = ${organizationId} AND ${stands}
        AND m.id > p.above AND m.channel_id IS NOT DISTINCT FROM m.sent_channel_id
        AND NOT (m.sender_id = ${userId} AND m.read_by_sender)
        AND NOT EXISTS (SELECT FROM read_exception x WHERE x.realm_id = ${organizationId} AND x.user_id = ${userId} AND x.message_id = m.id)
      ORDER BY m.id LIMIT 1)`;
    return Prisma.sql`
      WITH ${talliedOf(organizationId)}, ${wantedBy(holder, places)}, ${placesOf(holder, WANTED)},
      base AS MATERIALIZED (SELECT p.*, 0 AS n FROM place p),
      otherwise AS MATERIALIZED (${countedOtherwise(holder, Prisma.sql`base`)})
      SELECT w.nth, LEAST(${first(inTopic(Prisma.sql`w.topic`).stands)}, o.id) AS id
      FROM wanted w JOIN place p ON p.channel_id = w.channel_id
      LEFT JOIN (SELECT channel_id, topic_key(topic) AS topic, min(id) AS id FROM otherwise WHERE is_unread GROUP BY 1, 2) AS o
        ON o.channel_id = w.channel_id AND o.topic = w.topic
      UNION ALL
      SELECT w.nth, LEAST(${first(IN_CONVERSATION.stands)}, o.id)
      FROM wanted w JOIN place p ON p.conversation_id = w.conversation_id
      LEFT JOIN (SELECT conversation_id, min(id) AS id FROM otherwise WHERE is_unread GROUP BY 1) AS o
        ON o.conversation_id = w.conversation_id`;
  });
  return inOrder(places, rows, ({ id }) => (id === null ? null : Number(id)), null);
}

const holdersOf = (places: readonly WantedPlace[]): number[] => [...new Set(places.map(({ userId }) => userId))];

function inOrder<Row extends { readonly nth: number }, V>(
  places: readonly WantedPlace[],
  rows: readonly Row[],
  of: (row: Row) => V,
  nothing: V,
): V[] {
  const found = new Map(rows.map((row) => [row.nth, of(row)]));
  return places.map((_, i) => found.get(i + 1) ?? nothing);
}
