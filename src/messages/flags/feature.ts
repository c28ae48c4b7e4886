import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import './graphql-events.ts';
import {
  getReadReceipts,
  postMarkAllAsRead,
  postMarkStreamAsRead,
  postMarkTopicAsRead,
  postMessagesFlags,
  postMessagesFlagsNarrow,
} from './rest.ts';
import { maxMessageIdState, recentConversationsState, starredMessagesState, unreadState } from './state.ts';

export const flags: Feature = {
  endpoints: [
    postMessagesFlags,
    postMessagesFlagsNarrow,
    postMarkTopicAsRead,
    postMarkStreamAsRead,
    postMarkAllAsRead,
    getReadReceipts,
  ],
  state: [maxMessageIdState, unreadState, starredMessagesState, recentConversationsState],
};
