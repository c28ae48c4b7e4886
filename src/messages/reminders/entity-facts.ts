import { EntityFacts, instantOf } from '../../api/graphql/entity-facts.ts';
import type { ReminderFacts } from './wire.ts';

/** Whether the message is there still, and for them to read, is not known. */
const always = {
  databaseId: (reminder: ReminderFacts) => reminder.reminder_id,
  content: ({ content }: ReminderFacts) => content,
  renderedContent: (reminder: ReminderFacts) => reminder.rendered_content,
  scheduledAt: (reminder: ReminderFacts) => instantOf(reminder.scheduledAt, reminder.scheduled_delivery_timestamp),
  state: ({ failed }: ReminderFacts) => (failed ? 'failed' : 'scheduled'),
};

const identity = { idOf: (reminder: ReminderFacts) => reminder.reminder_id };

const reminderFacts = new EntityFacts<ReminderFacts>('Reminder', identity, {
  ...always,
  failureReason: ({ failureReason }) => failureReason,
});

/** Of events logged before they told why. */
const earlyFacts = new EntityFacts<ReminderFacts>('Reminder', identity, always);

/** What an event knows of the reminders that stand in it. */
export function factsAbout({ facts }: { readonly facts: unknown }): EntityFacts<ReminderFacts> {
  const [reminder] = facts as readonly ReminderFacts[];
  return reminder?.failureReason === undefined ? earlyFacts : reminderFacts;
}
