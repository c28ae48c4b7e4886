import { defineEvent } from '../events/define.ts';
import type { Realm } from '../generated/prisma/client.ts';
import { emptyTopicName } from '../messages/topic-name.ts';
import { type TopicPolicyFacts, toWire, type WireUserTopic, withShownTopic } from './wire.ts';

interface ChangedPayload extends WireUserTopic {
  readonly empty_topic_name: string;
}

/** To the user's own clients only. @see registration-and-events companion 3.2 */
export const topicPolicyChanged = defineEvent(
  'user_topic',
  undefined,
  (facts: TopicPolicyFacts, realm: Realm): ChangedPayload => ({
    ...toWire(facts),
    empty_topic_name: emptyTopicName(realm),
  }),
  {
    render: ({ empty_topic_name, ...entry }, { options }) => ({
      type: 'user_topic',
      ...withShownTopic(entry, empty_topic_name, options.capabilities.empty_topic_name),
    }),
  },
);
