import type { Cache, FieldInfo } from '@urql/exchange-graphcache';
import { forgetOf, keyOf } from './forget.ts';
import { createStore } from './store.ts';

// The lists of a channel's topics in the cache. A new message only changes their order, and does not invalidate them.
// Otherwise each message in a busy channel would make all viewers read the list again.

/**
 * Shortest time between two requests for a channel's topic lists because of topics that the cache lacks. One request covers
 * all topics that appeared since the previous one.
 */
const BETWEEN_READINGS_MS = 5_000;

/** Largest number of topics in a channel's list in the sidebar (`sidebar.graphql`). Other topic lists load more pages. */
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

/** Returns the cache keys of the topics in the cached lists of a channel. */
export const topicsOf = (cache: Cache, channelId: string): string[] =>
  listsOf(cache, channelId).flatMap(({ key }) => nodesOf(cache, key));

/** Invalidates the topic lists of a channel. */
export function forgetTopics(cache: Cache, channelId: string | undefined): void {
  if (channelId !== undefined) forgetOf(cache, 'Channel', channelId, ['topics']);
}

/** Fields of a topic, besides its name, that the sidebar shows. Other lists show the fields in `SHOWN_IN_PAGES`. */
const SHOWN = ['isResolved', 'unreadCount', 'unreadMentionCount', 'viewerVisibility'];
const SHOWN_IN_PAGES = [...SHOWN, 'viewerCanResolve'];

/**
 * Puts a topic with a new message into the first page of each cached list of its channel. If the cache lacks a field that these
 * lists show, the lists are fetched again.
 */
export function listTopic(cache: Cache, channelId: string, topic: string): void {
  const lists = listsOf(cache, channelId).filter(({ field }) => (field.arguments?.['after'] ?? null) === null);
  // If no list is cached, a response in flight may contain a list without this topic.
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

/** Returns the topics with the newest messages. At most the number that the list in the sidebar holds. */
function newestOf(cache: Cache, topics: readonly string[]): string[] {
  const newest = (topic: string) => {
    const message = cache.resolve(topic, 'lastMessage');
    return typeof message === 'string' ? Number(cache.resolve(message, 'databaseId') ?? 0) : 0;
  };
  return topics.toSorted((a, b) => newest(b) - newest(a)).slice(0, SIDEBAR_LIST);
}

/** By channel: time of the last request for its lists because of an unknown topic, and whether another one is scheduled. */
const readings = new Map<string, { readonly at: number; isPlanned: boolean }>();

/** The channel whose topic lists `live/settle.ts` must read again now. A new object each time, so that listeners run. */
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
