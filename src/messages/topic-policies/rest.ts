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
  equivalents: ['setTopicVisibility'],
  summary: 'Mute, unmute or follow a topic',
  description: 'The topic need not have messages.',
  params: {
    stream_id: json(z.int(), { description: 'Channel id.', example: '1' }),
    topic: text(z.string(), { description: 'Name of the topic. At most 60 characters.', example: 'greetings' }),
    visibility_policy: json(z.literal([0, 1, 2, 3]), {
      description: '0: as the channel. 1: muted. 2: unmuted. 3: followed.',
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
  equivalents: ['setTopicVisibility'],
  summary: 'Mute or unmute a topic',
  description: 'Superseded by `POST /user_topics`: policy 1 for "add", 0 for "remove".',
  params: {
    stream_id: json(z.int(), { description: 'Channel id. Required if `stream` is absent.', example: '1' }).optional(),
    stream: text(z.string(), { description: 'Name of the channel. Required if `stream_id` is absent.' }).optional(),
    topic: text(z.string(), { description: 'Name of the topic. At most 60 characters.', example: 'greetings' }),
    op: text(z.enum(['add', 'remove']), { description: 'Whether to mute or unmute the topic.' }),
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
