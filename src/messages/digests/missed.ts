import type { Runtime } from '../../access/context.ts';
import { channelActor } from '../../access/permissions/require.ts';
import { readBy } from '../../channels/access.ts';
import { type Channel, type Organization, Prisma, type User } from '../../generated/prisma/client.ts';
import type { Db, SqlClient } from '../../platform/db/client.ts';
import { readRows } from '../../platform/db/rows.ts';
import { type PlacedMessage, readableIn } from '../access.ts';
import { isUnreadBy } from '../flag-conditions.ts';
import { highestIdUntil, lowestIdSince } from '../ids-by-time.ts';
import { FOLLOWED, IS_TOPIC_MUTED, literal, UNMUTED } from '../topic-policies/policies.ts';

/** Number of topics that a digest shows. Further ones are counted. */
const MAX_TOPICS = 5;
/** Number of messages that a digest shows of each topic: the first ones. */
const MAX_MESSAGES = 2;
/** Number of new channels that a digest shows. Further ones are counted. */
const MAX_CHANNELS = 10;

// Limits of the messages that are read, newest first. They bound the duration of the statements: some 50 µs per counted message,
// and less per examined one.

/** Number of channels: those with followed topics, then those with the newest messages of the period. */
const MAX_READ_CHANNELS = 50;
/** Number of messages that are examined of each channel, among them those of bots and of muted topics. */
const MAX_EXAMINED = 1_000;
/** Number of the other messages that are counted, of each channel and of all channels. */
const MAX_COUNTED = 200;
const MAX_COUNTED_OF_ALL = 2_000;
/** Number of direct conversations: those with the newest messages of the period. */
const MAX_CONVERSATIONS = 50;
/** Number of messages that are counted in each direct conversation. */
const MAX_COUNTED_DIRECT = 100;

/** The user whose missed messages are read, and the period. */
export interface MissedBy {
  readonly organization: Organization;
  readonly user: User;
  /** The period: messages sent after `since`, up to `until`. */
  readonly since: Date;
  readonly until: Date;
}

/** A number of objects. */
export interface Count {
  readonly count: number;
  /** Whether there can be more, because not all messages of the period were read. */
  readonly isCut: boolean;
}

/** A topic with new messages of people, without those that the user has read. */
export interface ActiveTopic {
  /** First messages, oldest first. At least one. */
  readonly messages: readonly [PlacedMessage, ...PlacedMessage[]];
  /** Number of messages. */
  readonly messageCount: Count;
  /** Ids of the senders, in the order of their first messages. */
  readonly senderIds: readonly number[];
}

/** The content of a digest: what a user has missed in a period. */
export interface MissedContent {
  /** The most active topics of the user's channels: followed ones, then those with the most senders and messages. */
  readonly topics: readonly ActiveTopic[];
  /** Number of topics with new messages, and of these messages. */
  readonly topicCount: Count;
  readonly messageCount: Count;
  /** New channels that the user can read, oldest first, and their number. */
  readonly channels: readonly Channel[];
  readonly channelCount: number;
  /** Number of unread direct messages, and of their conversations. */
  readonly directCount: Count;
  readonly conversationCount: Count;
}

export const isNothing = ({ topicCount, channelCount, directCount }: MissedContent): boolean =>
  topicCount.count + channelCount + directCount.count === 0;

/** The period as message ids. It can contain a few other messages, so the times are compared as well. */
interface IdRange {
  readonly low: number;
  readonly high: number;
}

/** Reads what a user has missed: what the user can read now, has not read, and has not muted. */
export async function readMissed(db: Db, app: Pick<Runtime, 'now'>, asked: MissedBy): Promise<MissedContent> {
  const { organization, since, until } = asked;
  const range = {
    low: await lowestIdSince(db, organization.id, since),
    high: await highestIdUntil(db, organization.id, until),
  };
  const topics = await readTopics(db, asked, range);
  const [{ topicCount, messageCount, isAnyCut } = { topicCount: 0, messageCount: 0, isAnyCut: false }] = topics;
  return {
    topics: await withMessages(db, app, asked, topics),
    topicCount: { count: topicCount, isCut: isAnyCut },
    messageCount: { count: messageCount, isCut: isAnyCut },
    ...(await newChannels(db, app, asked)),
    ...(await countDirect(db, asked, range)),
  };
}

interface TopicRow {
  readonly count: number;
  /** Whether the topic can have more messages. */
  readonly isCut: boolean;
  /** Senders of all messages, and ids of the first ones, in ascending order of the messages. */
  readonly senderIds: readonly number[];
  readonly firstIds: readonly bigint[];
  /** Number of all topics, and of their messages, and whether there can be more. */
  readonly topicCount: number;
  readonly messageCount: number;
  readonly isAnyCut: boolean;
}

