import { graphqlNarrows, LATER } from '../helpers/call-values.ts';
import type { FeatureTests } from '../helpers/feature.ts';
import { globalId } from '../helpers/global-ids.ts';

export const messageFlags: FeatureTests = {
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
        ...{ anchor: { place: 'OLDEST' }, includeAnchor: true, countBefore: 0, countAfter: 10 },
        ...{ narrow: { channel: { id: globalId('Channel', channelId) } }, operation: 'ADD', flag: 'READ' },
      },
      { anchor: { messageId }, countBefore: 0, countAfter: 1, operation: 'REMOVE', flag: 'COLLAPSED' },
      { anchor: { sentAt: LATER }, countBefore: 0, countAfter: 1, operation: 'REMOVE', flag: 'COLLAPSED' },
      ...graphqlNarrows({ channelId, messageId, ...names }).map((narrow) => ({
        ...{ narrow, anchor: { place: 'NEWEST' }, countBefore: 1, countAfter: 0, operation: 'ADD', flag: 'STARRED' },
      })),
    ],
    markTopicAsRead: ({ channelId }) => [{ topic: { id: globalId('Topic', `${channelId}:greetings`) } }],
    markChannelAsRead: ({ channelId }) => [{ channelId }],
    markConversationAsRead: ({ conversationId }) => [{ conversationId }],
    markAllAsRead: () => [{ maxSeconds: 50 }],
  },
  nodes: ({ ownerId }) => ({ UnreadCounts: ownerId }),
};
