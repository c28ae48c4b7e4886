import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { inPath, json, text } from '../../api/rest/params.ts';
import { TYPING_OPS } from './events.ts';
import { setEditTyping, setTyping } from './service.ts';

const op = text(z.enum(TYPING_OPS), { description: 'Whether you begin or stop.' });

export const postTyping = endpoint({
  method: 'POST',
  path: '/typing',
  ignoresIdempotencyKey: true,
  auth: 'basic',
  twins: ['setTyping'],
  summary: 'Tell that you are typing',
  params: {
    op,
    type: text(z.enum(['direct', 'private', 'channel', 'stream']), {
      description: 'To people, or to a channel.',
    }).default('direct'),
    to: json(z.array(z.int()), { description: 'User ids, for a direct message.', example: '[9]' }).optional(),
    stream_id: json(z.int(), { description: 'For a channel message.' }).optional(),
    topic: text(z.string(), { description: 'For a channel message.' }).optional(),
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
  twins: ['setEditTyping'],
  summary: 'Tell that you are editing a message',
  params: { message_id: inPath(z.int(), { description: 'The message that you are editing.' }), op },
  reply: {},
  async handle(ctx, { message_id, op }) {
    await setEditTyping(ctx, message_id, op);
  },
});
