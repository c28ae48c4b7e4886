import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/builder.ts';
import { pageOf } from '../../api/graphql/connection.ts';
import { eventType } from '../../api/graphql/event-types.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { nodeModel, nodeOf } from '../../api/graphql/node.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { fromUnix } from '../../api/graphql/scalars.ts';
import { MAX_REMINDER_NOTE_LENGTH } from '../../platform/limits.ts';
import { Message } from '../graphql.ts';
import { DeliveryState, type State } from '../scheduled/graphql.ts';
import { accessReminder, createReminder, deleteReminder, undelivered, visibleTo } from './service.ts';
import type { WireReminder } from './wire.ts';

const TARGET = 'The message it reminds of.';
const DUE = 'When it is to be sent.';

export const Reminder = builder.prismaNode('ScheduledMessage', {
  variant: 'Reminder',
  id: { field: 'id' },
  description: 'What the notification bot sends its owner when its time comes.',
  fields: (t) => ({
    databaseId: t.exposeInt('id', { description: 'The number that the REST API knows it by.' }),
    message: t.field({
      type: Message,
      nullable: true,
      description: `${TARGET} Null when it is gone, or not for the viewer to read any more.`,
      resolve: ({ reminderTargetId: id }, _args, ctx) => nodeOf(ctx, 'Message', id === null ? null : Number(id)),
    }),
    content: t.exposeString('content', {
      description: 'What would be sent now, as Markdown. It quotes the message as it is by then.',
    }),
    renderedContent: t.exposeString('renderedContent', { description: '`content` as HTML.' }),
    scheduledAt: t.expose('scheduledAt', { type: 'DateTime', description: DUE }),
    state: t.field({
      type: DeliveryState,
      description: 'Whether it was sent.',
      resolve: ({ state }) => state as State,
    }),
    failureReason: t.exposeString('failureMessage', {
      nullable: true,
      description: 'Why it could not be delivered; null unless it failed.',
    }),
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
    messageId: t.id({
      ...refersTo('Message'),
      description: 'The message to be reminded of, which the viewer can read.',
    }),
    scheduledAt: t.field({ type: 'DateTime', description: 'When it is to be sent: in the future.' }),
    note: t.string({
      required: false,
      description: `Comes with the reminder: at most ${MAX_REMINDER_NOTE_LENGTH} characters.`,
    }),
  }),
  payload: () => ({ reminder: { type: Reminder, description: 'The new reminder.' } }),
  resolve: async (ctx, { messageId, scheduledAt, note }) => {
    const timestamp = scheduledAt.getTime() / 1000;
    const id = await createReminder(ctx, { messageId, timestamp, ...(note != null && { note }) });
    return { reminder: await accessReminder(ctx, id) };
  },
});

mutation('deleteReminder', {
  description: 'Deletes a reminder.',
  input: (t) => ({
    reminderId: t.id({ ...refersTo('Reminder'), description: "One of the viewer's reminders." }),
  }),
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
    databaseId: t.exposeInt('reminder_id', { description: 'The number that the REST API knows it by.' }),
    messageId: t.expose('reminder_target_message_id', { type: 'ID', ...refersTo('Message'), description: TARGET }),
    content: t.exposeString('content', { description: 'What it says, as Markdown.' }),
    renderedContent: t.exposeString('rendered_content', { description: '`content` as HTML.' }),
    scheduledAt: t.field({
      type: 'DateTime',
      description: DUE,
      resolve: (reminder) => fromUnix(reminder.scheduled_delivery_timestamp),
    }),
    failed: t.exposeBoolean('failed', { description: 'Whether it could not be delivered, and is not tried again.' }),
  }),
});

eventType<{ reminders: readonly WireReminder[] }>(
  'reminders',
  'add',
  'RemindersAddedEvent',
  (t) => ({
    reminders: t.field({
      type: [ReminderValue],
      description: 'The new reminders, or those that failed.',
      resolve: ({ event }) => event.reminders,
    }),
  }),
  { description: 'The user asked to be reminded; or, right after it was removed, a reminder failed.' },
);

eventType<{ reminder_id: number }>(
  'reminders',
  'remove',
  'ReminderRemovedEvent',
  (t) => ({
    reminderId: t.id({
      ...refersTo('Reminder'),
      description: 'The reminder that is gone.',
      resolve: ({ event }) => event.reminder_id,
    }),
  }),
  { description: 'A reminder was delivered, or the user deleted it.' },
);
