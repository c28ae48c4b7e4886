import type { Ctx, Viewer } from '../../access/context.ts';
import { asOfNow } from '../../access/sign-in.ts';
import { holdRolesAndShareChannels } from '../../channels/locks.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { isRowId } from '../../platform/ids.ts';
import {
  accessMessageToChange,
  findMessage,
  hasProtectedHistory,
  invalidMessage,
  mayChange,
  type PlacedMessage,
  receivedBy,
} from '../access.ts';
import type { PropagateMode } from './events.ts';

// Messages come after channels in the order of locks (channels/locks.ts), ascending by id, and before the rows that hang
// on them.

/** What a change is to reach. */
export interface Reach {
  /** How far it goes from the message asked for. */
  readonly mode: PropagateMode;
  /** The channel the messages are to go to. */
  readonly channelId?: number | undefined;
}

/** Messages that are locked for a change, with the channels they stand in and go to, and who is subscribed to these. */
export interface Locked {
  /** The viewer, read again once the locks are held: they may have been deactivated or demoted since they signed in. */
  readonly viewer: Viewer;
  /** The message asked for, as it is. */
  readonly message: PlacedMessage;
  /** It and the others that the change reaches, of those the viewer may read: ascending. */
  readonly ids: readonly number[];
}

/** For `retrying`: a row is not where it was when the locks were chosen. */
const lostRace = () => Object.assign(new Error('A message moved while it was being locked'), { code: '40001' });

/**
 * Locks a message the viewer may change, and what a change of it touches. Access is looked at before, so that nobody holds
 * up what is not theirs, and again behind the locks.
 *
 * @throws BadRequestError when there is no such message, or not for the viewer, or its channel is archived.
 * @throws RealmDeactivatedError, UserDeactivatedError when the viewer could not sign in any more.
 */
export async function lockMessages(tx: Tx, ctx: Ctx, messageId: number, reach: Reach): Promise<Locked> {
  const { app, viewer, realmId } = ctx;
  const seen = await accessMessageToChange(tx, viewer, messageId, app.now());
  if (seen.channelId !== null) {
    const target = reach.channelId !== undefined && isRowId(reach.channelId) ? [reach.channelId] : [];
    await holdRolesAndShareChannels(tx, realmId, [seen.channelId, ...target]);
  }
  const ids =
    seen.channelId === null || reach.mode === 'change_one' ? [seen.id] : await lockTopic(tx, seen, reach.mode);
  const { viewer: current } = await asOfNow(tx, ctx);
  const found = await findMessage(tx, current, messageId, Prisma.sql`FOR NO KEY UPDATE OF m`);
  if (found === undefined) throw invalidMessage();
  const { message } = found;
  if (message.channelId !== seen.channelId || message.topic !== seen.topic) throw lostRace();
  if (!(await mayChange(tx, current, found, app.now()))) throw invalidMessage();
  return { viewer: current, message, ids: await readable(tx, viewer.id, message, ids) };
}

/** Locks the messages of a topic, from one of them or all. @returns Their ids, ascending. */
async function lockTopic(tx: Tx, { realmId, id, channelId, topic }: PlacedMessage, mode: PropagateMode) {
  const rows = await tx.$queryRaw<{ id: bigint }[]>`
    SELECT id FROM message
    WHERE realm_id = ${realmId} AND channel_id = ${channelId} AND lower(topic) = lower(${topic})
      AND id >= ${mode === 'change_later' ? id : 0n}
    ORDER BY id FOR NO KEY UPDATE`;
  return rows.map((row) => row.id);
}

async function readable(tx: Tx, userId: number, { realmId, channel }: PlacedMessage, ids: readonly bigint[]) {
  if (channel === null || !hasProtectedHistory(channel) || ids.length === 1) return ids.map(Number);
  const rows = await tx.$queryRaw<{ id: bigint }[]>`
    SELECT m.id FROM message m WHERE m.realm_id = ${realmId} AND m.id = ANY(${[...ids]}::bigint[])
      AND ${receivedBy(userId)} ORDER BY m.id`;
  return rows.map(({ id }) => Number(id));
}

/** What stands where, of messages that are locked to be deleted. */
export type LockedToDelete = Pick<PlacedMessage, 'id' | 'topic' | 'channel' | 'conversation'>;

/**
 * Locks messages and the channels they stand in, to delete them.
 *
 * @returns Those that are still there, ascending.
 */
export async function lockToDelete(
  tx: Tx,
  realmId: number,
  messageIds: readonly number[],
): Promise<readonly LockedToDelete[]> {
  const where = { realmId, id: { in: [...messageIds] } };
  const seen = await tx.message.findMany({ where, select: { id: true, channelId: true } });
  const channelIds = [...new Set(seen.flatMap(({ channelId }) => channelId ?? []))];
  if (channelIds.length > 0) {
    await holdRolesAndShareChannels(tx, realmId, channelIds);
  }
  await tx.$queryRaw`
    SELECT 1 AS held FROM message WHERE realm_id = ${realmId} AND id = ANY(${[...messageIds]}::bigint[])
    ORDER BY id FOR UPDATE`;
  const locked = await tx.message.findMany({
    where,
    select: { id: true, topic: true, channel: true, conversation: true },
    orderBy: { id: 'asc' },
  });
  if (locked.some(({ channel }) => channel !== null && !channelIds.includes(channel.id))) throw lostRace();
  return locked;
}
