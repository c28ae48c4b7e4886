import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { json, text } from '../../api/rest/params.ts';
import { channelIdOf } from '../../channels/reads.ts';
import { RequestVariableMissingError, UnsupportedParametersError } from '../../platform/errors.ts';
import { setTopicVisibility } from './service.ts';

export const postUserTopics = endpoint({
  method: 'POST',
  path: '/user_topics',
  auth: 'basic',
  twins: ['setTopicVisibility'],
  summary: 'Mute, unmute or follow a topic',
  description: 'The topic need hold no message.',
  params: {
    stream_id: json(z.int(), { description: 'The channel.', example: '1' }),
    topic: text(z.string(), { description: 'At most 60 characters.', example: 'greetings' }),
    visibility_policy: json(z.literal([0, 1, 2, 3]), {
      description: '0 as the channel is, 1 muted, 2 unmuted, 3 followed.',
      example: '3',
    }),
  },
  reply: {},
  async handle(ctx, { stream_id, topic, visibility_policy }) {
    await setTopicVisibility(ctx, { channelId: stream_id, topic, policy: visibility_policy });
  },
});

export const patchMutedTopics = endpoint({
  method: 'PATCH',
  path: '/users/me/subscriptions/muted_topics',
  auth: 'basic',
  twins: ['setTopicVisibility'],
  summary: 'Mute a topic, or unmute it',
  description: 'Older than `POST /user_topics`, which does the same: 1 for "add", 0 for "remove".',
  params: {
    stream_id: json(z.int(), { description: 'This or `stream`.', example: '1' }).optional(),
    stream: text(z.string(), { description: "The channel's name." }).optional(),
    topic: text(z.string(), { description: 'At most 60 characters.', example: 'greetings' }),
    op: text(z.enum(['add', 'remove']), { description: 'Whether the topic is to be muted, or no more.' }),
  },
  reply: {},
  async handle(ctx, { stream_id, stream, topic, op }) {
    if (stream_id !== undefined && stream !== undefined) {
      throw new UnsupportedParametersError(['stream_id', 'stream']);
    }
    const channelId = stream === undefined ? stream_id : await channelIdOf(ctx, { name: stream });
    if (channelId === undefined) throw new RequestVariableMissingError('stream_id');
    await setTopicVisibility(ctx, { channelId, topic, policy: op === 'add' ? 1 : 0 });
  },
});