/** SQL condition that the message `m` was sent in the period. */
const inPeriod = ({ since, until }: MissedBy): Prisma.Sql =>
  Prisma.sql`m.sent_at > ${since}::timestamptz AND m.sent_at <= ${until}::timestamptz`;

/**
 * Reads the most active topics. A message that the user has not received counts as read, so protected history is left out.
 *
 * `OFFSET 0` makes the planner look up each row by its key. Otherwise it might read all users of the organization.
 */
function readTopics(db: SqlClient, asked: MissedBy, { low, high }: IdRange): Promise<TopicRow[]> {
  const { organization, user } = asked;
  const hasPolicy = (condition: Prisma.Sql) => Prisma.sql`EXISTS (
    SELECT FROM user_topic t WHERE t.realm_id = ${organization.id} AND t.user_id = ${user.id} AND t.channel_id = s.channel_id
      AND ${condition} OFFSET 0)`;
  const isFollowed = Prisma.sql`t.policy = ${literal(FOLLOWED)}`;
  return readRows<TopicRow>(
    db,
    Prisma.sql`
    WITH newest AS MATERIALIZED (
      SELECT s.channel_id, s.is_muted, ${hasPolicy(Prisma.sql`true`)} AS has_policies, newest.id AS newest_id
      FROM subscription s JOIN channel c ON c.realm_id = ${organization.id} AND c.id = s.channel_id AND NOT c.is_archived
      CROSS JOIN LATERAL (
        SELECT m.id FROM message m WHERE m.realm_id = ${organization.id} AND m.channel_id = s.channel_id
          AND m.id BETWEEN ${low} AND ${high} ORDER BY m.id DESC LIMIT 1) AS newest
      WHERE s.realm_id = ${organization.id} AND s.user_id = ${user.id} AND s.active
        AND (NOT s.is_muted OR ${hasPolicy(Prisma.sql`t.policy = ${literal(UNMUTED)} OR ${isFollowed}`)})
      ORDER BY ${hasPolicy(isFollowed)} DESC, newest.id DESC LIMIT ${MAX_READ_CHANNELS}
    ), own AS MATERIALIZED (
      SELECT newest.*, EXISTS (
        SELECT FROM message m WHERE m.realm_id = ${organization.id} AND m.channel_id = newest.channel_id
          AND m.id BETWEEN ${low} AND newest.newest_id OFFSET ${MAX_EXAMINED}) AS is_long
      FROM newest
    ), recent AS MATERIALIZED (
      SELECT m.*, own.is_long OR count(*) OVER (PARTITION BY own.channel_id) >= ${MAX_COUNTED} AS is_cut
      FROM own CROSS JOIN LATERAL (
        SELECT m.*, t.policy FROM (
          SELECT m.id, m.channel_id, m.sent_channel_id, m.conversation_id, m.topic, m.sender_id, m.read_by_sender, m.sent_at
          FROM message m WHERE m.realm_id = ${organization.id} AND m.channel_id = own.channel_id
            AND m.id BETWEEN ${low} AND own.newest_id ORDER BY m.id DESC LIMIT ${MAX_EXAMINED}) AS m
        LEFT JOIN LATERAL (
          SELECT t.policy FROM user_topic t WHERE own.has_policies AND t.realm_id = ${organization.id} AND t.user_id = ${user.id}
            AND t.channel_id = own.channel_id AND topic_key(t.topic) = topic_key(m.topic) OFFSET 0) AS t ON true
        CROSS JOIN LATERAL (SELECT own.is_muted) AS s
        WHERE ${inPeriod(asked)} AND m.sender_id <> ${user.id} AND NOT (${IS_TOPIC_MUTED}) AND EXISTS (
          SELECT FROM user_account a WHERE a.realm_id = ${organization.id} AND a.id = m.sender_id AND a.bot_type IS NULL
            AND NOT a.is_system OFFSET 0)
        ORDER BY m.id DESC LIMIT ${MAX_COUNTED}) AS m
      ORDER BY m.id DESC LIMIT ${MAX_COUNTED_OF_ALL}
    ), whole AS MATERIALIZED (
      SELECT count(*) >= ${MAX_COUNTED_OF_ALL} AS is_cut,
        count(*) >= ${MAX_COUNTED_OF_ALL} OR COALESCE(bool_or(recent.is_cut), false) OR (SELECT bool_or(own.is_long) FROM own)
          OR (SELECT count(*) FROM own) >= ${MAX_READ_CHANNELS} AS is_any_cut
      FROM recent
    )
    SELECT count(*)::int AS count, bool_or(m.is_cut OR whole.is_cut) AS "isCut", array_agg(m.sender_id ORDER BY m.id) AS "senderIds",
      (array_agg(m.id ORDER BY m.id))[1:${Prisma.raw(String(MAX_MESSAGES))}] AS "firstIds",
      (count(*) OVER ())::int AS "topicCount", (sum(count(*)) OVER ())::int AS "messageCount",
      bool_or(whole.is_any_cut) AS "isAnyCut"
    FROM recent m CROSS JOIN whole WHERE ${isUnreadBy(organization.id, user.id)}
    GROUP BY m.channel_id, topic_key(m.topic)
    ORDER BY bool_or(COALESCE(m.policy = ${literal(FOLLOWED)}, false)) DESC, count(DISTINCT m.sender_id) DESC, count(*) DESC,
      max(m.id) DESC
    LIMIT ${MAX_TOPICS}`,
  );
}

