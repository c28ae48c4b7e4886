import { graphqlNarrows, LATER, PAGE, restNarrows } from '../helpers/call-values.ts';
import type { FeatureTests } from '../helpers/feature.ts';
import { globalId } from '../helpers/global-ids.ts';
import { toTopic } from '../helpers/talk.ts';

export const messages: FeatureTests = {
  rest: {
    'POST /messages': ({ channelId, channelName, userId, email, queueId }) => [
      { parameters: { type: 'channel', to: channelId, topic: 'a topic', content: 'by id', read_by_sender: true } },
      { parameters: { type: 'stream', to: channelName, topic: 'a topic', content: 'by name' } },
      { parameters: { type: 'direct', to: [userId], content: 'by id', queue_id: queueId, local_id: '1' } },
      { parameters: { type: 'private', to: [email], content: 'by address' } },
    ],
    'GET /messages': (names) => {
      const [range, shown] = [
        { anchor: 'newest', num_before: 9 },
        { apply_markdown: false, client_gravatar: false },
      ];
      return [
        { parameters: { anchor: 1, num_before: 1, num_after: 1, include_anchor: true, ...shown } },
        { parameters: { anchor: 'date', anchor_date: '2026-01-01', num_after: 9, allow_empty_topic_name: true } },
        { parameters: { use_first_unread_anchor: true } },
        { parameters: { message_ids: [names.messageId] } },
        { parameters: { message_ids: [names.directMessageId] } },
        ...restNarrows(names).map((narrow) => ({ parameters: { ...range, narrow } })),
      ];
    },
    'GET /messages/{message_id}': ({ messageId }) => [
      { slots: { message_id: messageId }, parameters: { apply_markdown: false, allow_empty_topic_name: true } },
    ],
    'GET /messages/matches_narrow': (names) => [
      { parameters: { msg_ids: [names.messageId], narrow: [] } },
      ...restNarrows(names).map((narrow) => ({ parameters: { msg_ids: [names.messageId], narrow } })),
    ],
    'POST /messages/render': () => [{ parameters: { content: '**bold**' } }],
  },
  queries: {
    message: ({ messageId }) => [
      { by: { id: globalId('Message', messageId) } },
      { by: { url: `#narrow/id/${messageId}` } },
    ],
    directConversations: () => [{ ...PAGE, orderBy: { field: 'ID', direction: 'DESC' } }],
    messages: (names) => [
      PAGE,
      ...graphqlNarrows(names).map((narrow) => ({ narrow })),
      { narrow: { topic: { named: { channel: { name: names.channelName }, name: 'greetings' } } } },
      ...[{ place: 'NEWEST' }, { messageId: names.messageId }, { sentAt: LATER }].map((anchor) => ({
        anchor,
        countBefore: 1,
        countAfter: 2,
      })),
    ],
    renderMessage: () => [{ content: '**bold**' }],
  },
  mutations: {
    sendMessage: ({ channelId, channelName, userId, queueId }) => [
      { to: toTopic(channelId, 'a topic'), content: 'by id', readBySender: true },
      { to: toTopic(channelName, 'a topic'), content: 'by name' },
      { to: { direct: [userId] }, content: 'to people', queueId, localId: '1' },
    ],
  },
  nodes: ({ conversationId, messageId }) => ({ DirectConversation: conversationId, Message: messageId }),
};
