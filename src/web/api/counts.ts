import type { Cache } from '@urql/exchange-graphcache';
import { gql } from 'urql';
import { createStore } from './store.ts';

// What is unread. A message that comes is counted here; when something is read, moved or deleted, the event tells how
// many are left, as of when it was read: a message that came meanwhile is counted twice then. So the page asks for the
// counts once more when it has been quiet for a while.

/** Grows with each change after which the counts are to be read again: `live/settle.ts` does so. */
export const unsettled = createStore(0);

export const unsettle = (): void => unsettled.set(unsettled.get() + 1);

const COUNTED = {
  Topic: gql`fragment TopicCounts on Topic { id unreadCount unreadMentionCount }`,
  ChannelSubscription: gql`fragment SubscriptionCounts on ChannelSubscription { id unreadCount unreadMentionCount }`,
  DirectConversation: gql`fragment ConversationCounts on DirectConversation { id unreadCount unreadMentionCount }`,
};

/** Counts one message more, where the cache knows how many there were. */
export function countUnread(cache: Cache, type: keyof typeof COUNTED, key: string, isMention: boolean): void {
  const [id, unread, mentions] = ['id', 'unreadCount', 'unreadMentionCount'].map((field) => cache.resolve(key, field));
  if (typeof unread !== 'number') return;
  cache.writeFragment(COUNTED[type], {
    __typename: type,
    id,
    unreadCount: unread + 1,
    unreadMentionCount: Number(mentions ?? 0) + (isMention ? 1 : 0),
  });
}

const TOTALS = gql`fragment AllUnread on UnreadCounts { id conversations mentions }`;

/** What is unread in all places together. */
interface Totals {
  readonly conversations: number;
  readonly mentions: number;
}

/** Changes how much is unread in all places together, where the cache knows how much that was. */
export function changeTotals(cache: Cache, change: (before: Totals) => Totals): void {
  const viewer = cache.resolve('Query', 'viewer');
  const key = typeof viewer === 'string' ? cache.resolve(viewer, 'unreadCounts') : undefined;
  if (typeof key !== 'string') return;
  const [id, conversations, mentions] = ['id', 'conversations', 'mentions'].map((field) => cache.resolve(key, field));
  if (typeof conversations !== 'number' || typeof mentions !== 'number') return;
  cache.writeFragment(TOTALS, { __typename: 'UnreadCounts', id, ...change({ conversations, mentions }) });
}

/** Nothing is unread any more. */
export function countNothing(cache: Cache, type: keyof typeof COUNTED, key: string): void {
  const id = cache.resolve(key, 'id');
  cache.writeFragment(COUNTED[type], { __typename: type, id, unreadCount: 0, unreadMentionCount: 0 });
}
