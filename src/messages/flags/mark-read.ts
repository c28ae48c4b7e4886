import type { Ctx } from '../../access/context.ts';
import { accessChannelContent } from '../../channels/access.ts';
import { topicNamed } from '../../channels/topic-name.ts';
import { changing } from '../../events/act.ts';
import { users } from '../../events/audience.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { Tx } from '../../platform/db/client.ts';
import { NotFoundError, ValidationError } from '../../platform/errors.ts';
import { refuseNullBytes } from '../../platform/text.ts';
import { receivedBy } from '../access.ts';
import { isOwnConversation } from '../conversations/queries.ts';
import { SENT_RECIPIENT } from '../flag-conditions.ts';
import { hasReceivedInTopic } from '../topics/topics.ts';
import { conversationRecipientId } from '../wire.ts';
import { lastMessage, readChannels } from './channel-marks.ts';
import { allRead, type FlaggedPlace, flagAdded } from './events.ts';
import { type Holder, lockReaders, setRead } from './read-state.ts';
import { type UnreadInTopic, unreadIdsIn, unreadIdsInConversation } from './unread.ts';
import { countUnreadOfEach } from './unread-counts.ts';

const holderOf = ({ organizationId, viewer }: Ctx): Holder => ({ organizationId, userId: viewer.id });

function announceRead(emit: Emit, { viewer }: Ctx, placesById: ReadonlyMap<number, FlaggedPlace>): void {
  const placeOf = (id: number) => placesById.get(id) as FlaggedPlace;
  for (const event of flagAdded('read', [...placesById.keys()], placeOf)) emit(event, users([viewer.id]));
}

/** Returns the locations of unread messages of a channel, by message id, ascending. */
function placesIn(channelId: number, found: readonly UnreadInTopic[]): ReadonlyMap<number, FlaggedPlace> {
  const placed = found.flatMap(({ topic, ids }) => {
    const place = { channelId, topic, conversationId: null };
    return ids.map((id) => [id, place] as const);
  });
  return new Map(placed.sort(([a], [b]) => a - b));
}

/**
 * Marks all messages of a topic as read for the viewer and notifies the viewer's clients.
 *
 * @param topic Name of the topic. Letter case and Unicode form do not matter. Also accepts every name of the empty topic.
 * @returns Ids of the messages that were unread.
 * @throws NotFoundError if the viewer cannot read the channel, if the name contains a null byte, or if the viewer received no
 *   message in the topic. The last condition does not apply to the empty topic.
 */
export async function markTopicAsRead(ctx: Ctx, channelId: number, topic: string): Promise<readonly number[]> {
  refuseNullBytes('topic_name', topic);
  const channel = await accessChannelContent(ctx, channelId);
  const name = topicNamed(ctx.viewer.organization, topic.toWellFormed());
  if (name !== '' && !(await hasReceivedInTopic(ctx.work.db, holderOf(ctx), channel.id, name))) {
    throw new NotFoundError(`No such topic '${name}'`, { type: 'Topic', parameter: 'topic_name' });
  }
  return transact(ctx, async (tx, emit) => {
    const holder = holderOf(ctx);
    await lockReaders(tx, holder.organizationId, [holder.userId]);
    const places = placesIn(channel.id, await unreadIdsIn(tx, holder, { channelId: channel.id, topic: name }));
    const ids = [...places.keys()];
    await setRead(tx, holder, ids, true);
    announceRead(emit, ctx, places);
    return ids;
  });
}

/**
 * Marks all messages of a channel as read for the viewer and notifies the viewer's clients.
 *
 * @returns Ids of the messages that were unread.
 * @throws NotFoundError if the viewer cannot read the channel.
 */
export async function markChannelAsRead(ctx: Ctx, channelId: number): Promise<readonly number[]> {
  const channel = await accessChannelContent(ctx, channelId);
  return transact(ctx, async (tx, emit) => {
    const holder = holderOf(ctx);
    await lockReaders(tx, holder.organizationId, [holder.userId]);
    const places = placesIn(channel.id, await unreadIdsIn(tx, holder, { channelId: channel.id }));
    const ids = [...places.keys()];
    if (ids.length === 0) return ids;
    // Messages that were sent after the ids were read stay unread.
    await readChannels(tx, holder.organizationId, [{ userId: holder.userId, channelId: channel.id }], ids.at(-1) ?? 0);
    announceRead(emit, ctx, places);
    return ids;
  });
}

