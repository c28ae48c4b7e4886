import type { Ctx } from '../../access/context.ts';
import { accessChannelContent } from '../../channels/access.ts';
import { topicNamed } from '../../channels/topic-name.ts';
import { changing } from '../../events/act.ts';
import { users } from '../../events/audience.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { refuseNullBytes } from '../../platform/text.ts';
import { receivedBy } from '../access.ts';
import { SENT_RECIPIENT } from '../flag-conditions.ts';
import { hasReceivedInTopic } from '../topics/topics.ts';
import { lastMessage, readChannels } from './channel-marks.ts';
import { allRead, flagAdded } from './events.ts';
import { type Holder, lockReaders, setRead } from './read-state.ts';
import { hasUnread, unreadIdsIn } from './unread.ts';

const holderOf = ({ realmId, viewer }: Ctx): Holder => ({ realmId, userId: viewer.id });

function announceRead(emit: Emit, { viewer }: Ctx, messageIds: readonly number[]): void {
  for (const event of flagAdded('read', messageIds)) emit(event, users([viewer.id]));
}

/**
 * Marks all messages of a topic as read for the viewer and notifies the viewer's clients.
 *
 * @param topic Name of the topic. Letter case and Unicode form do not matter. Also accepts every name of the empty topic.
 * @returns Ids of the messages that were unread.
 * @throws BadRequestError if the viewer cannot read the channel, or if they received no message in the topic, unless it is the
 * empty topic.
 */
export async function markTopicAsRead(ctx: Ctx, channelId: number, topic: string): Promise<readonly number[]> {
  refuseNullBytes('topic_name', topic);
  const channel = await accessChannelContent(ctx, channelId);
  const name = topicNamed(ctx.viewer.realm, topic.toWellFormed());
  if (name !== '' && !(await hasReceivedInTopic(ctx.app.db, holderOf(ctx), channel.id, name))) {
    throw new BadRequestError(`No such topic '${name}'`);
  }
  return transact(ctx, async (tx, emit) => {
    const holder = holderOf(ctx);
    await lockReaders(tx, holder.realmId, [holder.userId]);
    const ids = await unreadIdsIn(tx, holder, { channelId: channel.id, topic: name });
    await setRead(tx, holder, ids, true);
    announceRead(emit, ctx, ids);
    return ids;
  });
}

/**
 * Marks all messages of a channel as read for the viewer and notifies the viewer's clients.
 *
 * @returns Ids of the messages that were unread.
 * @throws BadRequestError if the viewer cannot read the channel.
 */
export async function markChannelAsRead(ctx: Ctx, channelId: number): Promise<readonly number[]> {
  const channel = await accessChannelContent(ctx, channelId);
  return transact(ctx, async (tx, emit) => {
    const holder = holderOf(ctx);
    await lockReaders(tx, holder.realmId, [holder.userId]);
    const ids = await unreadIdsIn(tx, holder, { channelId: channel.id });
    if (ids.length === 0) return ids;
    // Messages that were sent after the ids were read stay unread.
    await readChannels(tx, holder.realmId, [{ userId: holder.userId, channelId: channel.id }], ids.at(-1) ?? 0);
    announceRead(emit, ctx, ids);
    return ids;
  });
}

/**
 * Maximum number of exceptions that one transaction deletes. More exceptions are deleted in several transactions, so that each
 * is short. Each transaction emits an event with the messages that became read.
 */
const MAX_EXCEPTIONS_AT_ONCE = 5_000;
/** Maximum time for marking all messages as read, in seconds. */
export const MAX_SECONDS = 50;

/**
 * Marks all messages as read for the viewer and notifies the viewer's clients.
 *
 * @param maxSeconds Time after which the call returns even if it is not done.
 * @returns True if all messages are read. False if the time is used up and another call must continue.
 * @throws BadRequestError if `maxSeconds` is not between 1 and 50.
 */
