import { z } from 'zod';
import { emptyTopicName } from '../../channels/topic-name.ts';
import { defineEvent } from '../../events/define.ts';
import { tells } from '../../events/wire.ts';
import type { Realm } from '../../generated/prisma/client.ts';
import {
  type TopicPolicyFacts,
  toWire,
  type WireMutedTopic,
  type WireUserTopic,
  withShownTopic,
  withShownTopics,
} from './wire.ts';

interface ChangedPayload extends WireUserTopic {
  readonly empty_topic_name: string;
}

/** To the user's own clients only. */
export const topicPolicyChanged = defineEvent(
  'user_topic',
  undefined,
  (facts: TopicPolicyFacts, realm: Realm): ChangedPayload => ({
    ...toWire(facts),
    empty_topic_name: emptyTopicName(realm),
  }),
  {
    facts: ({ empty_topic_name: _, ...entry }): WireUserTopic => entry,
    render: ({ empty_topic_name, ...entry }, { options }) => ({
      type: 'user_topic',
      ...withShownTopic(entry, empty_topic_name, options.capabilities.empty_topic_name),
    }),
  },
);

/** All that a user has muted, under its true names. */
export interface MutedTopics {
  readonly muted_topics: readonly WireMutedTopic[];
}

/**
 * To one user's own clients, beside the former, when what they have muted changed: the same for clients that know nothing
 * else.
 */
export const mutedTopicsChanged = defineEvent(
  'muted_topics',
  undefined,
  (list: readonly WireMutedTopic[], realm: Realm) => ({
    muted_topics: list,
    empty_topic_name: emptyTopicName(realm),
  }),
  {
    facts: ({ muted_topics }): MutedTopics => ({ muted_topics }),
    render: ({ muted_topics, empty_topic_name }, { options }) => ({
      type: 'muted_topics',
      muted_topics: withShownTopics(muted_topics, empty_topic_name, options.capabilities.empty_topic_name),
    }),
  },
);

tells(topicPolicyChanged, 'the user', {
  stream_id: z.int(),
  topic_name: z.string(),
  last_updated: z.int().describe('UNIX seconds.'),
  visibility_policy: z.int().describe('0 as the channel is, 1 muted, 2 unmuted, 3 followed.'),
});
tells(mutedTopicsChanged, 'the user', {
  muted_topics: z
    .array(z.tuple([z.string(), z.string(), z.int()]))
    .describe('Channel, topic, since when in UNIX seconds.'),
});
