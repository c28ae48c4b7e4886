import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/builder.ts';
import { pageOf } from '../../api/graphql/connection.ts';
import { fromEvent } from '../../api/graphql/entity-facts.ts';
import { eventType } from '../../api/graphql/event-types.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { byNumber, nodeModel, nodeOf } from '../../api/graphql/node.ts';
import { columnsBy, type OrderBy, orderInput } from '../../api/graphql/order-by.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { MAX_REMINDER_NOTE_LENGTH } from '../../platform/limits.ts';
import { Message } from '../graphql.ts';
import { deliveryFields } from '../scheduled/delivery-fields.ts';
import { factsAbout } from './entity-facts.ts';
import { accessReminder, createReminder, deleteReminder, undelivered, visibleTo } from './service.ts';

export const Reminder = builder.prismaNode('ScheduledMessage', {
  variant: 'Reminder',
  ...byNumber,
  description: 'What the notification bot sends its owner when its time comes.',
  fields: (t) => ({
    ...deliveryFields(t, {
      databaseId: 'The number that the REST API knows it by.',
      content: 'What would be sent now, as Markdown. It quotes the message as it is by then.',
      renderedContent: '`content` as HTML.',
    }),
    message: t.field({
      type: Message,
      nullable: true,
      description: 'The message it reminds of. Null when it is gone, or not for the viewer to read any more.',
      resolve: ({ reminderTargetId: id }, _args, ctx) => nodeOf(ctx, 'Message', id === null ? null : Number(id)),
    }),
  }),
});
nodeModel('Reminder', 'ScheduledMessage', visibleTo);

const ReminderConnection = builder.connectionObject(
  { type: Reminder, name: 'ReminderConnection' },
  { name: 'ReminderEdge' },
);

const ReminderOrder = orderInput<'scheduledAt' | 'id'>('Reminder', 'reminders', {
  SCHEDULED_AT: { value: 'scheduledAt', description: 'When they are to be delivered.' },
  ID: { value: 'id', description: 'The order in which they were made.' },
});

const EARLIEST_FIRST: OrderBy<'scheduledAt' | 'id'> = { field: 'scheduledAt', direction: 'asc' };

builder.queryField('reminders', (t) =>
  t.connection(
    {
      type: Reminder,
      description: "The viewer's reminders that are not delivered.",
      args: {
        orderBy: t.arg({
          type: ReminderOrder,
          required: false,
          defaultValue: EARLIEST_FIRST,
          description: 'How they are sorted.',
        }),
      },
      resolve: (_root, { orderBy, ...args }, ctx, info) => {
        const where = undelivered(signedIn(ctx).viewer);
        const order = columnsBy(orderBy ?? EARLIEST_FIRST);
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

eventType(
  'reminders',
  'add',
  'RemindersAddedEvent',
  (t) => ({
    reminders: t.field({
      type: [Reminder],
      nullable: { list: false, items: true },
      description: 'The new reminders, or those that failed.',
      ...fromEvent(factsAbout),
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
