import { users } from '../../events/audience.ts';
import { eraseLogged, eraseLoggedMessages, ofReminders } from '../../events/erase-logged.ts';
import type { Emit } from '../../events/log.ts';
import type { Tx } from '../../platform/db/client.ts';
import { reminderRemoved } from '../scheduled/reminder-events.ts';

/**
 * Removes data of messages outside of their rows, inside the change that deletes them. This includes the payloads of logged
 * events, and reminders that quote the messages. Owners of reminders that are not delivered are notified.
 *
 * @param ids Ids of messages that are locked and still stored.
 */
export async function removeTraces(tx: Tx, emit: Emit, realmId: number, ids: readonly bigint[]): Promise<void> {
  if (ids.length === 0) return;
  const where = { realmId, id: { in: [...ids] } };
  const sent = await tx.message.findMany({ where, select: { sentEventId: true } });
  const messageIds = ids.map(Number);
  const sentEventIds = sent.map(({ sentEventId }) => sentEventId);
  await eraseLoggedMessages(tx, emit, realmId, messageIds, sentEventIds);
  const quoting = await tx.$queryRaw<{ id: number; owner_id: number; state: string }[]>`
    DELETE FROM scheduled_message
    WHERE realm_id = ${realmId} AND kind = 'reminder' AND reminder_target_id = ANY(${messageIds}::bigint[])
    RETURNING id, owner_id, state`;
  if (quoting.length === 0) return;
  const reminders = quoting.map(({ id, owner_id }) => ({ id, ownerId: owner_id }));
  await eraseLogged(tx, emit, realmId, ofReminders(reminders));
  for (const { id, owner_id, state } of quoting.toSorted((a, b) => a.id - b.id)) {
    if (state !== 'delivered') emit(reminderRemoved(id), users([owner_id]));
  }
}

/** Deletes the operator's copies of deleted messages and erases the logged events of these messages, inside a change. */
export async function eraseCopies(
  tx: Tx,
  emit: Emit,
  realmId: number,
  copies: readonly { readonly id: bigint; readonly sent_event_id: bigint }[],
): Promise<void> {
  if (copies.length === 0) return;
  const ids = copies.map(({ id }) => Number(id));
  const sentEventIds = copies.map(({ sent_event_id }) => sent_event_id);
  await eraseLoggedMessages(tx, emit, realmId, ids, sentEventIds);
  await tx.$executeRaw`DELETE FROM deleted_message WHERE realm_id = ${realmId} AND id = ANY(${ids}::bigint[])`;
}
