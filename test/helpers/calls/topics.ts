import type { FeatureCalls } from './feature.ts';
import { PAGE } from './shared.ts';

export const topics: FeatureCalls = {
  rest: {
    'GET /users/me/{stream_id}/topics': ({ channelId }) => [
      { slots: { stream_id: channelId }, parameters: { allow_empty_topic_name: true } },
    ],
    'POST /user_topics': ({ channelId }) => [
      { parameters: { stream_id: channelId, topic: 'a topic', visibility_policy: 3 } },
    ],
    'PATCH /users/me/subscriptions/muted_topics': ({ channelId, channelName }) => [
      { parameters: { stream_id: channelId, topic: 'a topic', op: 'add' } },
      { parameters: { stream: channelName, topic: 'a topic', op: 'remove' } },
    ],
    'POST /streams/{stream_id}/delete_topic': ({ channelId }) => [
      { slots: { stream_id: channelId }, parameters: { topic_name: 'a topic' } },
    ],
  },
  queries: {
    userTopics: () => [{ ...PAGE, orderBy: { field: 'TOPIC_NAME', direction: 'DESC' } }],
  },
  mutations: {
    setTopicVisibility: ({ channelId }) => [{ channelId, topic: 'a topic', visibility: 'FOLLOWED' }],
    deleteTopic: ({ channelId }) => [{ channelId, topic: 'a topic' }],
  },
  nodes: ({ channelId, userTopicId }) => ({ Topic: `${channelId}:greetings`, UserTopic: userTopicId }),
};
