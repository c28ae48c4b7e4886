import type { Runtime } from '../../access/context.ts';
import { channelActor } from '../../access/permissions/require.ts';
import { readBy } from '../../channels/access.ts';
import { type Channel, type Organization, Prisma, type User } from '../../generated/prisma/client.ts';
import type { Db, SqlClient } from '../../platform/db/client.ts';
import { readRows } from '../../platform/db/rows.ts';
import { type PlacedMessage, readableIn } from '../access.ts';
import { isUnreadBy } from '../flag-conditions.ts';
import { lowestIdSince } from '../ids-by-time.ts';
import { FOLLOWED, IS_TOPIC_MUTED, literal } from '../topic-policies/policies.ts';

/** Number of topics that a digest shows. Further ones are counted. */
const MAX_TOPICS = 5;
/** Number of messages that a digest shows of each topic: the first ones. */
const MAX_MESSAGES = 2;
/** Number of new channels that a digest shows. Further ones are counted. */
const MAX_CHANNELS = 10;
/**
 * Number of messages that are read of each channel, and of all channels: the newest ones of the period. They bound the duration
 * of the statement, which is some 50 µs per message.
 */
const MAX_READ = 200;
const MAX_READ_OF_ALL = 2_000;
/** Number of messages that are counted in each direct conversation. */
const MAX_COUNTED = 100;

/** The user whose news is read, and the period. */
export interface NewsFor {
  readonly organization: Organization;
  readonly user: User;
  /** The period: messages sent after `since`, up to `until`. */
  readonly since: Date;
  readonly until: Date;
}

/** A topic with new messages of people, without those that the user has read. */
export interface ActiveTopic {
  /** First messages, oldest first. At least one. */
  readonly messages: readonly [PlacedMessage, ...PlacedMessage[]];
  /** Number of messages. */
  readonly count: number;
  /** Whether the topic can have more messages than `count`, because its channel has too many to be read. */
  readonly isCut: boolean;
  /** Ids of the senders, in the order of their first messages. */
  readonly senderIds: readonly number[];
}

/** The news of a user in a period. */
export interface News {
  /** The most active topics of the user's channels: followed ones, then those with the most senders and messages. */
  readonly topics: readonly ActiveTopic[];
  /** Number of topics with new messages, and of these messages. */
  readonly topicCount: number;
  readonly messageCount: number;
  /** New channels that the user can read, oldest first, and their number. */
  readonly channels: readonly Channel[];
  readonly channelCount: number;
  /** Number of unread direct messages, and of their conversations. */
  readonly directCount: number;
  readonly conversationCount: number;
}

export const isNothing = ({ topicCount, channelCount, directCount }: News): boolean =>
  topicCount + channelCount + directCount === 0;

/** Reads the news of a user: what the user can read now, has not read, and has not muted. */
export async function readNews(db: Db, app: Pick<Runtime, 'now'>, asked: NewsFor): Promise<News> {
  const low = await lowestIdSince(db, asked.organization.id, asked.since);
  const topics = await readTopics(db, asked, low);
  const { messages: directCount, conversations: conversationCount } = await countDirect(db, asked, low);
  return {
    topics: await withMessages(db, app, asked, topics),
    topicCount: topics[0]?.topicCount ?? 0,
    messageCount: topics[0]?.messageCount ?? 0,
    ...(await newChannels(db, app, asked)),
    ...{ directCount, conversationCount },
  };
}

interface TopicRow {
  readonly count: number;
  readonly isCut: boolean;
  /** Senders of all messages, and ids of the first ones, in ascending order of the messages. */
  readonly senderIds: readonly number[];
  readonly firstIds: readonly bigint[];
  /** Number of all topics, and of their messages. */
  readonly topicCount: number;
  readonly messageCount: number;
}

/** SQL condition that the message `m` was sent in the period. */
const inPeriod = ({ since, until }: NewsFor): Prisma.Sql =>
  Prisma.sql`m.sent_at > ${since}::timestamptz AND m.sent_at <= ${until}::timestamptz`;

