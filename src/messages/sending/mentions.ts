import { type Governed, holdsInGroup } from '../../access/permissions/group-permissions.ts';
import { fullMemberSince } from '../../access/permissions/membership.ts';
import { mayInOrganization } from '../../access/permissions/require.ts';
import { systemGroups } from '../../access/system-groups.ts';
import { alertedUserIds, type Receivers } from '../../people/alert-words/matching.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ForbiddenError } from '../../platform/errors.ts';
import type { MessageSender } from '../sender.ts';
import type { RenderedContent } from './content.ts';
import { WildcardMentionNotAllowedError } from './errors.ts';
import type { Target } from './target.ts';

/**
 * Maximum number of subscribers of a channel, or participants of a topic, that any sender can mention by a wildcard. To mention
 * more users, the sender needs a permission.
 */
const FEW = 15;

type MentionDb = Pick<Tx, 'userGroup' | '$queryRaw'>;

/**
 * Location of a message: either its channel and topic, or the members of its conversation. Exactly one of the fields is null.
 */
export interface MessageLocation {
  readonly target: (Pick<Target, 'topic'> & { readonly channel: { readonly id: number } }) | null;
  readonly memberIds: readonly number[] | null;
}

/**
 * Checks that the sender can use the mentions in the content.
 *
 * @param inTopic Participants of the topic. Empty unless the content has a topic wildcard.
 * @throws WildcardMentionNotAllowedError if the content has a wildcard mention that requires a permission.
 * @throws ForbiddenError if the content mentions a group that the sender cannot mention.
 */
async function requireMayMention(
  db: MentionDb,
  sender: MessageSender,
  target: MessageLocation['target'],
  content: RenderedContent,
  inTopic: readonly number[],
  now: Date,
): Promise<void> {
  if (target !== null && (content.channelWildcard || content.topicWildcard)) {
    await requireMayMentionAll(db, sender, target, content, inTopic, now);
  }
  if (content.mentionedGroupIds.length > 0) await requireMayMentionGroups(db, sender, content.mentionedGroupIds, now);
}

async function requireMayMentionAll(
  db: MentionDb,
  sender: MessageSender,
  target: NonNullable<MessageLocation['target']>,
  content: RenderedContent,
  inTopic: readonly number[],
  now: Date,
): Promise<void> {
  const groups = await systemGroups(db, sender.organization.id);
  if (mayInOrganization({ person: sender, groups, now }, 'can_mention_many_users_group')) return;
  if (content.channelWildcard && (await countSubscribers(db, sender.organization.id, target.channel.id)) > FEW) {
    throw new WildcardMentionNotAllowedError('channel');
  }
  if (inTopic.length > FEW) throw new WildcardMentionNotAllowedError('topic');
}

async function countSubscribers(db: MentionDb, organizationId: number, channelId: number): Promise<number> {
  const [row] = await db.$queryRaw<{ count: number }[]>`
    SELECT count(*)::int AS count FROM (
      SELECT FROM subscription s JOIN user_account u ON u.realm_id = s.realm_id AND u.id = s.user_id AND u.is_active
      WHERE s.realm_id = ${organizationId} AND s.channel_id = ${channelId} AND s.active LIMIT ${FEW + 1}) AS few`;
  return row?.count ?? 0;
}

async function requireMayMentionGroups(
  db: MentionDb,
  sender: MessageSender,
  groupIds: readonly number[],
  now: Date,
): Promise<void> {
  const mentioned = await db.$queryRaw<(Governed & { name: string })[]>`
    SELECT name, permissions, creator_id AS "creatorId", is_system AS "isSystem" FROM user_group
    WHERE realm_id = ${sender.organization.id} AND id = ANY(${[...groupIds]}) ORDER BY id`;
  const actor = { person: sender, groups: await systemGroups(db, sender.organization.id), now };
  const refused = mentioned.find((group) => !holdsInGroup(actor, group, 'can_mention_group'));
  if (refused !== undefined) {
    const message = `You are not allowed to mention user group '${refused.name}'.`;
    throw new ForbiddenError(message, {
      permission: 'can_mention_group',
      parameter: 'content',
      schemaMessage: message,
    });
  }
}

/**
 * Returns the ids of active users who have sent messages to the topic or reacted in it. Reads all messages of the topic and
 * their reactions, so callers must call it once per message.
 */
async function participants(
  db: MentionDb,
  organizationId: number,
  { channel, topic }: NonNullable<MessageLocation['target']>,
): Promise<number[]> {
  const rows = await db.$queryRaw<{ id: number }[]>`
    WITH topic AS (
      SELECT id, sender_id FROM message m
      WHERE m.realm_id = ${organizationId} AND m.channel_id = ${channel.id} AND topic_key(m.topic) = topic_key(${topic}))
    SELECT u.id FROM user_account u WHERE u.realm_id = ${organizationId} AND u.is_active AND u.id IN (
      SELECT sender_id FROM topic
      UNION SELECT r.user_id FROM topic t JOIN reaction r ON r.realm_id = ${organizationId} AND r.message_id = t.id)`;
  return rows.map(({ id }) => id);
}