/** Reads the first messages of topics. Leaves out what the user cannot read. */
async function withMessages(
  db: Db,
  app: Pick<Runtime, 'now'>,
  { organization, user }: MissedBy,
  topics: readonly TopicRow[],
): Promise<ActiveTopic[]> {
  const reader = { id: user.id, role: user.role, organization, user };
  const ids = topics.flatMap(({ firstIds }) => firstIds.map(Number));
  const readable = (await readableIn(db, app, [reader], ids)).get(user.id);
  return topics.flatMap(({ count, isCut, senderIds, firstIds }) => {
    const [first, ...others] = firstIds.flatMap((id) => readable?.get(Number(id)) ?? []);
    if (first === undefined) return [];
    const messages = [first, ...others] as const;
    return [{ messages, messageCount: { count, isCut }, senderIds: [...new Set(senderIds)] }];
  });
}

/** Counts the unread direct messages of the period. Messages of the service itself are left out. */
async function countDirect(
  db: SqlClient,
  asked: MissedBy,
  { low, high }: IdRange,
): Promise<Pick<MissedContent, 'directCount' | 'conversationCount'>> {
  const { organization, user } = asked;
  const [row] = await readRows<{ messages: number; conversations: number; isCut: boolean; hasMore: boolean }>(
    db,
    Prisma.sql`
    WITH own AS MATERIALIZED (
      SELECT cm.conversation_id, newest.id AS newest_id FROM conversation_member cm CROSS JOIN LATERAL (
        SELECT m.id FROM message m WHERE m.realm_id = ${organization.id} AND m.conversation_id = cm.conversation_id
          AND m.id BETWEEN ${low} AND ${high} ORDER BY m.id DESC LIMIT 1) AS newest
      WHERE cm.realm_id = ${organization.id} AND cm.user_id = ${user.id}
      ORDER BY newest.id DESC LIMIT ${MAX_CONVERSATIONS}
    ), recent AS MATERIALIZED (
      SELECT m.*, count(*) OVER (PARTITION BY m.conversation_id) >= ${MAX_COUNTED_DIRECT} AS is_cut
      FROM own CROSS JOIN LATERAL (
        SELECT m.id, m.sent_channel_id, m.conversation_id, m.sender_id, m.read_by_sender, m.sent_at
        FROM message m WHERE m.realm_id = ${organization.id} AND m.conversation_id = own.conversation_id
          AND m.id BETWEEN ${low} AND own.newest_id AND ${inPeriod(asked)} ORDER BY m.id DESC LIMIT ${MAX_COUNTED_DIRECT}) AS m
    )
    SELECT count(*)::int AS messages, count(DISTINCT m.conversation_id)::int AS conversations,
      COALESCE(bool_or(m.is_cut), false) AS "isCut", (SELECT count(*) FROM own) >= ${MAX_CONVERSATIONS} AS "hasMore"
    FROM recent m WHERE m.sender_id <> ${user.id} AND ${isUnreadBy(organization.id, user.id)} AND NOT EXISTS (
      SELECT FROM user_account a WHERE a.realm_id = ${organization.id} AND a.id = m.sender_id AND a.is_system OFFSET 0)`,
  );
  const { messages = 0, conversations = 0, isCut = false, hasMore = false } = row ?? {};
  return {
    directCount: { count: messages, isCut: isCut || hasMore },
    conversationCount: { count: conversations, isCut: hasMore },
  };
}

/** Reads the channels that were created in the period by other users, and that the user can read. */
async function newChannels(
  db: Db,
  app: Pick<Runtime, 'now'>,
  { organization, user, since, until }: MissedBy,
): Promise<Pick<MissedContent, 'channels' | 'channelCount'>> {
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
