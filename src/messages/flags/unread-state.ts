import { Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { listOf } from '../../platform/db/lists.ts';
import { countedAbove, inTopic, type PlaceFilter } from './counted-places.ts';
import type { AnyHolder } from './unread.ts';
import { COUNTS, countedBy, ofEach } from './unread-counts.ts';
import { MAX_MENTIONS, mentionsOf } from './unread-mentions.ts';

/** A channel or conversation: the id of one is null. */
interface Located {
  readonly channelId: number | null;
  readonly conversationId: number | null;
}

/** One part of the unread state of a user. */
export type UnreadPart =
  /** Number of unread messages in a conversation, or in all muted topics or all other topics of a channel. */
  | (Located & { readonly kind: 'messages'; readonly isMuted: boolean; readonly count: number })
  /** Number of unread mentions in a topic or conversation. `topic` is the key of the topic. */
  | (Located & { readonly kind: 'mentions'; readonly topic: string; readonly count: number })
  /** Number of messages, read or unread, that mention the user by name, through a group or through @topic. At most 1,001. */
  | { readonly kind: 'named'; readonly count: number }
  /** Number of unread messages in a topic. `topic` is the key of the topic. */
  | (Located & { readonly kind: 'topic'; readonly topic: string; readonly count: number })
  /** The subscription to a channel. `policies` contains the user's visibility policies for its topics, by topic key. */
  | (Located & {
      readonly kind: 'subscription';
      readonly isMuted: boolean;
      readonly isArchived: boolean;
      readonly policies: Readonly<Record<string, number>> | null;
    });

/** Unread state of a user, and the id of the last event whose effect it contains. */
export interface UnreadState {
  readonly position: number;
  readonly parts: readonly UnreadPart[];
}

/** Channels, topics and conversations whose unread state is read. */
export interface UnreadScope {
  readonly channelIds: readonly number[];
  readonly conversationIds: readonly number[];
  /** Topics of `channelIds`, by the keys of their names. */
  readonly topics: readonly { readonly channelId: number; readonly key: string }[];
}

type UnreadRow = UnreadPart & { readonly position: bigint };

/** Builds a query that returns rows of one kind. Columns that are not given are null. */
const partOf = (
  kind: UnreadPart['kind'],
  columns: Partial<Record<'channelId' | 'conversationId' | 'topic' | 'isMuted' | 'count', Prisma.Sql>>,
  rest: Prisma.Sql,
) => Prisma.sql`
  SELECT ${Prisma.raw(`'${kind}'`)} AS kind, ${columns.channelId ?? NO_ID} AS "channelId",
         ${columns.conversationId ?? NO_ID} AS "conversationId", ${columns.topic ?? Prisma.sql`NULL::text`} AS topic,
         ${columns.isMuted ?? Prisma.sql`NULL::boolean`} AS "isMuted", ${columns.count ?? NO_ID} AS count,
         NULL::boolean AS "isArchived", NULL::json AS policies ${rest}`;
const NO_ID = Prisma.sql`NULL::int`;

const PLACE = { channelId: Prisma.sql`found."channelId"`, conversationId: Prisma.sql`found."conversationId"` };
const COUNT = Prisma.sql`found.count`;

const mentionParts = (holder: AnyHolder, filter?: PlaceFilter) =>
  partOf(
    'mentions',
    { ...PLACE, topic: Prisma.sql`found.topic`, count: COUNT },
    Prisma.sql`FROM (${mentionsOf(holder, filter)}) AS found`,
  );

const messageParts = partOf(
  'messages',
  { ...PLACE, isMuted: Prisma.sql`found."isMuted"`, count: COUNT },
  Prisma.sql`FROM (${COUNTS}) AS found`,
);

/** Reads the whole unread state of each user, except of single topics, with one query. Returns it in the order of the users. */
export async function readUnreadStates(
  db: SqlClient,
  organizationId: number,
  userIds: readonly number[],
): Promise<UnreadState[]> {
  return readStates(db, organizationId, userIds, (userId) => {
    const holder = { organizationId, userId };
    const named = Prisma.sql`(
      SELECT count(*)::int FROM (
        SELECT FROM user_message um
        WHERE um.realm_id = ${organizationId} AND um.user_id = ${userId} AND (um.mentioned OR um.topic_wildcard_mentioned)
        LIMIT ${MAX_MENTIONS + 1}) AS few)`;
    return Prisma.sql`
      WITH ${countedBy(holder)}
      ${messageParts} UNION ALL ${mentionParts(holder)} UNION ALL ${partOf('named', { count: named }, Prisma.empty)}`;
  });
}

/**
 * Reads the unread state of each user in the same channels, topics and conversations, with one query. Returns it in the order
 * of the users. The state of a channel contains the user's subscription, if there is one.
 */
export async function readUnreadStatesIn(
  db: SqlClient,
  organizationId: number,
  userIds: readonly number[],
  { channelIds, conversationIds, topics }: UnreadScope,
): Promise<UnreadState[]> {
  const ids = (list: readonly number[]) =>
    list.length === 0 ? null : Prisma.sql`SELECT unnest(${listOf('int', list)})`;
  const filter = { channels: ids(channelIds), conversations: ids(conversationIds) };
  return readStates(db, organizationId, userIds, (userId) => {
    const holder = { organizationId, userId };
    const above = countedAbove(organizationId, inTopic(Prisma.sql`wanted.topic`));
    const topicParts = partOf(
      'topic',
      {
        channelId: Prisma.sql`wanted.channel_id`,
        topic: Prisma.sql`wanted.topic`,
        count: Prisma.sql`(${above} + COALESCE(o.n, 0))::int`,
      },
      Prisma.sql`
        FROM unnest(${listOf(
          'int',
          topics.map(({ channelId }) => channelId),
        )}, ${listOf(
          'text',
          topics.map(({ key }) => key),
        )}) AS wanted(channel_id, topic)
        JOIN base p ON p.channel_id = wanted.channel_id
        LEFT JOIN (SELECT channel_id, topic_key(topic) AS topic, sum(n) AS n FROM otherwise GROUP BY 1, 2) AS o
          ON o.channel_id = wanted.channel_id AND o.topic = wanted.topic`,
    );
    const subscriptionParts = Prisma.sql`
      SELECT 'subscription', s.channel_id, NULL, NULL, s.is_muted, NULL, c.is_archived, (
        SELECT json_object_agg(topic_key(t.topic), t.policy) FROM user_topic t
        WHERE t.realm_id = ${organizationId} AND t.user_id = ${userId} AND t.channel_id = s.channel_id)
      FROM subscription s JOIN channel c ON c.realm_id = s.realm_id AND c.id = s.channel_id
      WHERE s.realm_id = ${organizationId} AND s.user_id = ${userId} AND s.active AND s.channel_id = ANY(${listOf('int', channelIds)})`;
    const parts = [
      messageParts,
      mentionParts(holder, filter),
      ...(topics.length === 0 ? [] : [topicParts]),
      ...(channelIds.length === 0 ? [] : [subscriptionParts]),
    ];
    return Prisma.sql`WITH ${countedBy(holder, filter)} ${Prisma.join(parts, ' UNION ALL ')}`;
  });
}

async function readStates(
  db: SqlClient,
  organizationId: number,
  userIds: readonly number[],
  statement: (userId: number | Prisma.Sql) => Prisma.Sql,
): Promise<UnreadState[]> {
  // The position is read in the snapshot of the counts: events lock the counter until they are committed.
  const position = Prisma.sql`(SELECT last_id FROM event_counter WHERE realm_id = ${organizationId})`;
  const rows = await ofEach<UnreadRow | { readonly position: bigint; readonly kind: null }>(
    db,
    userIds,
    (userId) => Prisma.sql`
      SELECT log.position, part.* FROM (SELECT ${position} AS position) AS log LEFT JOIN (${statement(userId)}) AS part ON true`,
  );
  const ofUsers = Map.groupBy(rows, ({ userId }) => userId);
  return userIds.map((userId) => {
    const own = ofUsers.get(userId) ?? [];
    return {
      position: Number(own[0]?.position ?? 0),
      parts: own.filter((row): row is (typeof own)[number] & UnreadRow => row.kind !== null),
    };
  });
}
