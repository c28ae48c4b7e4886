import type { StateGroup } from '../../api/state-group.ts';
import { emptyTopicName } from '../../channels/topic-name.ts';
import { lastReceivedId, recentConversations, starredIds } from './summaries.ts';
import { readUnread } from './unread.ts';
import { toWireUnread } from './wire.ts';

/** State with the field `max_message_id`. */
export const maxMessageIdState: StateGroup = {
  name: 'message',
  read: async ({ viewer, db }) => ({
    max_message_id: await lastReceivedId(db, { realmId: viewer.realm.id, userId: viewer.id }),
  }),
};

/** State with the field `unread_msgs`, for clients that receive the events `message` and `update_message_flags`. */
export const unreadState: StateGroup = {
  name: 'message',
  besides: 'update_message_flags',
  async read({ viewer, db, options }) {
    const unread = await readUnread(db, { realmId: viewer.realm.id, userId: viewer.id });
    return {
      unread_msgs: toWireUnread(unread, {
        userId: viewer.id,
        emptyTopicName: emptyTopicName(viewer.realm),
        knowsEmptyTopic: options.capabilities.empty_topic_name,
      }),
    };
  },
};

/** State with the field `starred_messages`. */
export const starredMessagesState: StateGroup = {
  name: 'starred_messages',
  read: async ({ viewer, db }) => ({
    starred_messages: await starredIds(db, { realmId: viewer.realm.id, userId: viewer.id }),
  }),
};

/** State with the field `recent_private_conversations`. */
export const recentConversationsState: StateGroup = {
  name: 'recent_private_conversations',
  async read({ viewer, db }) {
    const recent = await recentConversations(db, { realmId: viewer.realm.id, userId: viewer.id });
    return {
      recent_private_conversations: recent.map(({ maxId, memberIds }) => ({
        max_message_id: maxId,
        user_ids: memberIds.filter((id) => id !== viewer.id),
      })),
    };
  },
};
