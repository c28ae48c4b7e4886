import { useData } from '../api/use-data.ts';
import { FollowedTopicsDocument, type SidebarQuery } from '../generated/graphql.ts';

/**
 * Returns the number of unread messages for the title and the icon of the page. The viewer's settings select which messages are
 * counted. 0 until the data is loaded.
 */
export function useUnreadNumber(data: SidebarQuery | undefined): number {
  const display = data?.ownSettings?.desktopIconCountDisplay ?? 'NONE';
  const followed = useData(
    FollowedTopicsDocument,
    {},
    { pause: display !== WITH_FOLLOWED, requestPolicy: 'cache-and-network' },
  );
  if (display === 'NONE' || data === undefined) return 0;
  const { conversations = 0, mentions = 0 } = data.viewer?.unreadCounts ?? {};
  const channels = sum(data.subscriptions?.nodes.map(({ unreadCount }) => unreadCount));
  if (display === 'ALL') return channels + conversations;
  // A mention in a direct message is a direct message too, and is counted once.
  const direct = sum(data.directConversations?.nodes.map(({ unreadMentionCount }) => unreadMentionCount));
  const topics = followed.data?.topics?.nodes ?? [];
  const ofTopics = sum(topics.map(({ unreadCount, unreadMentionCount }) => unreadCount - unreadMentionCount));
  return conversations + Math.max(0, mentions - direct) + ofTopics;
}

const WITH_FOLLOWED = 'DIRECT_MESSAGES_MENTIONS_AND_FOLLOWED_TOPICS';

const sum = (numbers: readonly number[] = []): number => numbers.reduce((total, one) => total + one, 0);
