import { Prisma } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
import { noRecipients } from './audience.ts';
import { defineEvent, eventsWithEffects } from './define.ts';
import type { Emit } from './log.ts';

/**
 * Event that notifies all nodes that its transaction has erased or changed payloads of logged events. `through` is the highest
 * id of these events. A node that adds this event to its log tail drops its copies of all events up to `through`. If a client
 * requests such an event, the node reads the table. No client receives this event.
 */
export const logErased = defineEvent('internal', 'log_erased', (through: number) => ({ through }), {
  render: () => null,
  effect: ({ through }) => ({ kind: 'erased', through }),
});

/**
 * Empties the payloads of logged events and gives them no recipients, so that the log no longer holds their data. The rows
 * stay, so that the ids have no gap. Queues that have not read the events never receive them. Events with side effects, which
 * determine the recipients of other events, are not changed. Nodes drop the copies that they hold in memory.
 *
 * @param which Condition on the columns of the table `event`, which selects the events to erase.
 */
export async function eraseLogged(tx: Tx, emit: Emit, organizationId: number, which: Prisma.Sql): Promise<void> {
  const kept = eventsWithEffects().map(({ type, op }) => `${type}/${op ?? ''}`);
  await changeLogged(
    tx,
    emit,
    Prisma.sql`
    UPDATE event SET payload = '{}', max_role = NULL, channel_ids = '{}', user_ids = '{}', except_user_ids = '{}',
      public_channel_id = NULL
    WHERE realm_id = ${organizationId} AND (${which}) AND payload <> '{}'
      AND type || '/' || COALESCE(op, '') <> ALL(${kept}::text[])`,
  );
}

/** Runs an UPDATE of logged events. If this changes any event, nodes drop the copies of events that they hold in memory. */
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
  organizationId: number,
  ids: readonly number[],
  sentEventIds: readonly bigint[],
): Promise<void> {
  const ofEdits = Prisma.sql`type = 'update_message' AND (payload->>'id')::bigint = ANY(${[...ids]}::bigint[])`;
  await eraseLogged(
    tx,
    emit,
    organizationId,
    Prisma.sql`(type = 'message' AND id = ANY(${[...sentEventIds]}::bigint[]))
      OR (${ofEdits} AND jsonb_array_length(payload->'ids') = 1)`,
  );
  await changeLogged(
    tx,
    emit,
    Prisma.sql`
    UPDATE event SET payload = jsonb_set(payload, '{content}', 'null')
    WHERE realm_id = ${organizationId} AND ${ofEdits} AND jsonb_typeof(payload->'content') = 'object'`,
  );
}

// The conditions of `ofReminders`, `ofScheduledMessages` and `onlyFor` compare the first id in `user_ids`, so that the index
// `event_by_user_1` returns only the events of these users. Finding 50 of 1,000,000 events takes 3 ms. A transaction that
// deletes a user or messages can therefore erase all their events without batches.

/** A scheduled message or reminder, with its owner. */
interface Owned {
  readonly id: number;
  readonly ownerId: number;
}

/** Returns the condition of `eraseLogged` for the events that hold the text of reminders. */
export const ofReminders = (reminders: readonly Owned[]): Prisma.Sql =>
  Prisma.sql`type = 'reminders' AND op = 'add' AND user_ids[1] = ANY(${reminders.map(({ ownerId }) => ownerId)}::int[])
    AND (payload->'reminders'->0->>'reminder_id')::int = ANY(${reminders.map(({ id }) => id)}::int[])`;

/** Returns the condition of `eraseLogged` for the events that hold the text of scheduled messages. */
export const ofScheduledMessages = (messages: readonly Owned[]): Prisma.Sql =>
  Prisma.sql`type = 'scheduled_messages' AND user_ids[1] = ANY(${messages.map(({ ownerId }) => ownerId)}::int[])
    AND (COALESCE(payload->'scheduled_messages'->0, payload->'scheduled_message')->>'scheduled_message_id')::int
      = ANY(${messages.map(({ id }) => id)}::int[])`;

/** Returns the condition of `eraseLogged` for the events that only this user receives. */
export const onlyFor = (userId: number): Prisma.Sql =>
  Prisma.sql`user_ids[1] = ${userId} AND cardinality(user_ids) = 1 AND max_role IS NULL AND channel_ids = '{}'`;
