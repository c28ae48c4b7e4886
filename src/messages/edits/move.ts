import type { Viewer } from '../../access/context.ts';
import { organizationSetting } from '../../access/organization-settings.ts';
import { type ChannelActor, channelActor, mayInOrganization } from '../../access/permissions/require.ts';
import { hasProtectedHistory, invalidChannelId, readsChannel } from '../../channels/access.ts';
import { userIdsReading } from '../../channels/audience.ts';
import { administersChannel } from '../../channels/seen-channel.ts';
import { RESOLVED_PREFIX, topicNamed } from '../../channels/topic-name.ts';
import type { Emit } from '../../events/log.ts';
import { type Channel, type Organization, Prisma } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ForbiddenError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { isModerator } from '../../platform/roles.ts';
import { type PlacedMessage, receivedBy } from '../access.ts';
import { removeUnreadableStars } from '../flags/unreadable-stars.ts';
import type { PropagateMode } from '../locks.ts';
import {
  type Holders,
  holdAny,
  holdersOf,
  holdsInChannel,
  mayNotPost,
  mayNotSend,
  requireMayCreateTopic,
  requireTopicPolicy,
} from '../sending/target.ts';
import { moveTopicPolicies } from '../topic-policies/service.ts';
import { recordTopicMove } from '../topics/topic-moves.ts';
import { MoveMessagesTimeLimitExceededError } from './errors.ts';
import type { MessageMove, RequestedEdit } from './plan.ts';
import { GRACE_SECONDS, isTooLate } from './time-limits.ts';

interface MoveRequest {
  readonly message: PlacedMessage;
  readonly ids: readonly number[];
  readonly requested: RequestedEdit;
  readonly mode: PropagateMode;
}

/**
 * Checks a requested move and determines its details. Returns null if the edit does not move the message. Runs the checks in
 * the order of the API specification.
 *
 * @throws NotFoundError if the viewer cannot read the target channel, or if it is archived.
 * @throws ForbiddenError if the viewer lacks the permission to move the messages or to post in the target.
 * @throws TopicPolicyError if the policy of the target channel forbids the topic.
 * @throws MoveMessagesTimeLimitExceededError if some messages of the topic are too old to be moved.
 */
export async function prepareMove(tx: Tx, viewer: Viewer, asked: MoveRequest, now: Date): Promise<MessageMove | null> {
  const { message, ids, requested, mode } = asked;
  const from = message.channel;
  if (from === null || (requested.topic === undefined && requested.channelId === undefined)) return null;
  const actor = await channelActor(tx, viewer, now);
  const to = requested.channelId === undefined ? from : await accessTargetChannel(tx, actor, requested.channelId);
  const topic = requested.topic ?? message.topic;
  requireTopicPolicy(viewer.organization, to, topic);
  const resolution = requested.topic === undefined ? null : resolutionOf(viewer.organization, message.topic, topic);
  const attempt: MoveAttempt = { tx, viewer, actor, message, from, to, now };
  if (requested.topic !== undefined) await requireMayChangeTopic(attempt, resolution);
  if (to.id !== from.id) await requireMayChangeChannel(attempt);
  if (mode === 'change_all' && !isModerator(viewer.role)) await requireAllInTime(attempt, requested, ids);
  const surroundings = await surroundingsOf(attempt, topic, ids);
  if (surroundings.isNewTopic && resolution === null) await requireMayCreateTopic(tx, viewer, to, now);
  const moved = to.id === from.id ? await named(tx, message.organizationId, ids, { not: topic }) : ids;
  const isOneSpelling =
    topic !== message.topic || (await named(tx, message.organizationId, ids, { not: message.topic })).length === 0;
  const toggled = to.id === from.id ? resolution : null;
  const names = { topic, isOneSpelling, resolution: toggled, oldTopic: message.topic };
  return { from, to, ...names, ids: moved, ...surroundings };
}

interface MoveAttempt {
  readonly tx: Tx;
  readonly viewer: Viewer;
  readonly actor: ChannelActor;
  readonly message: PlacedMessage;
  readonly from: Channel;
  readonly to: Channel;
  readonly now: Date;
}

async function accessTargetChannel(tx: Tx, actor: ChannelActor, channelId: number): Promise<Channel> {
  const { organization } = actor.person;
  const channel = isRowId(channelId)
    ? await tx.channel.findFirst({ where: { id: channelId, organizationId: organization.id } })
    : null;
  if (channel === null || channel.isArchived) throw invalidChannelId(channelId);
  if (!readsChannel(actor, channel, await isSubscribed(tx, actor.person, channelId))) throw invalidChannelId(channelId);
  return channel;
}