/**
 * Marks all messages of a direct conversation as read for the viewer and notifies the viewer's clients.
 *
 * @returns Ids of the messages that were unread.
 * @throws NotFoundError if the viewer is not a member of the conversation, or if it has no messages.
 */
export async function markConversationAsRead(ctx: Ctx, conversationId: number): Promise<readonly number[]> {
  const holder = holderOf(ctx);
  if (!(await isOwnConversation(ctx.work.db, holder, conversationId))) {
    throw new NotFoundError('Invalid conversation ID', { type: 'DirectConversation', id: conversationId });
  }
  return transact(ctx, async (tx, emit) => {
    await lockReaders(tx, holder.organizationId, [holder.userId]);
    const ids = await unreadIdsInConversation(tx, holder, conversationId);
    const last = ids.at(-1);
    if (last === undefined) return ids;
    // Messages that were sent after the ids were read stay unread.
    await readConversation(tx, holder, conversationId, last);
    const place = { channelId: null, topic: '', conversationId };
    announceRead(emit, ctx, new Map(ids.map((id) => [id, place])));
    return ids;
  });
}

/**
 * Marks the messages of a conversation as read up to the id `through`, by moving the user's read mark. Deletes the read
 * exceptions that the mark makes unnecessary. Messages of a conversation are never moved elsewhere.
 */
async function readConversation(tx: Tx, holder: Holder, conversationId: number, through: number): Promise<void> {
  const { organizationId, userId } = holder;
  await tx.$executeRaw`
    WITH needless AS (
      DELETE FROM read_exception WHERE realm_id = ${organizationId} AND user_id = ${userId}
        AND recipient_id = ${conversationRecipientId(conversationId)}::bigint AND message_id <= ${through}::bigint
    )
    INSERT INTO read_mark (realm_id, user_id, recipient_id, read_through)
    VALUES (${organizationId}, ${userId}, ${conversationRecipientId(conversationId)}::bigint, ${through}::bigint)
    ON CONFLICT (realm_id, user_id, recipient_id)
      DO UPDATE SET read_through = GREATEST(read_mark.read_through, EXCLUDED.read_through)`;
}

/**
 * Maximum number of a user's individually unread messages (read exceptions) that one transaction marks as read. If there are
 * more, several short transactions are used. Each of them emits events with the messages that became read.
 */
const MAX_EXCEPTIONS_AT_ONCE = 5_000;
/** Maximum time for one call that marks all messages as read, in seconds. Afterwards, another call must continue. */
export const MAX_SECONDS = 50;

/**
 * Marks all messages as read for the viewer and notifies the viewer's clients.
 *
 * @param maxSeconds Time in seconds after which the call returns, even if unread messages remain.
 * @returns True if all messages are read. False if the time is used up and another call must continue.
 * @throws ValidationError if `maxSeconds` is not between 1 and 50.
 */
export async function markAllAsRead(ctx: Ctx, maxSeconds = MAX_SECONDS): Promise<boolean> {
  if (maxSeconds < 1 || maxSeconds > MAX_SECONDS) {
    throw new ValidationError(`maxSeconds must be between 1 and ${MAX_SECONDS}`, {
      parameter: 'maxSeconds',
      minimum: 1,
      maximum: MAX_SECONDS,
      value: maxSeconds,
    });
  }
  const { app } = ctx;
  const deadline = app.now().getTime() + 1_000 * maxSeconds;
  return changing(async () => {
    while (await clearSome(ctx)) {
      if (app.now().getTime() >= deadline) return false;
    }
    await transact(ctx, (tx, emit) => moveAllMarks(tx, emit, ctx));
    return true;
  });
}

/**
 * Checks the number of messages that are individually marked as unread for the viewer. If there are more than
 * `MAX_EXCEPTIONS_AT_ONCE`, marks the oldest `MAX_EXCEPTIONS_AT_ONCE` of them as read.
 *
 * @returns Whether messages were marked. If so, more may remain.
 */
