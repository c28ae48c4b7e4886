import type { Cache } from '@urql/exchange-graphcache';
import { gql } from 'urql';
import { forget, keyOf } from './forget.ts';
import type { Placed } from './narrow.ts';
import { createStore } from './store.ts';

// Unread counts in the cache. Each new message increments them. When messages are read, moved or deleted, the event contains
// the counts at its delivery. These may already include a message whose own event arrives later and increments them again. The
// page therefore fetches the counts again after a quiet period.

/** Incremented by each change after which the unread counts must be read again. `live/settle.ts` watches this number. */
export const unsettled = createStore(0);

export const unsettle = (): void => unsettled.set(unsettled.get() + 1);

const COUNTED = {
  Topic: gql`fragment TopicCounts on Topic { id unreadCount unreadMentionCount }`,
  ChannelSubscription: gql`fragment SubscriptionCounts on ChannelSubscription { id unreadCount unreadMentionCount }`,
  DirectConversation: gql`fragment ConversationCounts on DirectConversation { id unreadCount unreadMentionCount }`,
};

/** Adds one message to the unread counts of an entity, if the cache contains them. */
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

/** The viewer's unread direct messages (`conversations`) and unread mentions. */
interface Totals {
  readonly conversations: number;
  readonly mentions: number;
}

/** Changes the viewer's total unread counts, if the cache contains them. */
export function changeTotals(cache: Cache, change: (before: Totals) => Totals): void {
  const viewer = cache.resolve('Query', 'viewer');
  const key = typeof viewer === 'string' ? cache.resolve(viewer, 'unreadCounts') : undefined;
  if (typeof key !== 'string') return;
  const [id, conversations, mentions] = ['id', 'conversations', 'mentions'].map((field) => cache.resolve(key, field));
  if (typeof conversations !== 'number' || typeof mentions !== 'number') return;
  cache.writeFragment(TOTALS, { __typename: 'UnreadCounts', id, ...change({ conversations, mentions }) });
}

/** Sets the unread counts of an entity to zero. */
export function countNothing(cache: Cache, type: keyof typeof COUNTED, key: string): void {
  const id = cache.resolve(key, 'id');
  cache.writeFragment(COUNTED[type], { __typename: type, id, unreadCount: 0, unreadMentionCount: 0 });
}

/** The fields of a new message that affect the counts. */
interface CountedMessage {
  readonly topic: { readonly id: string } | null;
  readonly flags: readonly string[];
}

/** Adds a new unread message to the counts of its topic, channel or conversation, and to the totals. */
export function countNew(cache: Cache, { topic, flags }: CountedMessage, placed: Placed): void {
  const isMention = placed.states?.MENTIONED === true;
  const isDirect = placed.channelId === null;
  changeTotals(cache, ({ conversations, mentions }) => ({
    conversations: conversations + (isDirect ? 1 : 0),
    mentions: mentions + (isMention ? 1 : 0),
  }));
  // A wildcard mention counts only in channels and topics that are not muted. This is not checked here: the counts are fetched
  // again instead.
  if (isMention && !flags.includes('MENTIONED')) unsettle();
  if (placed.channelId === null) {
    const conversation = noteConversation(cache, placed);
    // `noteConversation` has invalidated the list of conversations. When it is fetched next, its counts may or may not include
    // this message, so the counts are fetched again too.
    if (conversation === undefined) unsettle();
    else countUnread(cache, 'DirectConversation', conversation, isMention);
    return;
  }
  const topicKey = topic === null ? undefined : keyOf(cache, 'Topic', topic.id);
  if (topicKey !== undefined) countUnread(cache, 'Topic', topicKey, isMention);
  // The counts of a channel exclude its muted topics.
  if (topicKey !== undefined && cache.resolve(topicKey, 'viewerVisibility') === 'MUTED') return;
  const subscription = cache.resolve(keyOf(cache, 'Channel', placed.channelId), 'ownSubscription');
  if (typeof subscription === 'string') countUnread(cache, 'ChannelSubscription', subscription, isMention);
}

/**
 * Returns the cache key of the conversation of a direct message. If the cached list lacks the conversation, the list is
 * invalidated.
 *
 * @returns Undefined for channel messages and for conversations that the cache lacks.
 */
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

/** Sets all cached counts to zero after the viewer has marked all messages as read. */
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

/** Fields of `Query` that list entities with unread counts, with the type of the entities. */
const LISTED: Readonly<Record<string, Parameters<typeof countNothing>[1] | undefined>> = {
  subscriptions: 'ChannelSubscription',
  directConversations: 'DirectConversation',
};