const isSubscribed = async (
  tx: Tx,
  { id, organization }: ChannelActor['person'],
  channelId: number,
): Promise<boolean> =>
  (await tx.subscription.count({ where: { organizationId: organization.id, userId: id, channelId, active: true } })) >
  0;

/**
 * Returns `resolved` or `unresolved` if a new name only adds or removes the prefix of resolved topics. Null for any other new
 * name.
 */
function resolutionOf(organization: Organization, before: string, after: string): MessageMove['resolution'] {
  if (after === topicNamed(organization, RESOLVED_PREFIX + before)) return 'resolved';
  return before === RESOLVED_PREFIX + after ? 'unresolved' : null;
}

async function requireMayChangeTopic(attempt: MoveAttempt, resolution: MessageMove['resolution']): Promise<void> {
  const { viewer, message, from, to, now, tx } = attempt;
  if (resolution !== null) {
    const allowed =
      mayInOrganization(attempt.actor, 'can_resolve_topics_group') ||
      (await holdsInChannel(tx, viewer, from, 'can_resolve_topics_group', now)) ||
      (await holdsInChannel(tx, viewer, to, 'can_resolve_topics_group', now));
    if (!allowed) {
      throw new ForbiddenError("You don't have permission to resolve topics in this channel.", {
        permission: 'can_resolve_topics_group',
        parameter: 'topic',
      });
    }
  } else {
    if (!mayMoveWithin(await holdersOf(tx, viewer, now), from)) {
      throw new ForbiddenError("You don't have permission to edit this message", {
        permission: 'can_move_messages_between_topics_group',
        parameter: 'topic',
      });
    }
  }
  if (isLateToMove(viewer, message, 'move_messages_within_stream_limit_seconds', now)) {
    throw new ForbiddenError("The time limit for editing this message's topic has passed.", { parameter: 'topic' });
  }
}

async function requireMayChangeChannel(attempt: MoveAttempt): Promise<void> {
  const { viewer, message, from, now, tx } = attempt;
  if (!mayMoveOut(await holdersOf(tx, viewer, now), from)) {
    throw new ForbiddenError("You don't have permission to move this message", {
      permission: 'can_move_messages_between_channels_group',
      parameter: 'stream',
    });
  }
  await requireMayPost(attempt);
  if (isLateToMove(viewer, message, 'move_messages_between_streams_limit_seconds', now)) {
    throw new ForbiddenError("The time limit for editing this message's channel has passed", { parameter: 'stream' });
  }
}

/** Returns whether the user has permission to move messages of the channel to another topic of the channel. */
const mayMoveWithin = (holders: Holders, from: Channel): boolean =>
  mayInOrganization(holders[0], 'can_move_messages_between_topics_group') ||
  administersChannel(holders[0], from) ||
  holdAny(holders, from, 'can_move_messages_within_channel_group');

/** Returns whether the user has permission to move messages of the channel to another channel. */
const mayMoveOut = (holders: Holders, from: Channel): boolean =>
  mayInOrganization(holders[0], 'can_move_messages_between_channels_group') ||
  administersChannel(holders[0], from) ||
  holdAny(holders, from, 'can_move_messages_out_of_channel_group');

/** Returns whether the time limit for moving the message has passed. Moderators have no time limit. */
function isLateToMove(
  { organization, role }: Pick<Viewer, 'organization' | 'role'>,
  { sentAt }: Pick<PlacedMessage, 'sentAt'>,
  limit: 'move_messages_within_stream_limit_seconds' | 'move_messages_between_streams_limit_seconds',
  now: Date,
): boolean {
  return !isModerator(role) && isTooLate(sentAt, organizationSetting(organization, limit), now);
}

/**
 * Returns whether a user can move a message of the channel to another topic or to another channel. Callers must have checked
 * that the user can read the message.
 */
export function mayMove(
  holders: Holders,
  viewer: Pick<Viewer, 'organization' | 'role'>,
  from: Channel,
  message: Pick<PlacedMessage, 'sentAt'>,
): boolean {
  const { now } = holders[0];
  return (
    (mayMoveWithin(holders, from) &&
      !isLateToMove(viewer, message, 'move_messages_within_stream_limit_seconds', now)) ||
    (mayMoveOut(holders, from) && !isLateToMove(viewer, message, 'move_messages_between_streams_limit_seconds', now))
  );
}

