import { users } from '../../events/audience.ts';
import { eraseLogged, eraseLoggedMessages, ofReminders, ofScheduledMessages } from '../../events/erase-logged.ts';
import type { Emit } from '../../events/log.ts';
import type { Tx } from '../../platform/db/client.ts';
import { reminderRemoved } from '../scheduled/reminder-events.ts';

/**
 * Removes data about messages from other tables, in the transaction that deletes these messages: payloads of logged events, and
 * the scheduled messages and reminders that `removeScheduled` deletes.
 *
 * @param ids Ids of messages that are locked and still stored.
 */
export async function removeTraces(tx: Tx, emit: Emit, organizationId: number, ids: readonly bigint[]): Promise<void> {
  if (ids.length === 0) return;
  const where = { organizationId, id: { in: [...ids] } };
  const sent = await tx.message.findMany({ where, select: { sentEventId: true } });
  const messageIds = ids.map(Number);
  const sentEventIds = sent.map(({ sentEventId }) => sentEventId);
  await eraseLoggedMessages(tx, emit, organizationId, messageIds, sentEventIds);
  await removeScheduled(tx, emit, organizationId, messageIds);
}

/**
 * Deletes reminders that quote the given messages, and the scheduled messages and reminders that were delivered as one of them.
 * Erases their logged events. Owners of undelivered reminders are notified.
 */
async function removeScheduled(
  tx: Tx,
  emit: Emit,
  organizationId: number,
  messageIds: readonly number[],
): Promise<void> {
  const ids = [...messageIds];
  const removed = await tx.$queryRaw<{ id: number; owner_id: number; kind: 'message' | 'reminder'; state: string }[]>`
    DELETE FROM scheduled_message
    WHERE realm_id = ${organizationId}
      AND (reminder_target_id = ANY(${ids}::bigint[]) OR delivered_message_id = ANY(${ids}::bigint[]))
    RETURNING id, owner_id, kind, state`;
  if (removed.length === 0) return;
  const ofKind = (wanted: 'message' | 'reminder') =>
    removed.filter(({ kind }) => kind === wanted).map(({ id, owner_id }) => ({ id, ownerId: owner_id }));
  await eraseLogged(tx, emit, organizationId, ofReminders(ofKind('reminder')));
  await eraseLogged(tx, emit, organizationId, ofScheduledMessages(ofKind('message')));
  for (const { id, owner_id, kind, state } of removed.toSorted((a, b) => a.id - b.id)) {
    if (kind === 'reminder' && state !== 'delivered') emit(reminderRemoved(id), users([owner_id]));
  }
}

/**
 * Deletes the operator's copies of deleted messages, with the scheduled messages and reminders of `removeScheduled`, and erases
 * the logged events of these messages, in the caller's transaction.
 */
export async function eraseCopies(
  tx: Tx,
  emit: Emit,
  organizationId: number,
  copies: readonly { readonly id: bigint; readonly sent_event_id: bigint }[],
): Promise<void> {
  if (copies.length === 0) return;
  const ids = copies.map(({ id }) => Number(id));
  const sentEventIds = copies.map(({ sent_event_id }) => sent_event_id);
  await eraseLoggedMessages(tx, emit, organizationId, ids, sentEventIds);
  await removeScheduled(tx, emit, organizationId, ids);
  await tx.$executeRaw`DELETE FROM deleted_message WHERE realm_id = ${organizationId} AND id = ANY(${ids}::bigint[])`;
}
