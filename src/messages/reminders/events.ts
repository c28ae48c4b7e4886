import { defineEvent } from '../../events/define.ts';
import type { ScheduledMessage } from '../../generated/prisma/client.ts';
import { toWire } from './wire.ts';

// To the owner's own clients only.

/** Asked for; or, after it was removed, failed. */
export const reminderAdded = defineEvent('reminders', 'add', (reminder: ScheduledMessage) => ({
  reminders: [toWire(reminder)],
}));

/** Deleted, delivered or failed. */
export const reminderRemoved = defineEvent('reminders', 'remove', (id: number) => ({ reminder_id: id }));
