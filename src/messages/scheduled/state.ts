import type { StateGroup } from '../../api/state-group.ts';
import { emptyTopicName } from '../../channels/topic-name.ts';
import { IN_ORDER, undelivered } from './service.ts';
import { toWire, withTopicName } from './wire.ts';

/** What is not sent yet, the earliest first; what could not be sent stays in it. */
export const scheduledMessagesState: StateGroup = {
  name: 'scheduled_messages',
  async read({ viewer, db, options }) {
    const rows = await db.scheduledMessage.findMany({ where: undelivered(viewer), orderBy: IN_ORDER });
    const messages = rows.map(toWire);
    if (options.capabilities.empty_topic_name) return { scheduled_messages: messages };
    const name = emptyTopicName(viewer.realm);
    return { scheduled_messages: messages.map((message) => withTopicName(message, name)) };
  },
};
