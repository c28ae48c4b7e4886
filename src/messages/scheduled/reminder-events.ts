import { z } from 'zod';
import { defineEvent } from '../../events/define.ts';
import { documentEvent } from '../../events/wire.ts';
import type { ScheduledMessage } from '../../generated/prisma/client.ts';
import { type ReminderSnapshot, toSnapshot, wireOf, wireReminder } from './reminder-wire.ts';

// The events below are sent only to the clients of the reminder's owner.

/** Event after a reminder was created or failed. If it failed, `reminderRemoved` is emitted before it. */
export const reminderAdded = defineEvent(
  'reminders',
  'add',
  (reminder: ScheduledMessage): { readonly reminders: readonly ReminderSnapshot[] } => ({
    reminders: [toSnapshot(reminder)],
  }),
  {
    render: ({ reminders }) => ({ type: 'reminders', op: 'add', reminders: reminders.map(wireOf) }),
    facts: ({ reminders }) => reminders,
  },
);

/** Event after a reminder was deleted or delivered, or failed. */
export const reminderRemoved = defineEvent('reminders', 'remove', (id: number) => ({ reminder_id: id }));

documentEvent(reminderAdded, 'the owner', { reminders: z.array(wireReminder) });
documentEvent(reminderRemoved, 'the owner', { reminder_id: z.int() });
