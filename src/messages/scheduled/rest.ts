import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { inPath, json, text } from '../../api/rest/params.ts';
import { MESSAGE_TYPES } from '../sending/destination.ts';
import { cancelScheduledMessage, listScheduledMessages, scheduleMessage, updateScheduledMessage } from './service.ts';
import { toWire, wireScheduledMessage } from './wire.ts';

const type = text(z.enum(MESSAGE_TYPES), { description: '"private" and "stream" are older words for the others.' });
const to = json(
  // Of whatever form: what is wrong with it is said after the time was looked at, and by the type.
  z.unknown().meta({ anyOf: [{ type: 'integer' }, { type: 'array', items: { type: 'integer' } }] }),
  { description: "A channel's id; or the ids of users.", example: '[1]' },
);
const content = text(z.string(), { description: 'Flavored Markdown. Cut to 10,000 characters.' });
const topic = text(z.string(), { description: 'Of a channel message. Cut to 60 characters.' });
const time = json(z.int(), { description: 'UNIX seconds, in the future.', example: '4102444800' });

export const getScheduledMessages = endpoint({
  method: 'GET',
  path: '/scheduled_messages',
  auth: 'basic',
  twins: ['scheduledMessages'],
  summary: 'List your scheduled messages',
  description: 'Those that are not sent, the earliest first. One that could not be sent stays until you delete it.',
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
  twins: ['scheduleMessage'],
  summary: 'Schedule a message',
  description: 'One that you could send now. Whether you may is asked again when it is sent.',
  params: {
    type,
    to,
    content,
    topic: topic.optional(),
    scheduled_delivery_timestamp: time,
    read_by_sender: json(z.boolean(), {
      description: 'Whether you have read it. Absent: whether an interactive client sends it to somebody else.',
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
  twins: ['updateScheduledMessage'],
  summary: 'Edit a scheduled message',
  description: 'One that could not be sent is to be sent again, at the new time it must be given.',
  params: {
    scheduled_message_id: inPath(z.int(), { description: 'The scheduled message.' }),
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
  twins: ['cancelScheduledMessage'],
  summary: 'Cancel a scheduled message',
  params: { scheduled_message_id: inPath(z.int(), { description: 'The scheduled message.' }) },
  reply: {},
  async handle(ctx, { scheduled_message_id }) {
    await cancelScheduledMessage(ctx, scheduled_message_id);
  },
});
