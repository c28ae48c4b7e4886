import { z } from 'zod';
import { defineEvent } from '../../events/define.ts';
import { tells } from '../../events/wire.ts';
import type { ScheduledMessage } from '../../generated/prisma/client.ts';
import { type ReminderFacts, toFacts, wireOf, wireReminder } from './wire.ts';

// To the owner's own clients only.

/** Asked for; or, after it was removed, failed. */
export const reminderAdded = defineEvent(
  'reminders',
  'add',
  (reminder: ScheduledMessage): { readonly reminders: readonly ReminderFacts[] } => ({
    reminders: [toFacts(reminder)],
  }),
  {
    render: ({ reminders }) => ({ type: 'reminders', op: 'add', reminders: reminders.map(wireOf) }),
    facts: ({ reminders }) => reminders,
  },
);

/** Deleted, delivered or failed. */
export const reminderRemoved = defineEvent('reminders', 'remove', (id: number) => ({ reminder_id: id }));

tells(reminderAdded, 'its owner', { reminders: z.array(wireReminder) });
tells(reminderRemoved, 'its owner', { reminder_id: z.int() });
