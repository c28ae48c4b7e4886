import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { inPath, json, text } from '../../api/rest/params.ts';
import { createReminder, deleteReminder, listReminders } from './service.ts';
import { toWire, wireReminder } from './wire.ts';

export const getReminders = endpoint({
  method: 'GET',
  path: '/reminders',
  auth: 'basic',
  twins: ['reminders'],
  summary: 'List your reminders',
  description: 'Those that are still to come, the earliest first.',
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
  twins: ['createReminder'],
  summary: 'Have yourself reminded of a message',
  description: 'At the time, the notification bot sends you a link to it, and what it says.',
  params: {
    message_id: json(z.int(), { description: 'Of what to be reminded: a message you may read.', example: '5' }),
    scheduled_delivery_timestamp: json(z.int(), { description: 'UNIX seconds, in the future.', example: '4102444800' }),
    note: text(z.string(), { description: 'Comes with the reminder. At most 500 characters.' }).optional(),
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
  twins: ['deleteReminder'],
  summary: 'Delete a reminder',
  params: { reminder_id: inPath(z.int(), { description: 'The reminder.' }) },
  reply: {},
  async handle(ctx, { reminder_id }) {
    await deleteReminder(ctx, reminder_id);
  },
});
