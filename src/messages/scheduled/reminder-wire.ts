import { z } from 'zod';
import type { ScheduledMessage } from '../../generated/prisma/client.ts';
import type { Wire } from '../../platform/wire.ts';

export const wireReminder = z
  .object({
    reminder_id: z.int(),
    type: z.literal('private'),
    to: z.array(z.int()).describe('Id of the owner.'),
    content: z.string(),
    rendered_content: z.string(),
    scheduled_delivery_timestamp: z.int().describe('Delivery time, in UNIX seconds.'),
    failed: z.boolean(),
    reminder_target_message_id: z.int(),
  })
  .meta({ id: 'Reminder' });
export type WireReminder = Wire<typeof wireReminder>;

export function toWire(row: ScheduledMessage): WireReminder {
  return {
    reminder_id: row.id,
    type: 'private',
    to: row.recipientIds,
    content: row.content,
    rendered_content: row.renderedContent,
    scheduled_delivery_timestamp: Math.floor(row.scheduledAt.getTime() / 1000),
    failed: row.state === 'failed',
    reminder_target_message_id: Number(row.reminderTargetId),
  };
}

/** Snapshot of a reminder in an event. Events logged by earlier versions lack the fields that `WireReminder` does not have. */
export interface ReminderSnapshot extends WireReminder {
  /** Time of the delivery, in ISO 8601 with milliseconds. */
  readonly scheduledAt?: string;
  /** Reason why the reminder failed. Null if it did not fail. */
  readonly failureReason?: string | null;
}

export const toSnapshot = (row: ScheduledMessage): ReminderSnapshot => ({
  ...toWire(row),
  scheduledAt: row.scheduledAt.toISOString(),
  failureReason: row.failureMessage,
});

/** Returns a reminder as the REST API shows it, without the fields that only event snapshots contain. */
export const wireOf = ({ scheduledAt: _, failureReason: _reason, ...reminder }: ReminderSnapshot): WireReminder =>
  reminder;
