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
