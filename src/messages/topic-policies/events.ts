import { z } from 'zod';
import { emptyTopicName } from '../../channels/topic-name.ts';
import { defineEvent } from '../../events/define.ts';
import { documentEvent } from '../../events/wire.ts';
import type { Organization } from '../../generated/prisma/client.ts';
import {
  type TopicPolicySnapshot,
  toWire,
  type WireMutedTopic,
  type WireUserTopic,
  withShownTopic,
  withShownTopics,
} from './wire.ts';

interface ChangedPayload extends WireUserTopic {
  readonly empty_topic_name: string;
}

/** Event after a user's policy for a topic changed. Sent only to the user's own clients. */
export const topicPolicyChanged = defineEvent(
  'user_topic',
  undefined,
  (snapshot: TopicPolicySnapshot, organization: Organization): ChangedPayload => ({
    ...toWire(snapshot),
    empty_topic_name: emptyTopicName(organization),
  }),
  {
    facts: ({ empty_topic_name: _, ...entry }): WireUserTopic => entry,
    render: ({ empty_topic_name, ...entry }, { options }) => ({
      type: 'user_topic',
      ...withShownTopic(entry, empty_topic_name, options.capabilities.empty_topic_name),
    }),
  },
);

/** All topics that a user has muted. Topic names are as stored: the topic without a name is an empty text. */
export interface MutedTopics {
  readonly muted_topics: readonly WireMutedTopic[];
}

/**
 * Event after the list of a user's muted topics changed. It is sent in addition to `topicPolicyChanged`, to the user's own
 * clients. Only clients without support for topic policies need it.
 */
export const mutedTopicsChanged = defineEvent(
  'muted_topics',
  undefined,
  (list: readonly WireMutedTopic[], organization: Organization) => ({
    muted_topics: list,
    empty_topic_name: emptyTopicName(organization),
  }),
  {
    facts: ({ muted_topics }): MutedTopics => ({ muted_topics }),
    render: ({ muted_topics, empty_topic_name }, { options }) => ({
      type: 'muted_topics',
      muted_topics: withShownTopics(muted_topics, empty_topic_name, options.capabilities.empty_topic_name),
    }),
  },
);

documentEvent(topicPolicyChanged, 'the user', {
  stream_id: z.int(),
  topic_name: z.string(),
  last_updated: z.int().describe('Time of the change, in UNIX seconds.'),
  visibility_policy: z.int().describe('0: as the channel. 1: muted. 2: unmuted. 3: followed.'),
});
documentEvent(mutedTopicsChanged, 'the user', {
  muted_topics: z
    .array(z.tuple([z.string(), z.string(), z.int()]))
    .describe('Name of the channel, name of the topic, and time at which it was muted in UNIX seconds.'),
});
