import type { StateGroup } from '../../api/state-group.ts';
import { emptyTopicName } from '../../channels/topic-name.ts';
import { lastReceivedId, recentConversations, starredIds } from './summaries.ts';
import { readUnread } from './unread.ts';
import { toWireUnread } from './wire.ts';

/** Initial state `max_message_id` of event queues: the id of the last message that the user received, or -1. */
export const maxMessageIdState: StateGroup = {
  name: 'message',
  read: async ({ viewer, db }) => ({
    max_message_id: await lastReceivedId(db, { organizationId: viewer.organization.id, userId: viewer.id }),
  }),
};

/** Initial state `unread_msgs` of event queues, for clients that receive the events `message` and `update_message_flags`. */
export const unreadState: StateGroup = {
  name: 'message',
  besides: 'update_message_flags',
  async read({ viewer, db, options }) {
    const unread = await readUnread(db, { organizationId: viewer.organization.id, userId: viewer.id });
    return {
      unread_msgs: toWireUnread(unread, {
        userId: viewer.id,
        emptyTopicName: emptyTopicName(viewer.organization),
        knowsEmptyTopic: options.capabilities.empty_topic_name,
      }),
    };
  },
};

/** Initial state `starred_messages` of event queues: ids of the user's newest starred messages, ascending. */
export const starredMessagesState: StateGroup = {
  name: 'starred_messages',
  read: async ({ viewer, db }) => ({
    starred_messages: await starredIds(db, { organizationId: viewer.organization.id, userId: viewer.id }),
  }),
};

/** Initial state `recent_private_conversations` of event queues. The conversation with the newest message is first. */
export const recentConversationsState: StateGroup = {
  name: 'recent_private_conversations',
  async read({ viewer, db }) {
    const recent = await recentConversations(db, { organizationId: viewer.organization.id, userId: viewer.id });
    return {
      recent_private_conversations: recent.map(({ maxId, memberIds }) => ({
        max_message_id: maxId,
        user_ids: memberIds.filter((id) => id !== viewer.id),
      })),
    };
  },
};
