import type { StateGroup } from '../../api/state-group.ts';
import { emptyTopicName } from '../../channels/topic-name.ts';
import { mutedTopics } from './muted.ts';
import { topicPolicies } from './queries.ts';
import { toWire, withShownTopic, withShownTopics } from './wire.ts';

/** Initial state `user_topics` of event queues: all topic policies of the user. */
export const userTopicsState: StateGroup = {
  name: 'user_topic',
  async read({ viewer, db, options }) {
    const knowsEmptyTopic = options.capabilities.empty_topic_name;
    const rows = await topicPolicies(db, { organizationId: viewer.organization.id, userId: viewer.id });
    return {
      user_topics: rows.map((row) => withShownTopic(toWire(row), emptyTopicName(viewer.organization), knowsEmptyTopic)),
    };
  },
};

/** Initial state `muted_topics` of event queues, for clients without support for `user_topics`. */
export const mutedTopicsState: StateGroup = {
  name: 'muted_topics',
  replacedBy: 'user_topic',
  async read({ viewer: { id, organization }, db, options }) {
    const list = (await mutedTopics(db, organization, [id])).get(id) ?? [];
    return {
      muted_topics: withShownTopics(list, emptyTopicName(organization), options.capabilities.empty_topic_name),
    };
  },
};
