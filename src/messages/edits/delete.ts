import type { Ctx, Viewer } from '../../access/context.ts';
import { channelActor, mayInRealm } from '../../access/permissions/require.ts';
import { realmSetting } from '../../access/realm-settings.ts';
import { type Guarded, readsChannel } from '../../channels/access.ts';
import { emptyTopicName } from '../../channels/topic-name.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { Channel, Realm } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import {
  accessMessageToChange,
  hasProtectedHistory,
  invalidMessage,
  isMessageId,
  type PlacedMessage,
  receivedBy,
} from '../access.ts';
import { type Holders, holdAny, holdersOf } from '../sending/target.ts';
import { hearingsOf } from './audience.ts';
import { messagesDeleted } from './events.ts';
import { type LockedToDelete, lockToDelete } from './locks.ts';
import { isPast } from './time-limits.ts';

/**
 * Deletes a message, and tells those who could read it. It is kept for the operator for 30 days.
 *
 * @throws BadRequestError when the viewer may not read the message, or it stands in an archived channel, or is deleted
 *   already; when it is not theirs to delete, or not any more.
 */
export async function deleteMessage(ctx: Ctx, messageId: number): Promise<void> {
  const { app, viewer, realmId } = ctx;
  await transact(ctx, async (tx, emit) => {
    const now = app.now();
    if (isMessageId(messageId)) {
      if (await couldRead(tx, viewer, messageId, now)) throw alreadyDeleted();
      await requireMayDelete(tx, viewer, await accessMessageToChange(tx, viewer, messageId, now), now);
    }
    const locked = await lockToDelete(tx, realmId, isMessageId(messageId) ? [messageId] : []);
    if (locked.length === 0) throw isMessageId(messageId) ? alreadyDeleted() : invalidMessage();
    await requireMayDelete(tx, viewer, await accessMessageToChange(tx, viewer, messageId, now), now);
    await remove(tx, emit, { realm: viewer.realm, now, deleter: viewer }, locked);
  });
}

const alreadyDeleted = () => new BadRequestError('Message already deleted');

/** Whether there was such a message that the viewer might read if it were not deleted. */
async function couldRead(tx: Tx, viewer: Viewer, messageId: number, now: Date): Promise<boolean> {
  const [deleted] = await tx.$queryRaw<{ channel_id: number | null; received: boolean }[]>`
    SELECT m.channel_id, ${receivedBy(viewer.id)} AS received
    FROM deleted_message d CROSS JOIN LATERAL jsonb_populate_record(NULL::message, d.body) AS m
    WHERE d.realm_id = ${viewer.realm.id} AND d.id = ${messageId}`;
  if (deleted === undefined) return false;
  if (deleted.channel_id === null) return deleted.received;
  const channel = await tx.channel.findUnique({
    where: { realmId_id: { realmId: viewer.realm.id, id: deleted.channel_id } },
  });
  if (channel === null || !(await reads(tx, viewer, channel, now))) return false;
  return !hasProtectedHistory(channel) || deleted.received;
}

async function reads(tx: Tx, viewer: Viewer, channel: Channel, now: Date): Promise<boolean> {
  const subscriptions = await tx.subscription.count({
    where: { realmId: viewer.realm.id, userId: viewer.id, channelId: channel.id, active: true },
  });
  return readsChannel(await channelActor(tx, viewer, now), channel, subscriptions > 0);
}

async function requireMayDelete(tx: Tx, viewer: Viewer, message: PlacedMessage, now: Date): Promise<void> {
  const holders = await holdersOf(tx, viewer, now);
  const objection = await objectionToDeleting(holders, message, () => isOwn(tx, viewer, message));
  if (objection !== undefined) throw new BadRequestError(objection);
}

/**
 * What keeps somebody from deleting a message that they may read.
 *
 * @param isOwn Whether it is theirs, or of a bot of theirs. Asked only where it matters.
 */
export async function objectionToDeleting(
  holders: Holders,
  { channel, sentAt }: { readonly channel: Guarded | null; readonly sentAt: Date },
  isOwn: () => boolean | Promise<boolean>,
): Promise<string | undefined> {
  const [self] = holders;
  const mayDelete = (name: 'can_delete_any_message_group' | 'can_delete_own_message_group') =>
    mayInRealm(self, name) || (channel !== null && holdAny(holders, channel, name));
  if (mayDelete('can_delete_any_message_group')) return undefined;
  if (!(await isOwn()) || !mayDelete('can_delete_own_message_group')) {
    return "You don't have permission to delete this message";
  }
  const limit = realmSetting(self.person.realm, 'message_content_delete_limit_seconds');
  return isPast(sentAt, limit, self.now) ? 'The time limit for deleting this message has passed' : undefined;
}

/** The viewer's, or that of a bot of theirs. */
async function isOwn(tx: Tx, viewer: Viewer, { realmId, senderId }: PlacedMessage): Promise<boolean> {
  if (senderId === viewer.id) return true;
  return (await tx.user.count({ where: { realmId, id: senderId, botOwnerId: viewer.id } })) > 0;
}

/** Where and when messages are deleted, and by whom; null when no user does it. */
export interface DeletionPlace {
  readonly realm: Realm;
  readonly now: Date;
  readonly deleter: Viewer | null;
}

/**
 * Deletes messages, wherever they stand, as part of a change, and tells those who could read them, topic by topic. Whether
 * the deleter may is for the caller to know. Of a long list the caller makes batches, each a change of its own.
 *
 * @returns How many there were to delete.
 */
export async function deleteMessages(
  tx: Tx,
  emit: Emit,
  place: DeletionPlace,
  messageIds: readonly number[],
): Promise<number> {
  if (messageIds.length === 0) return 0;
  const locked = await lockToDelete(tx, place.realm.id, messageIds);
  await remove(tx, emit, place, locked);
  return locked.length;
}

async function remove(tx: Tx, emit: Emit, place: DeletionPlace, locked: readonly LockedToDelete[]): Promise<void> {
  for (const messages of Map.groupBy(locked, placeOf).values()) await tell(tx, emit, place, messages);
  const ids = locked.map(({ id }) => id);
  const { realm, now, deleter } = place;
  await tx.$executeRaw`
    INSERT INTO deleted_message (realm_id, id, deleter_id, deleted_at, body)
    SELECT m.realm_id, m.id, ${deleter?.id ?? null}::int, ${now}, to_jsonb(m) FROM message m
    WHERE m.realm_id = ${realm.id} AND m.id = ANY(${ids}::bigint[])`;
  await tx.$executeRaw`DELETE FROM message WHERE realm_id = ${realm.id} AND id = ANY(${ids}::bigint[])`;
}

const placeOf = ({ channel, conversation, topic }: LockedToDelete) =>
  channel === null ? `conversation ${conversation?.id}` : `channel ${channel.id} ${topic}`;

/** Before the rows are deleted, because they say who took the messages up from the channel's history. */
async function tell(tx: Tx, emit: Emit, place: DeletionPlace, messages: readonly LockedToDelete[]): Promise<void> {
  const [first] = messages;
  if (first === undefined) return;
  const { realm, now, deleter } = place;
  const { channel, conversation, topic } = first;
  const ids = messages.map(({ id }) => Number(id));
  const hears = deleter !== null && channel !== null && (await reads(tx, deleter, channel, now));
  for (const hearing of await hearingsOf(tx, realm, { channel, conversation, ids }, hears ? deleter.id : undefined)) {
    const where = channel === null ? null : { channelId: channel.id, topic };
    emit(messagesDeleted({ ids: hearing.ids, place: where, emptyTopicName: emptyTopicName(realm) }), hearing.audience);
  }
}
