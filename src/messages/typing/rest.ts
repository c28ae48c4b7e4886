import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { inPath, json, text } from '../../api/rest/params.ts';
import { TYPING_OPS } from './events.ts';
import { setEditTyping, setTyping } from './service.ts';

const op = text(z.enum(TYPING_OPS), { description: 'Whether you started or stopped typing.' });

export const postTyping = endpoint({
  method: 'POST',
  path: '/typing',
  ignoresIdempotencyKey: true,
  auth: 'basic',
  equivalents: ['setTyping'],
  summary: 'Set your typing status',
  params: {
    op,
    type: text(z.enum(['direct', 'private', 'channel', 'stream']), {
      description: 'Type of the message: to users, or to a channel.',
    }).default('direct'),
    to: json(z.array(z.int()), { description: 'User ids. Only for a direct message.', example: '[9]' }).optional(),
    stream_id: json(z.int(), { description: 'Channel id. Only for a channel message.' }).optional(),
    topic: text(z.string(), { description: 'Name of the topic. Only for a channel message.' }).optional(),
  },
  reply: {},
  async handle(ctx, { op, type, to, stream_id, topic }) {
    const isDirect = type === 'direct' || type === 'private';
    const channel = stream_id === undefined ? undefined : { id: stream_id };
    await setTyping(ctx, op, isDirect ? { userIds: to } : { channel, topic });
  },
});

export const postMessageTyping = endpoint({
  method: 'POST',
  path: '/messages/{message_id}/typing',
  ignoresIdempotencyKey: true,
  auth: 'basic',
  equivalents: ['setEditTyping'],
  summary: 'Set your typing status for the edit of a message',
  params: { message_id: inPath(z.int(), { description: 'Id of the message that you are editing.' }), op },
  reply: {},
  async handle(ctx, { message_id, op }) {
    await setEditTyping(ctx, message_id, op);
  },
});
