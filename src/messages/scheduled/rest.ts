import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { inPath, json, text } from '../../api/rest/params.ts';
import { MESSAGE_TYPES } from '../sending/destination.ts';
import { cancelScheduledMessage, listScheduledMessages, scheduleMessage, updateScheduledMessage } from './service.ts';
import { toWire, wireScheduledMessage } from './wire.ts';

const type = text(z.enum(MESSAGE_TYPES), {
  description: '"private" is an alias of "direct", and "stream" of "channel".',
});
const to = json(
  // The schema accepts any value. The service checks the value, depending on the message type. It checks the delivery time
  // first.
  z.unknown().meta({ anyOf: [{ type: 'integer' }, { type: 'array', items: { type: 'integer' } }] }),
  { description: 'A channel id, or an array of user ids.', example: '[1]' },
);
const content = text(z.string(), { description: 'Flavored Markdown. Truncated to 10,000 characters.' });
const topic = text(z.string(), { description: 'Topic of a channel message. Truncated to 60 characters.' });
const time = json(z.int(), {
  description: 'Delivery time, in UNIX seconds. Must be in the future.',
  example: '4102444800',
});

export const getScheduledMessages = endpoint({
  method: 'GET',
  path: '/scheduled_messages',
  auth: 'basic',
  equivalents: ['scheduledMessages'],
  summary: 'List your scheduled messages',
  description: 'Lists messages that have not been sent, earliest first. Failed messages remain until you delete them.',
  params: {},
  reply: { scheduled_messages: z.array(wireScheduledMessage) },
  async handle(ctx) {
    return { scheduled_messages: (await listScheduledMessages(ctx)).map(toWire) };
  },
});

export const postScheduledMessage = endpoint({
  method: 'POST',
  path: '/scheduled_messages',
  auth: 'basic',
  equivalents: ['scheduleMessage'],
  summary: 'Schedule a message',
  description: 'You must be permitted to send the message, now and at the delivery time.',
  params: {
    type,
    to,
    content,
    topic: topic.optional(),
    scheduled_delivery_timestamp: time,
    read_by_sender: json(z.boolean(), {
      description:
        'Whether the sent message is marked as read for you. Absent: true if the message has other recipients and the ' +
        'request comes from a web, desktop, mobile or terminal client. Clients are recognized by their name, in general ' +
        'the start of the User-Agent.',
    }).optional(),
  },
  reply: { scheduled_message_id: z.int() },
  async handle(ctx, { type, to, scheduled_delivery_timestamp: timestamp, read_by_sender: readBySender, ...message }) {
    const destination = { type, sent: to };
    const id = await scheduleMessage(ctx, { ...message, to: destination, timestamp, readBySender });
    return { scheduled_message_id: id };
  },
});

export const patchScheduledMessage = endpoint({
  method: 'PATCH',
  path: '/scheduled_messages/{scheduled_message_id}',
  auth: 'basic',
  equivalents: ['updateScheduledMessage'],
  summary: 'Edit a scheduled message',
  description: 'A failed message is scheduled again and requires a new delivery time.',
  params: {
    scheduled_message_id: inPath(z.int(), { description: 'Id of the scheduled message.' }),
    type: type.optional(),
    to: to.optional(),
    content: content.optional(),
    topic: topic.optional(),
    scheduled_delivery_timestamp: time.optional(),
  },
  reply: {},
  async handle(ctx, { scheduled_message_id, type, to, scheduled_delivery_timestamp: timestamp, ...edit }) {
    const isMoved = type !== undefined || to !== undefined;
    await updateScheduledMessage(ctx, scheduled_message_id, {
      ...edit,
      ...(isMoved && { to: { type, sent: to } }),
      ...(timestamp !== undefined && { timestamp }),
    });
  },
});

export const deleteScheduledMessage = endpoint({
  method: 'DELETE',
  path: '/scheduled_messages/{scheduled_message_id}',
  auth: 'basic',
  equivalents: ['cancelScheduledMessage'],
  summary: 'Cancel a scheduled message',
  params: { scheduled_message_id: inPath(z.int(), { description: 'Id of the scheduled message.' }) },
  reply: {},
  async handle(ctx, { scheduled_message_id }) {
    await cancelScheduledMessage(ctx, scheduled_message_id);
  },
});
