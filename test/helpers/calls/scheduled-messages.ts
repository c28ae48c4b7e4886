import { toTopic } from '../talk.ts';
import type { FeatureCalls } from './feature.ts';
import { LATER, PAGE, REST_LATER } from './shared.ts';

export const scheduledMessages: FeatureCalls = {
  rest: {
    'GET /scheduled_messages': () => [{}],
    'POST /scheduled_messages': ({ channelId, userId }) => [
      { parameters: { ...REST_LATER, type: 'channel', to: channelId, topic: 'a topic', content: 'later' } },
      { parameters: { ...REST_LATER, type: 'direct', to: [userId], content: 'later', read_by_sender: true } },
    ],
    'PATCH /scheduled_messages/{scheduled_message_id}': ({ scheduledMessageId, channelId, userId }) => {
      const slots = { scheduled_message_id: scheduledMessageId };
      return [
        { slots, parameters: { type: 'direct', to: [userId], content: 'changed' } },
        { slots, parameters: { ...REST_LATER, type: 'channel', to: channelId, topic: 'a topic' } },
      ];
    },
    'DELETE /scheduled_messages/{scheduled_message_id}': ({ scheduledMessageId }) => [
      { slots: { scheduled_message_id: scheduledMessageId } },
    ],
  },
  queries: {
    scheduledMessages: () => [{ ...PAGE, orderBy: { field: 'ID', direction: 'DESC' } }],
  },
  mutations: {
    scheduleMessage: ({ channelId, channelName, userId }) => [
      { to: toTopic(channelId, 'a topic'), content: 'later', scheduledAt: LATER },
      { to: toTopic(channelName, 'a topic'), content: 'later', scheduledAt: LATER },
      { to: { direct: [userId] }, content: 'later', scheduledAt: LATER, readBySender: true },
    ],
    updateScheduledMessage: ({ scheduledMessageId, channelId, channelName, userId }) => [
      { scheduledMessageId, to: { direct: [userId] }, content: 'changed' },
      { scheduledMessageId, to: toTopic(channelName, 'a topic'), scheduledAt: LATER },
      { scheduledMessageId, to: toTopic(channelId, 'another topic') },
    ],
    cancelScheduledMessage: ({ scheduledMessageId }) => [{ scheduledMessageId }],
  },
  nodes: ({ scheduledMessageId }) => ({ ScheduledMessage: scheduledMessageId }),
};
