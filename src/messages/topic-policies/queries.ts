import { USER_SETTINGS } from '../../access/user-settings.ts';
import type { SqlClient, Tx } from '../../platform/db/client.ts';
import { FOLLOWED, INHERITED, literal, type TopicPolicy } from './policies.ts';
import type { TopicPolicySnapshot } from './wire.ts';

/** Channel and name of a topic. Letter case and Unicode form of the name do not matter. */
export interface TopicKey {
  readonly channelId: number;
  readonly topic: string;
}

/** A topic, and a user whose policy for the topic is loaded or changed. */
interface TopicOfUser extends TopicKey {
  readonly organizationId: number;
  readonly userId: number;
}

/** A stored policy of a user for a topic. It is never `INHERITED`. */
export interface StoredPolicy extends TopicPolicySnapshot {
  readonly id: number;
}

/**
 * Reads a user's topic policies, in the order in which the user first set them.
 *
 * @param channelId If given, only policies for topics of this channel are returned.
 */
export async function topicPolicies(
  db: Pick<Tx, 'userTopic'>,
  { organizationId, userId }: { readonly organizationId: number; readonly userId: number },
  channelId?: number,
): Promise<StoredPolicy[]> {
  const rows = await db.userTopic.findMany({
    where: { organizationId, userId, ...(channelId !== undefined && { channelId }) },
    orderBy: { id: 'asc' },
  });
  return rows.map((row) => ({ ...row, policy: row.policy as TopicPolicy }));
}

/**
 * Reads the user's policy for each pair of user and topic in `topics`, in this order. `INHERITED` for a pair without a stored
 * policy. Uses one query.
 */
export async function readPolicies(
  db: SqlClient,
  organizationId: number,
  topics: readonly Omit<TopicOfUser, 'organizationId'>[],
): Promise<TopicPolicy[]> {
  const userIds = topics.map(({ userId }) => userId);
  const channelIds = topics.map(({ channelId }) => channelId);
  const names = topics.map(({ topic }) => topic);
  const rows = await db.$queryRaw<{ policy: TopicPolicy | null }[]>`
    SELECT t.policy FROM unnest(${userIds}::int[], ${channelIds}::int[], ${names}::text[])
      WITH ORDINALITY AS wanted(user_id, channel_id, topic, place)
    LEFT JOIN user_topic t ON t.realm_id = ${organizationId} AND t.user_id = wanted.user_id
      AND t.channel_id = wanted.channel_id AND topic_key(t.topic) = topic_key(wanted.topic)
    ORDER BY wanted.place`;
  return rows.map(({ policy }) => policy ?? INHERITED);
}

/**
 * Returns the mentioned users who automatically follow the topic: people who have enabled the setting and have no policy for
 * the topic. Uses one query.
 *
 * @param maxPolicies Users with this number of policies or more are omitted.
 */
export async function followersByMention(
  db: SqlClient,
  organizationId: number,
  { channelId, topic }: TopicKey,
  userIds: readonly number[],
  maxPolicies: number,
): Promise<number[]> {
  const rows = await db.$queryRaw<{ id: number }[]>`
    SELECT u.id FROM user_account u
    WHERE u.realm_id = ${organizationId} AND u.id = ANY(${[...userIds]}::int[]) AND u.bot_type IS NULL AND u.is_active
      AND COALESCE((u.settings->>'automatically_follow_topics_where_mentioned')::boolean,
                   ${USER_SETTINGS.automatically_follow_topics_where_mentioned.initial})
      AND NOT EXISTS (
        SELECT FROM user_topic t WHERE t.realm_id = ${organizationId} AND t.user_id = u.id AND t.channel_id = ${channelId}
          AND topic_key(t.topic) = topic_key(${topic}))
      AND (SELECT count(*) FROM (
             SELECT FROM user_topic t WHERE t.realm_id = ${organizationId} AND t.user_id = u.id LIMIT ${maxPolicies}) AS counted
          ) < ${maxPolicies}
    ORDER BY u.id`;
  return rows.map(({ id }) => id);
}

/** The policy that a topic had before it was replaced or deleted. Null if the previous policy is unknown. */
export interface ReplacedPolicy {
  readonly was: TopicPolicy | null;
}

/**
 * Deletes a user's policy for a topic.
 *
 * @returns The deleted policy. Undefined if there was none.
 */
export async function deletePolicy(
  tx: Tx,
  { organizationId, userId, channelId, topic }: TopicOfUser,
): Promise<ReplacedPolicy | undefined> {
  const [deleted] = await tx.$queryRaw<ReplacedPolicy[]>`
    DELETE FROM user_topic
    WHERE realm_id = ${organizationId} AND user_id = ${userId} AND channel_id = ${channelId}
      AND topic_key(topic) = topic_key(${topic})
    RETURNING policy AS was`;
  return deleted;
}

/**
 * Stores a user's policy for a topic.
 *
 * @returns The previous policy. Undefined if the policy does not change.
 */
