import { z } from 'zod';
import type { ScheduledMessage } from '../../generated/prisma/client.ts';
import type { Wire } from '../../platform/wire.ts';

export const wireReminder = z
  .object({
    reminder_id: z.int(),
    type: z.literal('private'),
    to: z.array(z.int()).describe("The owner's own id."),
    content: z.string(),
    rendered_content: z.string(),
    scheduled_delivery_timestamp: z.int().describe('UNIX seconds.'),
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

/** A reminder as its events keep it. All is absent in events logged before they told it. */
export interface ReminderFacts extends WireReminder {
  /** ISO 8601, to the millisecond. */
  readonly scheduledAt?: string;
  /** Null unless it failed. */
  readonly failureReason?: string | null;
}

export const toFacts = (row: ScheduledMessage): ReminderFacts => ({
  ...toWire(row),
  scheduledAt: row.scheduledAt.toISOString(),
  failureReason: row.failureMessage,
});

/** What the wire has of a reminder. */
export const wireOf = ({ scheduledAt: _, failureReason: _reason, ...reminder }: ReminderFacts): WireReminder =>
  reminder;
