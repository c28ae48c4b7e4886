import { toTopic } from '../talk.ts';
import type { FeatureCalls } from './feature.ts';

export const typing: FeatureCalls = {
  rest: {
    'POST /typing': ({ userId, channelId }) => [
      { parameters: { op: 'start', type: 'direct', to: [userId] } },
      { parameters: { op: 'stop', type: 'channel', stream_id: channelId, topic: 'greetings' } },
    ],
    'POST /messages/{message_id}/typing': ({ messageId }) => [
      { slots: { message_id: messageId }, parameters: { op: 'start' } },
    ],
  },
  mutations: {
    setTyping: ({ userId, channelId, channelName }) => [
      { operation: 'START', to: { direct: [userId] } },
      { operation: 'STOP', to: toTopic(channelId, 'greetings') },
      { operation: 'STOP', to: toTopic(channelName, 'greetings') },
    ],
    setEditTyping: ({ messageId }) => [{ messageId, operation: 'START' }],
  },
};