export async function savePolicy(
  tx: Tx,
  { organizationId, userId, channelId, topic }: TopicOfUser,
  policy: TopicPolicy,
  now: Date,
): Promise<ReplacedPolicy | undefined> {
  const [saved] = await tx.$queryRaw<ReplacedPolicy[]>`
    WITH before AS (
      SELECT policy FROM user_topic
      WHERE realm_id = ${organizationId} AND user_id = ${userId} AND channel_id = ${channelId}
        AND topic_key(topic) = topic_key(${topic}) FOR UPDATE
    )
    INSERT INTO user_topic (realm_id, user_id, channel_id, topic, policy, last_updated)
    SELECT ${organizationId}, ${userId}, ${channelId}, ${topic}, ${policy}, ${now}::timestamptz
    FROM (SELECT) AS once LEFT JOIN before ON true
    ON CONFLICT (realm_id, user_id, channel_id, topic_key(topic))
      DO UPDATE SET topic = ${topic}, policy = EXCLUDED.policy, last_updated = EXCLUDED.last_updated
      WHERE user_topic.policy <> EXCLUDED.policy
    RETURNING COALESCE((SELECT policy FROM before), CASE WHEN xmax = 0 THEN ${literal(INHERITED)} END) AS was`;
  return saved;
}

/** A user, and the user's policy for a topic. */
export interface HeldPolicy {
  readonly userId: number;
  readonly policy: TopicPolicy;
}

/**
 * Locks and returns all users' policies for two topics, the source and the target of a move. If the names of the topics differ
 * only in letter case or Unicode form, they denote one topic. Then each policy is returned once, with both `isSource` and
 * `isTarget`.
 */
export function lockPoliciesOfBoth(
  tx: Tx,
  organizationId: number,
  { source, target }: { readonly source: TopicKey; readonly target: TopicKey },
): Promise<(HeldPolicy & { readonly isSource: boolean; readonly isTarget: boolean })[]> {
  return tx.$queryRaw`
    SELECT user_id AS "userId", policy,
           channel_id = ${source.channelId} AND topic_key(topic) = topic_key(${source.topic}) AS "isSource",
           channel_id = ${target.channelId} AND topic_key(topic) = topic_key(${target.topic}) AS "isTarget"
    FROM user_topic
    WHERE realm_id = ${organizationId} AND ((channel_id = ${source.channelId} AND topic_key(topic) = topic_key(${source.topic}))
      OR (channel_id = ${target.channelId} AND topic_key(topic) = topic_key(${target.topic})))
    ORDER BY user_id, id FOR UPDATE`;
}

/** Locks and returns all users' policies for a topic, in the order of user ids. */
export function lockPolicies(tx: Tx, organizationId: number, { channelId, topic }: TopicKey): Promise<HeldPolicy[]> {
  return tx.$queryRaw`
    SELECT user_id AS "userId", policy FROM user_topic
    WHERE realm_id = ${organizationId} AND channel_id = ${channelId} AND topic_key(topic) = topic_key(${topic})
    ORDER BY user_id FOR UPDATE`;
}

/** Stores the same policy for one topic for several users. Replaces their existing policies for this topic. */
export async function savePolicies(
  tx: Tx,
  organizationId: number,
  { channelId, topic }: TopicKey,
  userIds: readonly number[],
  policy: TopicPolicy,
  now: Date,
): Promise<void> {
  await tx.$executeRaw`
    INSERT INTO user_topic (realm_id, user_id, channel_id, topic, policy, last_updated)
    SELECT ${organizationId}, user_id, ${channelId}, ${topic}, ${policy}, ${now}
    FROM unnest(${[...userIds]}::int[]) AS holder(user_id) ORDER BY user_id
    ON CONFLICT (realm_id, user_id, channel_id, topic_key(topic))
      DO UPDATE SET topic = ${topic}, policy = EXCLUDED.policy, last_updated = EXCLUDED.last_updated`;
}

/**
 * Stores the policy `FOLLOWED` for a topic for the users who have no policy for it. A policy that another transaction has just
 * stored is kept.
 *
 * @returns The ids of these users, ascending.
 */
export async function addFollowers(
  tx: Tx,
  organizationId: number,
  { channelId, topic }: TopicKey,
  userIds: readonly number[],
  now: Date,
): Promise<number[]> {
  const rows = await tx.$queryRaw<{ userId: number }[]>`
    INSERT INTO user_topic (realm_id, user_id, channel_id, topic, policy, last_updated)
    SELECT ${organizationId}, user_id, ${channelId}, ${topic}, ${FOLLOWED}, ${now}
    FROM unnest(${[...userIds]}::int[]) AS holder(user_id) ORDER BY user_id
    ON CONFLICT (realm_id, user_id, channel_id, topic_key(topic)) DO NOTHING
    RETURNING user_id AS "userId"`;
  return rows.map(({ userId }) => userId).toSorted((a, b) => a - b);
}

/** Deletes the policies of several users for a topic. */
export async function deletePolicies(
  tx: Tx,
  organizationId: number,
  { channelId, topic }: TopicKey,
  userIds: readonly number[],
): Promise<void> {
  await tx.$executeRaw`
    DELETE FROM user_topic
    WHERE realm_id = ${organizationId} AND user_id = ANY(${[...userIds]}) AND channel_id = ${channelId}
      AND topic_key(topic) = topic_key(${topic})`;
}