/**
 * Returns whether a user can mark a topic as resolved or unresolved.
 *
 * @param oldest The oldest message of the topic that the user can read. Its time limit decides for all messages.
 */
export const mayResolve = (
  holders: Holders,
  viewer: Pick<Viewer, 'organization' | 'role'>,
  from: Channel,
  oldest: Pick<PlacedMessage, 'sentAt'>,
): boolean =>
  (mayInOrganization(holders[0], 'can_resolve_topics_group') || holdAny(holders, from, 'can_resolve_topics_group')) &&
  !isLateToMove(viewer, oldest, 'move_messages_within_stream_limit_seconds', holders[0].now);

/**
 * Checks the viewer's permission to post in the target channel. The caller has checked that the viewer can read the channel and
 * that it is not archived.
 *
 * @throws ForbiddenError if the viewer cannot post there.
 */
async function requireMayPost({ tx, viewer, actor, to, now }: MoveAttempt): Promise<void> {
  if (hasProtectedHistory(to) && !(await isSubscribed(tx, actor.person, to.id))) {
    throw mayNotSend(to.name);
  }
  if (!(await holdsInChannel(tx, viewer, to, 'can_send_message_group', now))) {
    throw mayNotPost();
  }
}

/**
 * Refuses a move of a whole topic if some of its messages are too old, instead of leaving those messages in the old topic.
 *
 * @throws MoveMessagesTimeLimitExceededError if some messages are too old.
 */
async function requireAllInTime(
  { tx, viewer, message, now }: MoveAttempt,
  requested: RequestedEdit,
  ids: readonly number[],
) {
  const { organization } = viewer;
  const limits = [
    requested.topic === undefined
      ? null
      : organizationSetting(organization, 'move_messages_within_stream_limit_seconds'),
    requested.channelId === undefined
      ? null
      : organizationSetting(organization, 'move_messages_between_streams_limit_seconds'),
  ].filter((limit) => limit !== null);
  if (limits.length === 0) return;
  const since = new Date(now.getTime() - (Math.min(...limits) + GRACE_SECONDS) * 1000);
  const [young] = await tx.$queryRaw<{ first: bigint | null; count: number }[]>`
    SELECT min(id) AS first, count(*)::int AS count FROM message
    WHERE realm_id = ${message.organizationId} AND id = ANY(${[...ids]}::bigint[]) AND sent_at >= ${since}`;
  if (young === undefined || young.count === ids.length) return;
  throw new MoveMessagesTimeLimitExceededError({
    firstAllowedId: Number(young.first ?? 0),
    total: ids.length,
    allowed: young.count,
  });
}

/**
 * Returns what a move does to the old and the new topic:
 * - `isWhole`: no message that the viewer can read remains in the old topic.
 * - `isSameTopic`: the channel stays the same, and the new name denotes the old topic.
 * - `merges`: the target is another topic, which has messages.
 * - `isNewTopic`: the target is another topic, which has no messages.
 */
async function surroundingsOf({ tx, viewer, from, to, message }: MoveAttempt, topic: string, ids: readonly number[]) {
  const moving = Prisma.sql`m.id = ANY(${[...ids]}::bigint[])`;
  const organizationId = from.organizationId;
  const visible = hasProtectedHistory(from) ? receivedBy(organizationId, viewer.id) : Prisma.sql`true`;
  const [row] = await tx.$queryRaw<{ stays: boolean; there: boolean; same: boolean }[]>`
    SELECT EXISTS (SELECT FROM message m
                   WHERE m.realm_id = ${organizationId} AND m.channel_id = ${from.id}
                     AND topic_key(m.topic) = topic_key(${message.topic}) AND NOT ${moving} AND ${visible}) AS stays,
           EXISTS (SELECT FROM message m
                   WHERE m.realm_id = ${organizationId} AND m.channel_id = ${to.id}
                     AND topic_key(m.topic) = topic_key(${topic}) AND NOT ${moving}) AS there,
           topic_key(${message.topic}) = topic_key(${topic}) AS same`;
  if (row === undefined) throw new Error('The query returned no row');
  const isSameTopic = row.same && from.id === to.id;
  const [merges, isNewTopic] = [row.there && !isSameTopic, !row.there && !isSameTopic];
  return { isWhole: !row.stays, isSameTopic, merges, isNewTopic };
}