/** Reads the most active topics. A message that the user has not received counts as read, so protected history is left out. */
function readTopics(db: SqlClient, asked: NewsFor, low: number): Promise<TopicRow[]> {
  const { organization, user } = asked;
  return readRows<TopicRow>(
    db,
    Prisma.sql`
    WITH own AS MATERIALIZED (
      SELECT s.channel_id, s.is_muted FROM subscription s
      JOIN channel c ON c.realm_id = ${organization.id} AND c.id = s.channel_id AND NOT c.is_archived
      WHERE s.realm_id = ${organization.id} AND s.user_id = ${user.id} AND s.active
    ), recent AS MATERIALIZED (
      SELECT m.*, own.is_muted, count(*) OVER (PARTITION BY own.channel_id) >= ${MAX_READ} AS is_cut
      FROM own CROSS JOIN LATERAL (
        SELECT m.id, m.channel_id, m.sent_channel_id, m.conversation_id, m.topic, m.sender_id, m.read_by_sender, m.sent_at
        FROM message m WHERE m.realm_id = ${organization.id} AND m.channel_id = own.channel_id AND m.id >= ${low}
        ORDER BY m.id DESC LIMIT ${MAX_READ}) AS m
      ORDER BY m.id DESC LIMIT ${MAX_READ_OF_ALL}
    )
    SELECT count(*)::int AS count, bool_or(m.is_cut) OR (SELECT count(*) FROM recent) >= ${MAX_READ_OF_ALL} AS "isCut", array_agg(m.sender_id ORDER BY m.id) AS "senderIds",
      (array_agg(m.id ORDER BY m.id))[1:${Prisma.raw(String(MAX_MESSAGES))}] AS "firstIds",
      (count(*) OVER ())::int AS "topicCount", (sum(count(*)) OVER ())::int AS "messageCount"
    FROM recent m CROSS JOIN LATERAL (SELECT m.is_muted) AS s
    JOIN user_account a ON a.realm_id = ${organization.id} AND a.id = m.sender_id AND a.bot_type IS NULL AND NOT a.is_system
    LEFT JOIN user_topic t ON t.realm_id = ${organization.id} AND t.user_id = ${user.id} AND t.channel_id = m.channel_id
      AND topic_key(t.topic) = topic_key(m.topic)
    WHERE ${inPeriod(asked)} AND m.sender_id <> ${user.id} AND NOT (${IS_TOPIC_MUTED})
      AND ${isUnreadBy(organization.id, user.id)}
    GROUP BY m.channel_id, topic_key(m.topic)
    ORDER BY bool_or(COALESCE(t.policy = ${literal(FOLLOWED)}, false)) DESC, count(DISTINCT m.sender_id) DESC, count(*) DESC,
      max(m.id) DESC
    LIMIT ${MAX_TOPICS}`,
  );
}

/** Reads the first messages of topics. Leaves out what the user cannot read. */
async function withMessages(
  db: Db,
  app: Pick<Runtime, 'now'>,
  { organization, user }: NewsFor,
  topics: readonly TopicRow[],
): Promise<ActiveTopic[]> {
  const reader = { id: user.id, role: user.role, organization, user };
  const ids = topics.flatMap(({ firstIds }) => firstIds.map(Number));
  const readable = (await readableIn(db, app, [reader], ids)).get(user.id);
  return topics.flatMap(({ count, isCut, senderIds, firstIds }) => {
    const [first, ...others] = firstIds.flatMap((id) => readable?.get(Number(id)) ?? []);
    if (first === undefined) return [];
    return [{ messages: [first, ...others] as const, count, isCut, senderIds: [...new Set(senderIds)] }];
  });
}

/** Counts the unread direct messages of the period. Messages of the service itself are left out. */
async function countDirect(
  db: SqlClient,
  asked: NewsFor,
  low: number,
): Promise<{ readonly messages: number; readonly conversations: number }> {
  const { organization, user } = asked;
  const [row] = await readRows<{ messages: number; conversations: number }>(
    db,
    Prisma.sql`
    SELECT count(*)::int AS messages, count(DISTINCT m.conversation_id)::int AS conversations
    FROM conversation_member own CROSS JOIN LATERAL (
      SELECT m.id, m.sent_channel_id, m.conversation_id, m.sender_id, m.read_by_sender, m.sent_at
      FROM message m WHERE m.realm_id = ${organization.id} AND m.conversation_id = own.conversation_id AND m.id >= ${low}
      ORDER BY m.id DESC LIMIT ${MAX_COUNTED}) AS m
    JOIN user_account a ON a.realm_id = ${organization.id} AND a.id = m.sender_id AND NOT a.is_system
    WHERE own.realm_id = ${organization.id} AND own.user_id = ${user.id} AND ${inPeriod(asked)} AND m.sender_id <> ${user.id}
      AND ${isUnreadBy(organization.id, user.id)}`,
  );
  return row ?? { messages: 0, conversations: 0 };
}

/** Reads the channels that were created in the period by other users, and that the user can read. */
async function newChannels(
  db: Db,
  app: Pick<Runtime, 'now'>,
  { organization, user, since, until }: NewsFor,
): Promise<Pick<News, 'channels' | 'channelCount'>> {
  const actor = await channelActor(db, { id: user.id, role: user.role, organization, user }, app.now());
  const where = {
    AND: [
      readBy(actor),
      { isArchived: false, createdAt: { gt: since, lte: until } },
      { OR: [{ creatorId: null }, { creatorId: { not: user.id } }] },
    ],
  };
  const channels = await db.channel.findMany({ where, orderBy: { id: 'asc' }, take: MAX_CHANNELS });
  return {
    channels,
    channelCount: channels.length < MAX_CHANNELS ? channels.length : await db.channel.count({ where }),
  };
}
