import { EventProjection, instantOf } from '../../api/graphql/schema/event-projections.ts';
import type { ReminderSnapshot } from '../scheduled/reminder-wire.ts';

/**
 * GraphQL fields that the events of all reminders contain. Excludes the message: it may be deleted, or no longer readable for
 * the owner.
 */
const always = {
  databaseId: (reminder: ReminderSnapshot) => reminder.reminder_id,
  content: ({ content }: ReminderSnapshot) => content,
  renderedContent: (reminder: ReminderSnapshot) => reminder.rendered_content,
  scheduledAt: (reminder: ReminderSnapshot) => instantOf(reminder.scheduledAt, reminder.scheduled_delivery_timestamp),
  state: ({ failed }: ReminderSnapshot) => (failed ? 'failed' : 'scheduled'),
};

const identity = { idOf: (reminder: ReminderSnapshot) => reminder.reminder_id };

const reminderFacts = new EventProjection<ReminderSnapshot>('Reminder', identity, {
  ...always,
  failureReason: ({ failureReason }) => failureReason,
});

/** Event projection for events logged by earlier versions, which did not contain the reason of a failure. */
const earlyFacts = new EventProjection<ReminderSnapshot>('Reminder', identity, always);

/** Returns the event projection of the reminders in an event, depending on the version that logged the event. */
export function projectionOf({ facts }: { readonly facts: unknown }): EventProjection<ReminderSnapshot> {
  const [reminder] = facts as readonly ReminderSnapshot[];
  return reminder?.failureReason === undefined ? earlyFacts : reminderFacts;
}
