import { z } from 'zod';
import { endpoint } from '../rest/endpoint.ts';
import { json, text } from '../rest/params.ts';
import { setTopicVisibility } from './service.ts';

export const postUserTopics = endpoint({
  method: 'POST',
  path: '/user_topics',
  auth: 'basic',
  section: 'B.9',
  summary: 'Mute, unmute or follow a topic',
  description: 'The topic need hold no message.',
  params: {
    stream_id: json(z.int(), { example: '1' }),
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
