import type { Ctx, Viewer } from '../access/context.ts';
import { asOfNow } from '../access/sign-in.ts';
import { hasProtectedHistory } from '../channels/access.ts';
import { holdRolesAndShareChannels } from '../channels/locks.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
import { isRowId } from '../platform/ids.ts';
import {
  accessMessageToChange,
  findMessage,
  invalidMessage,
  mayChange,
  type PlacedMessage,
  receivedBy,
} from './access.ts';

// Order of locks: channels first (channels/locks.ts), then messages in ascending order of ids, then rows that reference
// messages.

/** Extent of a move: the selected message only, this message and the later ones of its topic, or all messages of the topic. */
export const PROPAGATE_MODES = ['change_one', 'change_later', 'change_all'] as const;
export type PropagateMode = (typeof PROPAGATE_MODES)[number];

/** Extent of a change: which messages it includes, and the channel to which they move. */
export interface Reach {
  /** Determines which other messages of the topic the change includes. */
  readonly mode: PropagateMode;
  /** Id of the target channel. Absent if the channel does not change. */
  readonly channelId?: number | undefined;
}

/**
 * Result of locking messages for a change. The messages, their channel, the target channel, and the subscriptions of both
 * channels are locked.
 */
export interface Locked {
  /** The viewer, read again under the locks, because they may have been deactivated or demoted since they signed in. */
  readonly viewer: Viewer;
  /** The message that the viewer selected, in its current state. */
  readonly message: PlacedMessage;
  /** Ids of all messages that the change includes and the viewer can read, ascending. Includes the selected message. */
  readonly ids: readonly number[];
}

/**
 * Returns an error with the SQLSTATE of a serialization failure (40001), so that the transaction is retried. Thrown if a
 * message moved before it was locked.
 */
export const serializationFailure = () =>
  Object.assign(new Error('A message moved while it was being locked'), { code: '40001' });

/**
 * Locks a message that the viewer can change, the other messages of the change, and the rows on which the viewer's permission
 * depends. Access is checked before the locks are taken, so that users cannot block changes of messages that they cannot read.
 * Access is checked again under the locks.
 *
 * @throws NotFoundError if the message does not exist, the viewer cannot read it, or its channel is archived.
 * @throws OrganizationDeactivatedError, UserDeactivatedError if the viewer can no longer sign in.
 */
export async function lockMessages(tx: Tx, ctx: Ctx, messageId: number, reach: Reach): Promise<Locked> {
  const { app, viewer, organizationId } = ctx;
  const seen = await accessMessageToChange(tx, viewer, messageId, app.now());
  if (seen.channelId !== null) {
    const target = reach.channelId !== undefined && isRowId(reach.channelId) ? [reach.channelId] : [];
    await holdRolesAndShareChannels(tx, organizationId, [seen.channelId, ...target]);
  }
  const ids =
    seen.channelId === null || reach.mode === 'change_one' ? [seen.id] : await lockTopic(tx, seen, reach.mode);
  const { viewer: current } = await asOfNow(tx, ctx);
  const found = await findMessage(tx, current, messageId, Prisma.sql`FOR NO KEY UPDATE OF m`);
  if (found === undefined) throw invalidMessage(messageId);
  const { message } = found;
  if (message.channelId !== seen.channelId || message.topic !== seen.topic) throw serializationFailure();
  if (!(await mayChange(tx, current, found, app.now()))) throw invalidMessage(messageId);
  return { viewer: current, message, ids: await readable(tx, viewer.id, message, ids) };
}

/**
 * Locks messages of a topic: the given message and all later ones, or all messages of the topic.
 *
 * @returns Ids of the locked messages, ascending.
 */
async function lockTopic(tx: Tx, { organizationId, id, channelId, topic }: PlacedMessage, mode: PropagateMode) {
  const rows = await tx.$queryRaw<{ id: bigint }[]>`
    SELECT id FROM message
    WHERE realm_id = ${organizationId} AND channel_id = ${channelId} AND topic_key(topic) = topic_key(${topic})
      AND id >= ${mode === 'change_later' ? id : 0n}
    ORDER BY id FOR NO KEY UPDATE`;
  return rows.map((row) => row.id);
}

async function readable(tx: Tx, userId: number, { organizationId, channel }: PlacedMessage, ids: readonly bigint[]) {
  if (channel === null || !hasProtectedHistory(channel) || ids.length === 1) return ids.map(Number);
  const rows = await tx.$queryRaw<{ id: bigint }[]>`
    SELECT m.id FROM message m WHERE m.realm_id = ${organizationId} AND m.id = ANY(${[...ids]}::bigint[])
      AND ${receivedBy(organizationId, userId)} ORDER BY m.id`;
  return rows.map(({ id }) => Number(id));
}

/** Id, sender and location of a message that is locked for deletion. */
export type LockedToDelete = Pick<PlacedMessage, 'id' | 'senderId' | 'topic' | 'channel' | 'conversation'>;

/**
 * Locks messages and their channels for deletion.
 *
 * @returns The messages that still exist, ascending by id.
 * @throws A serialization failure (40001) if a message moved to another channel before it was locked.
 */
export async function lockToDelete(
  tx: Tx,
  organizationId: number,
  messageIds: readonly number[],
): Promise<readonly LockedToDelete[]> {
  const where = { organizationId, id: { in: [...messageIds] } };
  const seen = await tx.message.findMany({ where, select: { id: true, channelId: true } });
  const channelIds = [...new Set(seen.flatMap(({ channelId }) => channelId ?? []))];
  if (channelIds.length > 0) {
    await holdRolesAndShareChannels(tx, organizationId, channelIds);
  }
  await tx.$queryRaw`
    SELECT 1 AS held FROM message WHERE realm_id = ${organizationId} AND id = ANY(${[...messageIds]}::bigint[])
    ORDER BY id FOR UPDATE`;
  const locked = await tx.message.findMany({
    where,
    select: { id: true, senderId: true, topic: true, channel: true, conversation: true },
    orderBy: { id: 'asc' },
  });
  if (locked.some(({ channel }) => channel !== null && !channelIds.includes(channel.id))) throw serializationFailure();
  return locked;
}
