import { PAGE } from '../helpers/call-values.ts';
import type { FeatureTests } from '../helpers/feature.ts';
import { globalId } from '../helpers/global-ids.ts';
import { heldBy } from '../helpers/piles.ts';
import { topicRef, toTopic } from '../helpers/talk.ts';

export const topics: FeatureTests = {
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
    topic: ({ channelId, channelName }) => [
      { by: { id: globalId('Topic', `${channelId}:greetings`) } },
      { by: topicRef(channelId, 'greetings') },
      { by: topicRef(channelName, 'greetings') },
    ],
    topics: () => [
      { ...PAGE, orderBy: { field: 'NAME', direction: 'ASC' } },
      { filter: { is: ['UNREAD'], not: ['MUTED'], nameContains: 'greet' } },
    ],
    userTopics: () => [{ ...PAGE, orderBy: { field: 'TOPIC_NAME', direction: 'DESC' } }],
  },
  mutations: {
    setTopicVisibility: ({ channelId }) => [{ ...toTopic(channelId, 'a topic'), visibility: 'FOLLOWED' }],
    deleteTopic: ({ channelId }) => [toTopic(channelId, 'a topic')],
  },
  nodes: ({ channelId, userTopicId }) => ({ Topic: `${channelId}:greetings`, UserTopic: userTopicId }),
  piles: {
    user_topics: {
      // One row exists already: the member follows the topic of their own message.
      fill: ({ sql, channelId }) =>
        sql(
          `INSERT INTO user_topic (realm_id, user_id, channel_id, topic, policy, last_updated)
         SELECT $1, $2, $3::int, 'topic ' || n, 1, now() FROM generate_series(1, 9999) AS n`,
          channelId,
        ),
      rest: ({ member, channelId }, i) =>
        member.rest('POST', '/user_topics', { stream_id: channelId, topic: `new ${i}`, visibility_policy: 1 }),
      graphql: ({ channelId }, i) => ['setTopicVisibility', { ...toTopic(channelId, `new ${i}`), visibility: 'MUTED' }],
      held: heldBy('user_topic', 'user_id = $1'),
      free: ({ member, channelId }) =>
        member.ok('POST', '/user_topics', { stream_id: channelId, topic: 'topic 1', visibility_policy: 0 }),
    },
  },
};
