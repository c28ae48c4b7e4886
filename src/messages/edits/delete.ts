import type { Ctx, Viewer } from '../../access/context.ts';
import { organizationSetting } from '../../access/organization-settings.ts';
import { channelActor, mayInOrganization } from '../../access/permissions/require.ts';
import { type Guarded, hasProtectedHistory, readsChannel } from '../../channels/access.ts';
import { emptyTopicName } from '../../channels/topic-name.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { Channel, Organization } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ConflictError, ForbiddenError } from '../../platform/errors.ts';
import { accessMessageToChange, invalidMessage, isMessageId, type PlacedMessage, receivedBy } from '../access.ts';
import { releaseClaims } from '../attachments/claims.ts';
import { recipientsOf } from '../audience.ts';
import { type LockedToDelete, lockToDelete } from '../locks.ts';
import { type Holders, holdAny, holdersOf } from '../sending/target.ts';
import { messagesDeleted } from './events.ts';
import { isPast } from './time-limits.ts';
import { removeTraces } from './traces.ts';

/**
 * Deletes a message and notifies the users who could read it. The database stores a copy for the operator for 30 days.
 *
 * @throws NotFoundError if the viewer cannot read the message, or if it is in an archived channel.
 * @throws ConflictError if the message is already deleted.
 * @throws ForbiddenError if the viewer is not (or no longer) permitted to delete the message.
 */
export async function deleteMessage(ctx: Ctx, messageId: number): Promise<void> {
  const { app, viewer, organizationId } = ctx;
  await transact(ctx, async (tx, emit) => {
    const now = app.now();
    if (isMessageId(messageId)) {
      if (await couldRead(tx, viewer, messageId, now)) throw alreadyDeleted();
      await requireMayDelete(tx, viewer, await accessMessageToChange(tx, viewer, messageId, now), now);
    }
    const locked = await lockToDelete(tx, organizationId, isMessageId(messageId) ? [messageId] : []);
    if (locked.length === 0) throw isMessageId(messageId) ? alreadyDeleted() : invalidMessage(messageId);
    await requireMayDelete(tx, viewer, await accessMessageToChange(tx, viewer, messageId, now), now);
    await remove(tx, emit, { organization: viewer.organization, now, deleter: viewer }, locked);
    for (const message of locked) await auditDeletion(tx, emit, viewer, message);
  });
}

/** Adds an entry to the audit log, unless the viewer or one of their bots sent the deleted message. */
async function auditDeletion(tx: Tx, emit: Emit, viewer: Viewer, message: LockedToDelete): Promise<void> {
  const { id, senderId, channel } = message;
  if (await isOwn(tx, viewer, { organizationId: viewer.organization.id, senderId })) return;
  const object =
    channel === null
      ? ({ objectType: 'user', objectId: senderId } as const)
      : ({ objectType: 'channel', objectId: channel.id, objectName: channel.name } as const);
  const changes = { ...deletedIds([Number(id)]), sender_id: { old: senderId } };
  emit.audit({ action: 'messages_deleted', ...object, changes });
}

/** Returns the ids and the number of deleted messages, for the audit log. */
export const deletedIds = (ids: readonly number[]) => ({ message_ids: { old: ids }, count: { new: ids.length } });

const alreadyDeleted = (): ConflictError => new ConflictError('Message already deleted', { parameter: 'message_id' });

/** Returns whether the id belongs to a deleted message that the viewer could read if it still existed. */
async function couldRead(tx: Tx, viewer: Viewer, messageId: number, now: Date): Promise<boolean> {
  const [deleted] = await tx.$queryRaw<{ channel_id: number | null; received: boolean }[]>`
    SELECT m.channel_id, ${receivedBy(viewer.organization.id, viewer.id)} AS received
    FROM deleted_message d CROSS JOIN LATERAL jsonb_populate_record(NULL::message, d.body) AS m
    WHERE d.realm_id = ${viewer.organization.id} AND d.id = ${messageId}`;
  if (deleted === undefined) return false;
  if (deleted.channel_id === null) return deleted.received;
  const channel = await tx.channel.findUnique({
    where: { organizationId_id: { organizationId: viewer.organization.id, id: deleted.channel_id } },
  });
  if (channel === null || !(await reads(tx, viewer, channel, now))) return false;
  return !hasProtectedHistory(channel) || deleted.received;
}

async function reads(tx: Tx, viewer: Viewer, channel: Channel, now: Date): Promise<boolean> {
  const subscriptions = await tx.subscription.count({
    where: { organizationId: viewer.organization.id, userId: viewer.id, channelId: channel.id, active: true },
  });
  return readsChannel(await channelActor(tx, viewer, now), channel, subscriptions > 0);
}

async function requireMayDelete(tx: Tx, viewer: Viewer, message: PlacedMessage, now: Date): Promise<void> {
  const holders = await holdersOf(tx, viewer, now);
  const objection = await objectionToDeleting(holders, message, () => isOwn(tx, viewer, message));
  if (objection !== undefined) {
    throw new ForbiddenError(objection.message, { permission: objection.permission, parameter: 'message_id' });
  }
}

