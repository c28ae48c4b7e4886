import { Prisma } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
import { noRecipients } from './audience.ts';
import { defineEvent, eventsWithEffects } from './define.ts';
import type { Emit } from './log.ts';

/**
 * Payloads of some events up to this id were erased or changed in the transaction that logs this event. Every node that takes
 * this event into its log tail drops its copies of the events up to that id. It reads the table if a client requests them. No
 * client receives this event.
 */
export const logErased = defineEvent('internal', 'log_erased', (through: number) => ({ through }), {
  render: () => null,
  effect: ({ through }) => ({ kind: 'erased', through }),
});

/**
 * Empties the payloads of logged events and gives them no recipients, so that the log no longer holds their data. The rows
 * stay: ids remain without a gap. Queues that have not read the events never receive them. Events with side effects, which
 * determine the recipients of other events, are not changed. Nodes drop the copies that they hold in memory.
 *
 * @param which Condition on the columns of `event`.
 */
export async function eraseLogged(tx: Tx, emit: Emit, realmId: number, which: Prisma.Sql): Promise<void> {
  const kept = eventsWithEffects().map(({ type, op }) => `${type}/${op ?? ''}`);
  await changeLogged(
    tx,
    emit,
    Prisma.sql`
    UPDATE event SET payload = '{}', max_role = NULL, channel_ids = '{}', user_ids = '{}', except_user_ids = '{}',
      public_channel_id = NULL
    WHERE realm_id = ${realmId} AND (${which}) AND payload <> '{}'
      AND type || '/' || COALESCE(op, '') <> ALL(${kept}::text[])`,
  );
}

/** Runs an UPDATE of logged events. If it changes any, nodes drop the copies that they hold in memory. */
async function changeLogged(tx: Tx, emit: Emit, update: Prisma.Sql): Promise<void> {
  const [row] = await tx.$queryRaw<{ through: bigint | null }[]>`
    WITH changed AS (${update} RETURNING id) SELECT max(id) AS through FROM changed`;
  if (row?.through != null) emit(logErased(Number(row.through)), noRecipients());
}

/**
 * Erases the text of messages from logged events. If an event also moves other messages, the move stays in the event, because
 * queues still need it.
 *
 * @param sentEventIds Ids of the events that were logged when the messages were sent.
 */
export async function eraseLoggedMessages(
  tx: Tx,
  emit: Emit,
  realmId: number,
  ids: readonly number[],
  sentEventIds: readonly bigint[],
): Promise<void> {
  const ofEdits = Prisma.sql`type = 'update_message' AND (payload->>'id')::bigint = ANY(${[...ids]}::bigint[])`;
  await eraseLogged(
    tx,
    emit,
    realmId,
    Prisma.sql`(type = 'message' AND id = ANY(${[...sentEventIds]}::bigint[]))
      OR (${ofEdits} AND jsonb_array_length(payload->'ids') = 1)`,
  );
  await changeLogged(
    tx,
    emit,
    Prisma.sql`
    UPDATE event SET payload = jsonb_set(payload, '{content}', 'null')
    WHERE realm_id = ${realmId} AND ${ofEdits} AND jsonb_typeof(payload->'content') = 'object'`,
  );
}

// Both conditions below compare the first id in `user_ids`, so that the index `event_by_user_1` returns only the events of
// these users: 50 of 1,000,000 events in 3 ms. A transaction that deletes a user or messages can therefore erase all their
// events without batches.

/** Returns the condition of `eraseLogged` for the events that hold the text of reminders. */
export const ofReminders = (reminders: readonly { readonly id: number; readonly ownerId: number }[]): Prisma.Sql =>
  Prisma.sql`type = 'reminders' AND op = 'add' AND user_ids[1] = ANY(${reminders.map(({ ownerId }) => ownerId)}::int[])
    AND (payload->'reminders'->0->>'reminder_id')::int = ANY(${reminders.map(({ id }) => id)}::int[])`;

/** Returns the condition of `eraseLogged` for the events that only this user receives. */
export const onlyFor = (userId: number): Prisma.Sql =>
  Prisma.sql`user_ids[1] = ${userId} AND cardinality(user_ids) = 1 AND max_role IS NULL AND channel_ids = '{}'`;