async function clearSome(ctx: Ctx): Promise<boolean> {
  const { organizationId, userId } = holderOf(ctx);
  const [few] = await ctx.work.db.$queryRaw<{ count: number }[]>`
    SELECT count(*)::int AS count FROM (
      SELECT FROM read_exception WHERE realm_id = ${organizationId} AND user_id = ${userId} AND NOT is_read LIMIT ${MAX_EXCEPTIONS_AT_ONCE + 1}) AS few`;
  if ((few?.count ?? 0) <= MAX_EXCEPTIONS_AT_ONCE) return false;
  await transact(ctx, async (tx, emit) => {
    await lockReaders(tx, ctx.organizationId, [userId]);
    // An unread exception exists only for a message that would count as read without it. So deleting the exception marks the
    // message as read.
    const rows = await tx.$queryRaw<(FlaggedPlace & { readonly id: bigint })[]>`
      WITH gone AS (
        DELETE FROM read_exception WHERE realm_id = ${organizationId} AND user_id = ${userId} AND message_id = ANY(ARRAY(
          SELECT message_id FROM read_exception WHERE realm_id = ${organizationId} AND user_id = ${userId} AND NOT is_read
          ORDER BY message_id LIMIT ${MAX_EXCEPTIONS_AT_ONCE}))
        RETURNING message_id AS id)
      SELECT m.id, m.channel_id AS "channelId", m.topic, m.conversation_id AS "conversationId"
      FROM gone JOIN message m ON m.realm_id = ${organizationId} AND m.id = gone.id`;
    announceRead(emit, ctx, new Map(rows.map(({ id, ...place }) => [Number(id), place])));
  });
  return true;
}

async function moveAllMarks(tx: Tx, emit: Emit, ctx: Ctx): Promise<void> {
  const holder = holderOf(ctx);
  const { organizationId, userId } = holder;
  await lockReaders(tx, organizationId, [userId]);
  const unread = (await countUnreadOfEach(tx, organizationId, [userId])).get(userId) ?? [];
  if (unread.length === 0) return;
  const [moved] = await tx.$queryRaw<{ through: bigint }[]>`
    WITH last AS (SELECT ${lastMessage(organizationId)} AS id),
    held AS MATERIALIZED (
      SELECT recipient.id, COALESCE(r.read_through, 0) AS read_through FROM (
        SELECT DISTINCT channel_id::bigint * 2 AS id FROM subscription_period
        WHERE realm_id = ${organizationId} AND user_id = ${userId}
        UNION ALL SELECT conversation_id::bigint * 2 + 1 FROM conversation_member
        WHERE realm_id = ${organizationId} AND user_id = ${userId}
      ) AS recipient LEFT JOIN read_mark r ON r.realm_id = ${organizationId} AND r.user_id = ${userId} AND r.recipient_id = recipient.id
    ), gone AS (
      DELETE FROM read_exception WHERE realm_id = ${organizationId} AND user_id = ${userId}
    ), moved AS (
      INSERT INTO read_mark (realm_id, user_id, recipient_id, read_through)
      SELECT ${organizationId}, ${userId}, held.id, last.id FROM held, last
      WHERE CASE WHEN held.id % 2 = 1
        THEN EXISTS (
          SELECT FROM message m
          WHERE m.realm_id = ${organizationId} AND m.conversation_id = held.id / 2 AND m.id > held.read_through)
        ELSE EXISTS (
          SELECT FROM message m
          WHERE m.realm_id = ${organizationId} AND m.channel_id = held.id / 2 AND m.id > held.read_through)
          OR EXISTS (
          SELECT FROM message m
          WHERE m.realm_id = ${organizationId} AND m.sent_channel_id = held.id / 2
            AND m.channel_id <> m.sent_channel_id AND m.id > held.read_through) END
      ON CONFLICT (realm_id, user_id, recipient_id) DO UPDATE SET read_through = EXCLUDED.read_through
    )
    SELECT id AS through FROM last`;
  // Clients mark all messages that were sent before the event as read. Therefore the callback marks messages that were sent
  // since the statement above. While the callback runs, the event counter is locked, so no further message can be sent before
  // the event.
  const places = {
    channelIds: [...new Set(unread.flatMap(({ channelId }) => channelId ?? []))],
    conversationIds: unread.flatMap(({ conversationId }) => conversationId ?? []),
  };
  emit(allRead(places), users([userId]), () => readSince(tx, holder, moved?.through ?? 0n));
}

/** Marks those messages as read that the user received and whose id is above `through`. */
function readSince(tx: Tx, { organizationId, userId }: Holder, through: bigint): Promise<unknown> {
  return tx.$executeRaw`
    INSERT INTO read_mark (realm_id, user_id, recipient_id, read_through)
    SELECT ${organizationId}, ${userId}, ${SENT_RECIPIENT}, max(m.id) FROM message m
    WHERE m.realm_id = ${organizationId} AND m.id > ${through} AND ${receivedBy(organizationId, userId)} GROUP BY ${SENT_RECIPIENT}
    ON CONFLICT (realm_id, user_id, recipient_id)
      DO UPDATE SET read_through = GREATEST(read_mark.read_through, EXCLUDED.read_through)`;
}
