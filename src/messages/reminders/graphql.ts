import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/builder.ts';
import { pageOf } from '../../api/graphql/connection.ts';
import { eventType } from '../../api/graphql/event-types.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { nodeModel } from '../../api/graphql/node.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { fromUnix } from '../../api/graphql/scalars.ts';
import { DeliveryState, type State } from '../scheduled/graphql.ts';
import { accessReminder, createReminder, deleteReminder, undelivered, visibleTo } from './service.ts';
import type { WireReminder } from './wire.ts';

const TARGET = 'Of the message it is a reminder of.';

export const Reminder = builder.prismaNode('ScheduledMessage', {
  variant: 'Reminder',
  id: { field: 'id' },
  description: 'What the notification bot sends its owner when its time comes.',
  fields: (t) => ({
    databaseId: t.exposeInt('id', { description: 'The id REST uses.' }),
    messageId: t.id({
      ...refersTo('Message'),
      description: TARGET,
      resolve: ({ reminderTargetId }) => Number(reminderTargetId),
    }),
    content: t.exposeString('content', { description: 'As of now. It quotes the message as it is by then.' }),
    renderedContent: t.exposeString('renderedContent', { description: 'HTML.' }),
    scheduledAt: t.expose('scheduledAt', { type: 'DateTime' }),
    state: t.field({ type: DeliveryState, resolve: ({ state }) => state as State }),
    failureReason: t.exposeString('failureMessage', { nullable: true, description: 'Why it could not be delivered.' }),
  }),
});
nodeModel('Reminder', 'ScheduledMessage', visibleTo);

const ReminderConnection = builder.connectionObject(
  { type: Reminder, name: 'ReminderConnection' },
  { name: 'ReminderEdge' },
);

builder.queryField('reminders', (t) =>
  t.connection(
    {
      type: Reminder,
      description: "The viewer's reminders that are not delivered, the earliest first.",
      resolve: (_root, args, ctx, info) => {
        const where = undelivered(signedIn(ctx).viewer);
        const order = { scheduledAt: 'asc', id: 'asc' } as const;
        return pageOf('ScheduledMessage', { where, order, args, ctx, info, typeName: 'Reminder' });
      },
    },
    ReminderConnection,
  ),
);

mutation('createReminder', {
  description: 'Has the viewer reminded of a message: the notification bot sends a link to it, and what it says.',
  input: (t) => ({
    messageId: t.id(refersTo('Message')),
    scheduledAt: t.field({ type: 'DateTime', description: 'In the future.' }),
    note: t.string({ required: false, description: 'Comes with the reminder. At most 500 characters.' }),
  }),
  payload: () => ({ reminder: { type: Reminder } }),
  resolve: async (ctx, { messageId, scheduledAt, note }) => {
    const timestamp = scheduledAt.getTime() / 1000;
    const id = await createReminder(ctx, { messageId, timestamp, ...(note != null && { note }) });
    return { reminder: await accessReminder(ctx, id) };
  },
});

mutation('deleteReminder', {
  description: 'Deletes a reminder.',
  input: (t) => ({ reminderId: t.id(refersTo('Reminder')) }),
  payload: () => ({ reminderId: { type: 'ID', refersTo: 'Reminder', description: 'Of the reminder that is gone.' } }),
  resolve: async (ctx, { reminderId }) => {
    await deleteReminder(ctx, reminderId);
    return { reminderId };
  },
});

const ReminderValue = builder.objectRef<WireReminder>('ReminderValue').implement({
  description: 'A reminder as it was when the event happened.',
  fields: (t) => ({
    id: t.expose('reminder_id', { type: 'ID', ...refersTo('Reminder'), description: 'The `id` of the Reminder.' }),
    databaseId: t.exposeInt('reminder_id', { description: 'The id REST uses.' }),
    messageId: t.expose('reminder_target_message_id', { type: 'ID', ...refersTo('Message'), description: TARGET }),
    content: t.exposeString('content'),
    renderedContent: t.exposeString('rendered_content'),
    scheduledAt: t.field({ type: 'DateTime', resolve: (reminder) => fromUnix(reminder.scheduled_delivery_timestamp) }),
    failed: t.exposeBoolean('failed'),
  }),
});

eventType<{ reminders: readonly WireReminder[] }>(
  'reminders',
  'add',
  'RemindersAddedEvent',
  (t) => ({ reminders: t.field({ type: [ReminderValue], resolve: ({ event }) => event.reminders }) }),
  { description: 'The user asked to be reminded; or, right after it was removed, a reminder failed.' },
);

eventType<{ reminder_id: number }>(
  'reminders',
  'remove',
  'ReminderRemovedEvent',
  (t) => ({ reminderId: t.id({ ...refersTo('Reminder'), resolve: ({ event }) => event.reminder_id }) }),
  { description: 'A reminder was delivered, or the user deleted it.' },
);
