import { fresh } from '../helpers/call-values.ts';
import type { FeatureTests } from '../helpers/feature.ts';
import { topicRef } from '../helpers/talk.ts';

export const messageEdits: FeatureTests = {
  rest: {
    'GET /messages/{message_id}/history': ({ messageId }) => [
      { slots: { message_id: messageId }, parameters: { allow_empty_topic_name: true } },
    ],
    'PATCH /messages/{message_id}': ({ messageId, channelId }) => [
      {
        slots: { message_id: messageId },
        // The hash of "hello", the current content of the message.
        parameters: {
          content: 'hello again',
          prev_content_sha256: '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824',
        },
      },
      {
        slots: { message_id: messageId },
        parameters: {
          ...{ topic: fresh(), stream_id: channelId, propagate_mode: 'change_all' },
          ...{ send_notification_to_old_thread: true, send_notification_to_new_thread: false },
        },
      },
    ],
    'DELETE /messages/{message_id}': ({ messageId }) => [{ slots: { message_id: messageId } }],
  },
  mutations: {
    editMessage: ({ messageId }) => [
      // The hash of "hello", the current content of the message.
      {
        messageId,
        content: 'hello again',
        prevContentSha256: '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824',
      },
    ],
    moveMessages: ({ messageId, channelId }) => [
      {
        ...{ messageId, to: topicRef(channelId, fresh()), propagateMode: 'CHANGE_ALL' },
        ...{ sendNotificationToOldTopic: true, sendNotificationToNewTopic: false },
      },
    ],
    resolveTopic: ({ channelId }) => [{ topic: topicRef(channelId, 'greetings') }],
    unresolveTopic: ({ channelId }) => [{ topic: topicRef(channelId, '✔ greetings') }],
    deleteMessage: ({ messageId }) => [{ messageId }],
  },
};
