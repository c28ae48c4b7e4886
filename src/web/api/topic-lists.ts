import type { Cache, FieldInfo } from '@urql/exchange-graphcache';
import { forgetOf, keyOf } from './forget.ts';
import { createStore } from './store.ts';

// The lists of a channel's topics in the cache. A new message only changes their order, and does not invalidate them.
// Otherwise each message in a busy channel would make all viewers read the list again.

/**
 * Shortest time between two readings of a channel's lists because of unknown topics. A reading covers all topics since the
 * last one.
 */
const BETWEEN_READINGS_MS = 5_000;

/** Page size of the list in the sidebar (`sidebar.graphql`). Other lists are paged, and grow. */
const SIDEBAR_LIST = 30;

/** Returns all cached pages of the topic lists of a channel. */
function listsOf(cache: Cache, channelId: string): { readonly field: FieldInfo; readonly key: string }[] {
  const channel = keyOf(cache, 'Channel', channelId);
  return cache.inspectFields(channel).flatMap((field) => {
    const key = field.fieldName === 'topics' ? cache.resolve(channel, field.fieldKey) : undefined;
    return typeof key === 'string' ? [{ field, key }] : [];
  });
}

const nodesOf = (cache: Cache, list: string): string[] => (cache.resolve(list, 'nodes') ?? []) as string[];

/** Returns the keys of the topics that a channel lists. */
export const topicsOf = (cache: Cache, channelId: string): string[] =>
  listsOf(cache, channelId).flatMap(({ key }) => nodesOf(cache, key));

/** Invalidates the topic lists of a channel. */
export function forgetTopics(cache: Cache, channelId: string | undefined): void {
  if (channelId !== undefined) forgetOf(cache, 'Channel', channelId, ['topics']);
}

/** Fields of a topic, besides its name, that each list shows. */
const SHOWN = ['isResolved', 'unreadCount', 'unreadMentionCount', 'viewerVisibility'];
const SHOWN_IN_PAGES = [...SHOWN, 'viewerCanResolve'];

/**
 * Puts a topic with a new message into the first page of each list. If the cache lacks a field of the topic, the lists are
 * read again.
 */
export function listTopic(cache: Cache, channelId: string, topic: string): void {
  const lists = listsOf(cache, channelId).filter(({ field }) => (field.arguments?.['after'] ?? null) === null);
  // If no list is cached, one may be in flight that lacks this topic.
  const isKnown =
    lists.length > 0 &&
    lists.every(({ field }) =>
      (isOfSidebar(field) ? SHOWN : SHOWN_IN_PAGES).every((name) => cache.resolve(topic, name) !== undefined),
    );
  if (!isKnown) {
    forgetSoon(cache, channelId);
    return;
  }
  for (const { field, key } of lists) {
    const nodes = [topic, ...nodesOf(cache, key)];
    cache.link(key, 'nodes', isOfSidebar(field) ? newestOf(cache, nodes) : nodes);
  }
}

const isOfSidebar = ({ arguments: args }: FieldInfo): boolean => args?.['first'] === SIDEBAR_LIST;

/** Returns the topics with the newest messages, as many as the list in the sidebar holds. */
function newestOf(cache: Cache, topics: readonly string[]): string[] {
  const newest = (topic: string) => {
    const message = cache.resolve(topic, 'lastMessage');
    return typeof message === 'string' ? Number(cache.resolve(message, 'databaseId') ?? 0) : 0;
  };
  return topics.toSorted((a, b) => newest(b) - newest(a)).slice(0, SIDEBAR_LIST);
}

/** Time of the last reading of each channel's lists because of an unknown topic, and whether another one is planned. */
const readings = new Map<string, { readonly at: number; isPlanned: boolean }>();

/** The channel whose lists must be read again now, as a new object each time. `live/settle.ts` reads them. */
export const dueLists = createStore<{ readonly channelId: string } | undefined>(undefined);

function forgetSoon(cache: Cache, channelId: string): void {
  const last = readings.get(channelId);
  const now = performance.now();
  if (last === undefined || (!last.isPlanned && now - last.at >= BETWEEN_READINGS_MS)) {
    readings.set(channelId, { at: now, isPlanned: false });
    forgetTopics(cache, channelId);
  } else if (!last.isPlanned) {
    last.isPlanned = true;
    setTimeout(
      () => {
        readings.set(channelId, { at: performance.now(), isPlanned: false });
        dueLists.set({ channelId });
      },
      last.at + BETWEEN_READINGS_MS - now,
    );
  }
}
