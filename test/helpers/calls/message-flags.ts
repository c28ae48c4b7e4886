import { globalId } from '../global-ids.ts';
import type { FeatureCalls } from './feature.ts';
import { graphqlNarrows, LATER } from './shared.ts';

export const messageFlags: FeatureCalls = {
  rest: {
    'POST /messages/flags': ({ messageId }) => [
      { parameters: { messages: [messageId], op: 'add', flag: 'starred' } },
      { parameters: { messages: [messageId], op: 'remove', flag: 'read' } },
    ],
    'POST /messages/flags/narrow': ({ channelId, userId }) => [
      {
        parameters: {
          ...{ anchor: 'oldest', include_anchor: true, num_before: 0, num_after: 10, op: 'add', flag: 'read' },
          narrow: [{ operator: 'channel', operand: channelId }],
        },
      },
      {
        parameters: {
          ...{ anchor: '0', num_before: 0, num_after: 1, op: 'remove', flag: 'collapsed' },
          narrow: [{ operator: 'dm', operand: [userId] }],
        },
      },
    ],
    'POST /mark_topic_as_read': ({ channelId }) => [{ parameters: { stream_id: channelId, topic_name: 'greetings' } }],
    'POST /mark_stream_as_read': ({ channelId }) => [{ parameters: { stream_id: channelId } }],
    'POST /mark_all_as_read': () => [{}],
    'GET /messages/{message_id}/read_receipts': ({ messageId }) => [{ slots: { message_id: messageId } }],
  },
  mutations: {
    updateMessageFlags: ({ messageId }) => [
      { messageIds: [messageId], operation: 'ADD', flag: 'STARRED' },
      { messageIds: [messageId], operation: 'REMOVE', flag: 'READ' },
    ],
    updateMessageFlagsInNarrow: ({ channelId, messageId, ...names }) => [
      {
        ...{ anchor: { place: 'OLDEST' }, includeAnchor: true, numBefore: 0, numAfter: 10 },
        ...{ narrow: { channel: { id: globalId('Channel', channelId) } }, operation: 'ADD', flag: 'READ' },
      },
      { anchor: { messageId }, numBefore: 0, numAfter: 1, operation: 'REMOVE', flag: 'COLLAPSED' },
      { anchor: { date: LATER }, numBefore: 0, numAfter: 1, operation: 'REMOVE', flag: 'COLLAPSED' },
      ...graphqlNarrows({ channelId, messageId, ...names }).map((narrow) => ({
        ...{ narrow, anchor: { place: 'NEWEST' }, numBefore: 1, numAfter: 0, operation: 'ADD', flag: 'STARRED' },
      })),
    ],
    markTopicAsRead: ({ channelId }) => [{ channelId, topic: 'greetings' }],
    markChannelAsRead: ({ channelId }) => [{ channelId }],
    markAllAsRead: () => [{ maxSeconds: 50 }],
  },
  nodes: ({ ownerId }) => ({ UnreadCounts: ownerId }),
};
