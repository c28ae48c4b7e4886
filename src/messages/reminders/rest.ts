import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { inPath, json, text } from '../../api/rest/params.ts';
import { toWire, wireReminder } from '../scheduled/reminder-wire.ts';
import { createReminder, deleteReminder, listReminders } from './service.ts';

export const getReminders = endpoint({
  method: 'GET',
  path: '/reminders',
  auth: 'basic',
  equivalents: ['reminders'],
  summary: 'List your reminders',
  description: 'Lists scheduled and failed reminders, earliest first.',
  params: {},
  reply: { reminders: z.array(wireReminder) },
  async handle(ctx) {
    return { reminders: (await listReminders(ctx)).map(toWire) };
  },
});

export const postReminder = endpoint({
  method: 'POST',
  path: '/reminders',
  auth: 'basic',
  equivalents: ['createReminder'],
  summary: 'Create a reminder of a message',
  description: 'At the given time, the notification bot sends you a link to the message and a quote of it.',
  params: {
    message_id: json(z.int(), { description: 'Id of a message that you can read.', example: '5' }),
    scheduled_delivery_timestamp: json(z.int(), {
      description: 'Delivery time, in UNIX seconds. Must be in the future.',
      example: '4102444800',
    }),
    note: text(z.string(), { description: 'Text that is sent with the reminder. At most 500 characters.' }).optional(),
  },
  reply: { reminder_id: z.int() },
  async handle(ctx, { message_id: messageId, scheduled_delivery_timestamp: timestamp, note }) {
    return { reminder_id: await createReminder(ctx, { messageId, timestamp, note }) };
  },
});

export const deleteReminderEndpoint = endpoint({
  method: 'DELETE',
  path: '/reminders/{reminder_id}',
  auth: 'basic',
  equivalents: ['deleteReminder'],
  summary: 'Delete a reminder',
  params: { reminder_id: inPath(z.int(), { description: 'Reminder id.' }) },
  reply: {},
  async handle(ctx, { reminder_id }) {
    await deleteReminder(ctx, reminder_id);
  },
});