/** The permissions to delete messages, of the organization or of the message's channel. */
type DeletePermission = 'can_delete_any_message_group' | 'can_delete_own_message_group';

/** Reason why a user cannot delete a message. */
interface DeletionObjection {
  readonly message: string;
  /** The missing permission. Undefined if the time limit has passed. */
  readonly permission: DeletePermission | undefined;
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
): Promise<DeletionObjection | undefined> {
  const [self] = holders;
  const mayDelete = (name: DeletePermission) =>
    mayInOrganization(self, name) || (channel !== null && holdAny(holders, channel, name));
  if (mayDelete('can_delete_any_message_group')) return undefined;
  const permission = (await isOwn()) ? 'can_delete_own_message_group' : 'can_delete_any_message_group';
  if (permission === 'can_delete_any_message_group' || !mayDelete(permission)) {
    return { message: "You don't have permission to delete this message", permission };
  }
  const limit = organizationSetting(self.person.organization, 'message_content_delete_limit_seconds');
  if (!isPast(sentAt, limit, self.now)) return undefined;
  return { message: 'The time limit for deleting this message has passed', permission: undefined };
}

/** Returns whether the viewer or one of their bots sent the message. */
async function isOwn(
  tx: Tx,
  viewer: Viewer,
  { organizationId, senderId }: Pick<PlacedMessage, 'organizationId' | 'senderId'>,
): Promise<boolean> {
  if (senderId === viewer.id) return true;
  return (await tx.user.count({ where: { organizationId, id: senderId, botOwnerId: viewer.id } })) > 0;
}

/**
 * Organization, time and acting user of a deletion. `deleter` is null if no user caused the deletion, for example for
 * retention.
 */
export interface DeletionPlace {
  readonly organization: Organization;
  readonly now: Date;
  readonly deleter: Viewer | null;
  /**
   * Whether the database stores a copy of the message for the operator, and the content remains in the event log and in
   * reminders. Absent: true.
   */
  readonly keepsCopy?: boolean;
}

/**
 * Deletes messages in any channels and conversations, in the caller's transaction. Notifies the users who could read the
 * messages, with at least one event per topic or conversation. The caller checks the deleter's permission, and splits long
 * lists into batches of one transaction each.
 *
 * @returns Ids of the messages that were deleted, ascending.
 */
export async function deleteMessages(
  tx: Tx,
  emit: Emit,
  place: DeletionPlace,
  messageIds: readonly number[],
): Promise<number[]> {
  if (messageIds.length === 0) return [];
  const locked = await lockToDelete(tx, place.organization.id, messageIds);
  await remove(tx, emit, place, locked);
  return locked.map(({ id }) => Number(id));
}

async function remove(tx: Tx, emit: Emit, place: DeletionPlace, locked: readonly LockedToDelete[]): Promise<void> {
  for (const messages of Map.groupBy(locked, placeOf).values()) await emitDeletions(tx, emit, place, messages);
  const ids = locked.map(({ id }) => id);
  const { organization, now, deleter, keepsCopy = true } = place;
  if (keepsCopy) {
    await tx.$executeRaw`
    INSERT INTO deleted_message (realm_id, id, deleter_id, deleted_at, body)
    SELECT m.realm_id, m.id, ${deleter?.id ?? null}::int, ${now}, to_jsonb(m) FROM message m
    WHERE m.realm_id = ${organization.id} AND m.id = ANY(${ids}::bigint[])`;
  } else await removeTraces(tx, emit, organization.id, ids);
  await releaseClaims(tx, emit, { organizationId: organization.id, now, isErased: !keepsCopy }, ids);
  await tx.$executeRaw`DELETE FROM message WHERE realm_id = ${organization.id} AND id = ANY(${ids}::bigint[])`;
}

const placeOf = ({ channel, conversation, topic }: LockedToDelete) =>
  channel === null ? `conversation ${conversation?.id}` : `channel ${channel.id} ${topic}`;

/**
 * Emits the events for deleted messages of one topic or conversation. Must run before the rows are deleted, because the
 * recipients are computed from the rows.
 */
async function emitDeletions(
  tx: Tx,
  emit: Emit,
  place: DeletionPlace,
  messages: readonly LockedToDelete[],
): Promise<void> {
  const [first] = messages;
  if (first === undefined) return;
  const { organization, now, deleter } = place;
  const { channel, conversation, topic } = first;
  const ids = messages.map(({ id }) => Number(id));
  const deleterReceives = deleter !== null && channel !== null && (await reads(tx, deleter, channel, now));
  for (const group of await recipientsOf(
    tx,
    organization,
    { channel, conversation, ids },
    deleterReceives ? deleter.id : undefined,
  )) {
    const where = channel === null ? null : { channelId: channel.id, topic };
    emit(
      messagesDeleted({
        ...{ ids: group.ids, place: where, conversationId: conversation?.id ?? null },
        emptyTopicName: emptyTopicName(organization),
      }),
      group.audience,
    );
  }
}
