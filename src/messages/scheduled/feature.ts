import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import type { StateGroup } from '../../api/state-group.ts';
import { emptyTopicName } from '../../channels/topic-name.ts';
import { deleteScheduledMessage, getScheduledMessages, patchScheduledMessage, postScheduledMessage } from './rest.ts';
import { IN_ORDER, undelivered } from './service.ts';
import { toWire, withShownTopic } from './wire.ts';

/**
 * Initial state of event queues (a part of the response of `POST /register`): the user's scheduled messages that were not sent,
 * including failed ones, earliest first.
 */
const scheduledMessagesState: StateGroup = {
  name: 'scheduled_messages',
  async read({ viewer, db, options }) {
    const rows = await db.scheduledMessage.findMany({ where: undelivered(viewer), orderBy: IN_ORDER });
    const name = emptyTopicName(viewer.organization);
    const knowsEmptyTopic = options.capabilities.empty_topic_name;
    return { scheduled_messages: rows.map((row) => withShownTopic(toWire(row), name, knowsEmptyTopic)) };
  },
};

export const scheduled: Feature = {
  endpoints: [getScheduledMessages, postScheduledMessage, patchScheduledMessage, deleteScheduledMessage],
  state: [scheduledMessagesState],
};
