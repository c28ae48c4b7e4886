import type { ScheduledMessage } from '../../generated/prisma/client.ts';

export interface WireReminder {
  readonly reminder_id: number;
  readonly type: 'private';
  /** The owner's own id. */
  readonly to: readonly number[];
  readonly content: string;
  readonly rendered_content: string;
  /** UNIX seconds. */
  readonly scheduled_delivery_timestamp: number;
  readonly failed: boolean;
  readonly reminder_target_message_id: number;
}

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
