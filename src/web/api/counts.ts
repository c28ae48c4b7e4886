import type { Cache } from '@urql/exchange-graphcache';
import { gql } from 'urql';
import { forget, keyOf } from './forget.ts';
import type { Placed } from './narrow.ts';
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

/** A message that came, as far as it counts. */
interface Counted {
  readonly topic: { readonly id: string } | null;
  readonly flags: readonly string[];
}

/** Counts a message that came and is unread, wherever it counts. */
export function countNew(cache: Cache, { topic, flags }: Counted, placed: Placed): void {
  const isMention = placed.states?.MENTIONED === true;
  const isDirect = placed.channelId === null;
  changeTotals(cache, ({ conversations, mentions }) => ({
    conversations: conversations + (isDirect ? 1 : 0),
    mentions: mentions + (isMention ? 1 : 0),
  }));
  // To mention everybody counts where it is not muted.
  if (isMention && !flags.includes('MENTIONED')) unsettle();
  if (placed.channelId === null) {
    const conversation = noteConversation(cache, placed);
    // It is read with the others, and the totals with it: before or after this message was counted.
    if (conversation === undefined) unsettle();
    else countUnread(cache, 'DirectConversation', conversation, isMention);
    return;
  }
  const topicKey = topic === null ? undefined : keyOf(cache, 'Topic', topic.id);
  if (topicKey !== undefined) countUnread(cache, 'Topic', topicKey, isMention);
  // A channel's count is without its muted topics.
  if (topicKey !== undefined && cache.resolve(topicKey, 'viewerVisibility') === 'MUTED') return;
  const subscription = cache.resolve(keyOf(cache, 'Channel', placed.channelId), 'ownSubscription');
  if (typeof subscription === 'string') countUnread(cache, 'ChannelSubscription', subscription, isMention);
}

/** The conversation of a direct message. One that nobody has listed yet is read with the others. */
export function noteConversation(cache: Cache, { channelId, participantIds }: Placed): string | undefined {
  if (channelId !== null) return undefined;
  const wanted = participantIds.toSorted().join();
  const connection = cache.resolve('Query', 'directConversations', { first: 50 });
  const conversations = typeof connection === 'string' ? (cache.resolve(connection, 'nodes') as string[]) : [];
  const found = conversations.find((key) => {
    const people = (cache.resolve(key, 'participants') ?? []) as string[];
    return (
      people
        .map((person) => cache.resolve(person, 'id'))
        .toSorted()
        .join() === wanted
    );
  });
  if (found === undefined) forget(cache, 'directConversations');
  return found;
}

/** Somebody marked all as read. */
export function readEverything(cache: Cache): void {
  for (const { fieldName, fieldKey } of cache.inspectFields('Query')) {
    const type = LISTED[fieldName];
    const connection = type === undefined ? undefined : cache.resolve('Query', fieldKey);
    const keys = typeof connection === 'string' ? ((cache.resolve(connection, 'nodes') ?? []) as string[]) : [];
    if (type !== undefined) for (const key of keys) countNothing(cache, type, key);
  }
  changeTotals(cache, () => ({ conversations: 0, mentions: 0 }));
  for (const field of ['messages', 'channel']) forget(cache, field);
}

/** Lists of what has counts of its own; of each there may be several pages. */
const LISTED: Readonly<Record<string, Parameters<typeof countNothing>[1] | undefined>> = {
  subscriptions: 'ChannelSubscription',
  directConversations: 'DirectConversation',
};
