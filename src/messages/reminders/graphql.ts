import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { pageOf } from '../../api/graphql/schema/connection.ts';
import { EventProjection, instantOf, projectedFromEvent } from '../../api/graphql/schema/event-projections.ts';
import { eventType } from '../../api/graphql/schema/event-types.ts';
import { mutation } from '../../api/graphql/schema/mutation.ts';
import { byNumber, nodeModel, nodeOf } from '../../api/graphql/schema/node.ts';
import { columnsBy, type OrderBy, orderInput } from '../../api/graphql/schema/order-by.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { MAX_REMINDER_NOTE_LENGTH } from '../../platform/limits.ts';
import { Message } from '../graphql.ts';
import { deliveryFields } from '../scheduled/delivery-fields.ts';
import type { ReminderSnapshot } from '../scheduled/reminder-wire.ts';
import { accessReminder, createReminder, deleteReminder, undelivered, visibleTo } from './service.ts';

/**
 * GraphQL fields of a reminder that all reminder events contain. Excludes `message`, because the message may be deleted, or the
 * owner may no longer be able to read it.
 */
const always = {
  databaseId: (reminder: ReminderSnapshot) => reminder.reminder_id,
  content: ({ content }: ReminderSnapshot) => content,
  renderedContent: (reminder: ReminderSnapshot) => reminder.rendered_content,
  scheduledAt: (reminder: ReminderSnapshot) => instantOf(reminder.scheduledAt, reminder.scheduled_delivery_timestamp),
  state: ({ failed }: ReminderSnapshot) => (failed ? 'failed' : 'scheduled'),
};

const identity = { idOf: (reminder: ReminderSnapshot) => reminder.reminder_id };

const reminderProjection = new EventProjection<ReminderSnapshot>('Reminder', identity, {
  ...always,
  failureReason: ({ failureReason }) => failureReason,
});

/**
 * Event projection of a reminder, for events logged by earlier versions: all fields except `failureReason`, which these events
 * do not contain.
 */
const earlyProjection = new EventProjection<ReminderSnapshot>('Reminder', identity, always);

/**
 * Returns the event projection (the fields that an event alone provides) of the reminders in an event: all fields except
 * `message`. Events of earlier versions also lack `failureReason`.
 */
export function projectionOf({ facts }: { readonly facts: unknown }): EventProjection<ReminderSnapshot> {
  const [reminder] = facts as readonly ReminderSnapshot[];
  return reminder?.failureReason === undefined ? earlyProjection : reminderProjection;
}

export const Reminder = builder.prismaNode('ScheduledMessage', {
  variant: 'Reminder',
  ...byNumber,
  description: 'A reminder of a message, which the notification bot sends to the owner at a given time.',
  fields: (t) => ({
    ...deliveryFields(t, {
      databaseId: 'Id in the REST API.',
      content: 'Text of the reminder, as flavored Markdown. On delivery, the quote of the message is updated.',
      renderedContent: '`content` as HTML.',
    }),
    message: t.field({
      type: Message,
      nullable: true,
      description: 'Message of the reminder. Null if it no longer exists or the viewer can no longer read it.',
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
  SCHEDULED_AT: { value: 'scheduledAt', description: 'Delivery time.' },
  ID: { value: 'id', description: 'Order of creation.' },
});

const EARLIEST_FIRST: OrderBy<'scheduledAt' | 'id'> = { field: 'scheduledAt', direction: 'asc' };

builder.queryField('reminders', (t) =>
  t.connection(
    {
      type: Reminder,
      description: "The viewer's reminders that are scheduled or failed.",
      args: {
        orderBy: t.arg({
          type: ReminderOrder,
          required: false,
          defaultValue: EARLIEST_FIRST,
          description: 'Sort order.',
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
  description:
    'Creates a reminder of a message: the notification bot sends the viewer a link to the message and a quote of it.',
  input: (t) => ({
    messageId: t.id({
      ...refersTo('Message'),
      description: 'Id of a message that the viewer can read.',
    }),
    scheduledAt: t.field({ type: 'DateTime', description: 'Delivery time. Must be in the future.' }),
    note: t.string({
      required: false,
      description: `Text that is sent with the reminder. At most ${MAX_REMINDER_NOTE_LENGTH} characters.`,
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
    reminderId: t.id({ ...refersTo('Reminder'), description: "Id of one of the viewer's reminders." }),
  }),
  payload: () => ({ reminderId: { type: 'ID', refersTo: 'Reminder', description: 'Id of the deleted reminder.' } }),
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
      description: 'The created reminders, or the failed ones.',
      ...projectedFromEvent(projectionOf),
    }),
  }),
  {
    description: 'The user created a reminder, or a reminder failed. A failed reminder is removed and added again.',
    outdates: ['reminders'],
  },
);

eventType<{ reminder_id: number }>(
  'reminders',
  'remove',
  'ReminderRemovedEvent',
  (t) => ({
    reminderId: t.id({
      ...refersTo('Reminder'),
      description: 'Id of the removed reminder.',
      resolve: ({ event }) => event.reminder_id,
    }),
  }),
  { description: 'A reminder was delivered, failed or was deleted.', outdates: ['reminders'] },
);
