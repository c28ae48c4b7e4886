import type { StateGroup } from '../event-queue/state-group.ts';
import { emptyTopicName } from '../messages/topic-name.ts';
import { topicPolicies } from './service.ts';
import { toWire, withShownTopic } from './wire.ts';

/** `user_topics`. @see registration-and-events companion 1.4 */
export const userTopicsState: StateGroup = {
  name: 'user_topic',
  async read({ viewer, db, options }) {
    const knowsEmptyTopic = options.capabilities.empty_topic_name;
    const rows = await topicPolicies(db, viewer.id);
    return {
      user_topics: rows.map((row) => withShownTopic(toWire(row), emptyTopicName(viewer.realm), knowsEmptyTopic)),
    };
  },
};
