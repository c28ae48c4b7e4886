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
import { recipientsOf } from '../audience.ts';
import { type LockedToDelete, lockToDelete } from '../locks.ts';
import { type Holders, holdAny, holdersOf } from '../sending/target.ts';
import { messagesDeleted } from './events.ts';
import { isPast } from './time-limits.ts';
import { removeTraces } from './traces.ts';

/**
 * Deletes a message and notifies the users who could read it. The operator's copy is kept for 30 days.
 *
 * @throws BadRequestError if the viewer cannot read the message, or is not (or no longer) permitted to delete it.
 * @throws BadRequestError if the message is already deleted or in an archived channel.
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

/** Returns whether the id belongs to a deleted message that the viewer could read if it still existed. */
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
 * Returns the reason why a user cannot delete a message that they can read. Undefined if they can delete it.
 *
 * @param isOwn Returns whether the user or one of their bots sent the message. Called only if the result depends on it.
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

/** Returns whether the viewer or one of their bots sent the message. */
async function isOwn(tx: Tx, viewer: Viewer, { realmId, senderId }: PlacedMessage): Promise<boolean> {
  if (senderId === viewer.id) return true;
  return (await tx.user.count({ where: { realmId, id: senderId, botOwnerId: viewer.id } })) > 0;
}

/** Organization, time and acting user of a deletion. `deleter` is null if no user causes it, for example for retention. */
export interface DeletionPlace {
  readonly realm: Realm;
  readonly now: Date;
  readonly deleter: Viewer | null;
  /** Whether the operator's copy, and the content in the event log and in reminders, are kept. Absent: true. */
  readonly keepsCopy?: boolean;
}

/**
 * Deletes messages in any channel or conversation, as part of a change. Users who could read them are notified, with one event
 * or more per topic. The caller checks the deleter's permission, and splits long lists into batches of one transaction each.
 *
 * @returns Number of messages that were deleted.
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
  const { realm, now, deleter, keepsCopy = true } = place;
  if (keepsCopy) {
    await tx.$executeRaw`
    INSERT INTO deleted_message (realm_id, id, deleter_id, deleted_at, body)
    SELECT m.realm_id, m.id, ${deleter?.id ?? null}::int, ${now}, to_jsonb(m) FROM message m
    WHERE m.realm_id = ${realm.id} AND m.id = ANY(${ids}::bigint[])`;
  } else await removeTraces(tx, emit, realm.id, ids);
  await tx.$executeRaw`DELETE FROM message WHERE realm_id = ${realm.id} AND id = ANY(${ids}::bigint[])`;
}

const placeOf = ({ channel, conversation, topic }: LockedToDelete) =>
  channel === null ? `conversation ${conversation?.id}` : `channel ${channel.id} ${topic}`;

/**
 * Emits the events of a deletion within one topic or conversation. Must run before the rows are deleted, because the recipients
 * are computed from them.
 */
async function tell(tx: Tx, emit: Emit, place: DeletionPlace, messages: readonly LockedToDelete[]): Promise<void> {
  const [first] = messages;
  if (first === undefined) return;
  const { realm, now, deleter } = place;
  const { channel, conversation, topic } = first;
  const ids = messages.map(({ id }) => Number(id));
  const deleterReceives = deleter !== null && channel !== null && (await reads(tx, deleter, channel, now));
  for (const group of await recipientsOf(
    tx,
    realm,
    { channel, conversation, ids },
    deleterReceives ? deleter.id : undefined,
  )) {
    const where = channel === null ? null : { channelId: channel.id, topic };
    emit(messagesDeleted({ ids: group.ids, place: where, emptyTopicName: emptyTopicName(realm) }), group.audience);
  }
}
