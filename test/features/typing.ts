import type { FeatureTests } from '../helpers/feature.ts';
import { toTopic } from '../helpers/talk.ts';

export const typing: FeatureTests = {
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
  // These events change nothing in the reply of a registration.
  rules: {
    'typing/start': () => {},
    'typing/stop': () => {},
    'typing_edit_message/start': () => {},
    'typing_edit_message/stop': () => {},
  },
};