export async function markAllAsRead(ctx: Ctx, maxSeconds = MAX_SECONDS): Promise<boolean> {
  if (maxSeconds < 1 || maxSeconds > MAX_SECONDS) {
    throw new BadRequestError(`maxSeconds must be between 1 and ${MAX_SECONDS}`);
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
 * Marks a batch of messages as read that were marked as unread one by one, if there is more than one batch of them.
 *
 * @returns Whether a batch was marked.
 */
async function clearSome(ctx: Ctx): Promise<boolean> {
  const { realmId, userId } = holderOf(ctx);
  const [few] = await ctx.app.db.$queryRaw<{ count: number }[]>`
    SELECT count(*)::int AS count FROM (
      SELECT FROM read_exception WHERE realm_id = ${realmId} AND user_id = ${userId} AND NOT is_read LIMIT ${MAX_EXCEPTIONS_AT_ONCE + 1}) AS few`;
  if ((few?.count ?? 0) <= MAX_EXCEPTIONS_AT_ONCE) return false;
  await transact({ app: ctx.app, realmId: ctx.realmId }, async (tx, emit) => {
    await lockReaders(tx, ctx.realmId, [userId]);
    // An unread exception exists only for a message that would otherwise count as read. So deleting it marks the message as
    // read.
    const rows = await tx.$queryRaw<{ id: bigint }[]>`
      DELETE FROM read_exception WHERE realm_id = ${realmId} AND user_id = ${userId} AND message_id = ANY(ARRAY(
        SELECT message_id FROM read_exception WHERE realm_id = ${realmId} AND user_id = ${userId} AND NOT is_read
        ORDER BY message_id LIMIT ${MAX_EXCEPTIONS_AT_ONCE}))
      RETURNING message_id AS id`;
    announceRead(
      emit,
      ctx,
      rows.map(({ id }) => Number(id)),
    );
  });
  return true;
}

async function moveAllMarks(tx: Tx, emit: Emit, ctx: Ctx): Promise<void> {
  const holder = holderOf(ctx);
  const { realmId, userId } = holder;
  await lockReaders(tx, realmId, [userId]);
  if (!(await hasUnread(tx, holder))) return;
  const [moved] = await tx.$queryRaw<{ through: bigint }[]>`
    WITH last AS (SELECT ${lastMessage(realmId)} AS id),
    held AS (
      SELECT recipient.id, COALESCE(r.read_through, 0) AS read_through FROM (
        SELECT DISTINCT channel_id::bigint * 2 AS id FROM subscription_period
        WHERE realm_id = ${realmId} AND user_id = ${userId}
        UNION ALL SELECT conversation_id::bigint * 2 + 1 FROM conversation_member
        WHERE realm_id = ${realmId} AND user_id = ${userId}
      ) AS recipient LEFT JOIN read_mark r ON r.realm_id = ${realmId} AND r.user_id = ${userId} AND r.recipient_id = recipient.id
    ), gone AS (
      DELETE FROM read_exception WHERE realm_id = ${realmId} AND user_id = ${userId}
    ), moved AS (
      INSERT INTO read_mark (realm_id, user_id, recipient_id, read_through)
      SELECT ${realmId}, ${userId}, held.id, last.id FROM held, last
      WHERE CASE WHEN held.id % 2 = 1
        THEN EXISTS (SELECT FROM message m WHERE m.conversation_id = held.id / 2 AND m.id > held.read_through)
        ELSE EXISTS (SELECT FROM message m WHERE m.channel_id = held.id / 2 AND m.id > held.read_through)
          OR EXISTS (SELECT FROM message m WHERE m.sent_channel_id = held.id / 2 AND m.channel_id <> m.sent_channel_id
            AND m.id > held.read_through) END
      ON CONFLICT (realm_id, user_id, recipient_id) DO UPDATE SET read_through = EXCLUDED.read_through
    )
    SELECT id AS through FROM last`;
  // For clients, the event marks all messages as read that were sent before it. When the callback runs, the event counter is
  // locked, so no message can be sent in between.
  emit(allRead(), users([userId]), () => readSince(tx, holder, moved?.through ?? 0n));
}

/** Marks the messages as read that the user received with an id above `through`. */
function readSince(tx: Tx, { realmId, userId }: Holder, through: bigint): Promise<unknown> {
  return tx.$executeRaw`
    INSERT INTO read_mark (realm_id, user_id, recipient_id, read_through)
    SELECT ${realmId}, ${userId}, ${SENT_RECIPIENT}, max(m.id) FROM message m
    WHERE m.realm_id = ${realmId} AND m.id > ${through} AND ${receivedBy(userId)} GROUP BY ${SENT_RECIPIENT}
    ON CONFLICT (realm_id, user_id, recipient_id)
      DO UPDATE SET read_through = GREATEST(read_mark.read_through, EXCLUDED.read_through)`;
}