/** Returns the ids of those messages whose topic name is not exactly `not`, ascending. Letter case and Unicode form matter. */
async function named(tx: Tx, organizationId: number, ids: readonly number[], { not }: { readonly not: string }) {
  const rows = await tx.$queryRaw<{ id: bigint }[]>`
    SELECT id FROM message WHERE realm_id = ${organizationId} AND id = ANY(${[...ids]}::bigint[]) AND topic <> ${not} ORDER BY id`;
  return rows.map(({ id }) => Number(id));
}

/**
 * Writes the new channel and topic of the moved messages, which must be locked. If the move resolves or unresolves a topic,
 * `last_moved_at` does not change.
 */
export async function writeMove(tx: Tx, organizationId: number, move: MessageMove, now: Date): Promise<void> {
  const { to, topic, oldTopic, ids, resolution } = move;
  await tx.$executeRaw`
    UPDATE message SET channel_id = ${to.id}, topic = CASE WHEN ${topic !== oldTopic} THEN ${topic} ELSE topic END,
                       last_moved_at = CASE WHEN ${resolution === null} THEN ${now}::timestamptz ELSE last_moved_at END
    WHERE realm_id = ${organizationId} AND id = ANY(${[...ids]}::bigint[])`;
}

/**
 * Removes flags of moved messages, and read exceptions that mark these messages as unread, for users who can no longer read the
 * messages. The caller must have written the new location and locked the subscriptions of the target channel.
 */
export async function removeInaccessibleFlags(
  tx: Tx,
  emit: Emit,
  { organization, now }: { readonly organization: Organization; readonly now: Date },
  { from, to, ids }: MessageMove,
): Promise<void> {
  if (from.id === to.id) return;
  await removeUnreadableStars(tx, emit, { organization, now }, { messageIds: ids });
  const holders = await tx.$queryRaw<{ id: number }[]>`
    SELECT user_id AS id FROM user_message WHERE realm_id = ${organization.id} AND message_id = ANY(${[...ids]}::bigint[])
    UNION SELECT user_id FROM read_exception WHERE realm_id = ${organization.id} AND message_id = ANY(${[...ids]}::bigint[])`;
  if (holders.length === 0) return;
  const userIds = holders.map(({ id }) => id);
  const readers = await userIdsReading(tx, organization, to, userIds, now);
  const isGone = (userId: Prisma.Sql) =>
    hasProtectedHistory(to)
      ? Prisma.sql`NOT (${userId} = ANY(${readers}::int[]) AND ${receivedBy(organization.id, userId)})`
      : Prisma.sql`${userId} <> ALL(${readers}::int[])`;
  const among = Prisma.sql`m.id = ANY(${[...ids]}::bigint[])`;
  await tx.$executeRaw`
    DELETE FROM user_message um USING message m
    WHERE m.realm_id = ${organization.id} AND ${among} AND um.realm_id = m.realm_id AND um.message_id = m.id AND ${isGone(Prisma.sql`um.user_id`)}`;
  await tx.$executeRaw`
    DELETE FROM read_exception x USING message m
    WHERE m.realm_id = ${organization.id} AND ${among} AND x.realm_id = m.realm_id AND x.message_id = m.id AND NOT x.is_read
      AND ${isGone(Prisma.sql`x.user_id`)}`;
}

/**
 * Stores the new location of a topic if all of its messages are moved to another topic. Must run before any of these messages
 * is moved again.
 */
export async function recordWholeMove(tx: Tx, { from, to, ids, oldTopic, topic, ...move }: MessageMove): Promise<void> {
  if (!move.isWhole || move.isSameTopic) return;
  const target = { channelId: to.id, name: topic };
  await recordTopicMove(tx, from.organizationId, { from: { channelId: from.id, name: oldTopic }, to: target, ids });
}

/** Moves all users' visibility policies for the topic, if all of its messages are moved. */
export async function movePolicies(
  tx: Tx,
  emit: Emit,
  place: { readonly organization: Organization; readonly now: Date },
  { from, to, oldTopic, topic, isWhole, merges }: MessageMove,
): Promise<void> {
  if (!isWhole) return;
  await moveTopicPolicies(tx, emit, place, {
    fromChannelId: from.id,
    fromTopic: oldTopic,
    toChannelId: to.id,
    toTopic: topic,
    merging: merges,
  });
}