/** Ids of the users for whom a row of a message is stored in `user_message`, in one list for each reason. */
export interface Named {
  readonly mentioned: number[];
  readonly topicMentioned: number[];
  /** Ids of users who have an alert word that the message contains. */
  readonly alerted: number[];
}

/**
 * Checks that the sender can use the mentions in the content, and returns the recipients that it mentions: by name, by a group
 * (direct and indirect members) or by a topic wildcard. Also returns the recipients who have an alert word in the message.
 * Channel wildcards are not expanded.
 *
 * @throws WildcardMentionNotAllowedError if the content has a wildcard mention that requires a permission.
 * @throws ForbiddenError if the content mentions a group that the sender cannot mention.
 */
export async function whoIsMentioned(
  db: MentionDb,
  sender: MessageSender,
  { target, memberIds }: MessageLocation,
  content: RenderedContent,
  now: Date,
): Promise<Named> {
  const { mentionedUserIds, mentionedGroupIds, channelWildcard, topicWildcard } = content;
  const hasMentions = mentionedUserIds.length + mentionedGroupIds.length > 0 || channelWildcard || topicWildcard;
  if (!hasMentions && !sender.organization.hasAlertWords) return { mentioned: [], topicMentioned: [], alerted: [] };
  const inTopic = topicWildcard && target !== null ? await participants(db, sender.organization.id, target) : [];
  await requireMayMention(db, sender, target, content, inTopic, now);
  const topicMentioned = topicWildcard && target !== null ? [...new Set([sender.id, ...inTopic])] : [];
  const mentioned = [...new Set(mentionedUserIds)];
  const named = [...new Set([...mentioned, ...topicMentioned])];
  // The sender receives the message even without a subscription.
  const receivers = {
    channelId: target?.channel.id ?? null,
    userIds: target === null ? (memberIds ?? []) : [sender.id],
  };
  const alerted = await alertedUserIds(db, sender.organization, content.source, receivers);
  const grouped = await membersMentioned(db, sender.organization, content, now, receivers);
  if (named.length === 0) return { mentioned: grouped, topicMentioned: [], alerted };
  const receiving = new Set(
    target === null ? memberIds : await subscribersAmong(db, sender.organization.id, target.channel.id, named),
  );
  receiving.add(sender.id);
  return {
    mentioned: [...new Set([...mentioned.filter((id) => receiving.has(id)), ...grouped])],
    topicMentioned: topicMentioned.filter((id) => receiving.has(id)),
    alerted,
  };
}

/**
 * Returns the ids of active members, direct and indirect, of the groups that the content mentions. Uses one query, or none if
 * the content mentions no group.
 *
 * @param receivers Restricts the result to the channel's subscribers and the users in `userIds`. Null: no restriction.
 */
export async function membersMentioned(
  db: Pick<MentionDb, '$queryRaw'>,
  organization: MessageSender['organization'],
  { mentionedGroupIds }: Pick<RenderedContent, 'mentionedGroupIds'>,
  now: Date,
  receivers: Receivers | null,
): Promise<number[]> {
  if (mentionedGroupIds.length === 0) return [];
  const ids = [...mentionedGroupIds];
  const { channelId, userIds } = receivers ?? { channelId: null, userIds: [] };
  const rows = await db.$queryRaw<{ id: number }[]>`
    SELECT u.id FROM user_account u
    WHERE u.realm_id = ${organization.id} AND u.is_active AND (
      (u.group_ids <> '{}' AND u.group_ids && ${ids}::int[])
      OR (u.full_member_group_ids <> '{}' AND u.full_member_group_ids && ${ids}::int[]
          AND u.joined_at <= ${fullMemberSince(organization, now)}))
      AND (${receivers === null}::boolean OR u.id = ANY(${[...userIds]}::int[]) OR EXISTS (
        SELECT FROM subscription s
        WHERE s.realm_id = ${organization.id} AND s.user_id = u.id AND s.channel_id = ${channelId}::int AND s.active))`;
  return rows.map(({ id }) => id);
}

async function subscribersAmong(
  db: MentionDb,
  organizationId: number,
  channelId: number,
  userIds: readonly number[],
): Promise<number[]> {
  const rows = await db.$queryRaw<{ user_id: number }[]>`
    SELECT user_id FROM subscription
    WHERE realm_id = ${organizationId} AND channel_id = ${channelId} AND active AND user_id = ANY(${[...userIds]})`;
  return rows.map(({ user_id }) => user_id);
}
