import type { Cache } from '@urql/exchange-graphcache';
import {
  type MessageState,
  TimelineOrderDocument as TimelineOrder,
  type TimelineOrderQuery,
  type TimelineOrderQueryVariables as Variables,
} from '../generated/graphql.ts';
import { ownId } from './fields.ts';
import { asksFor, belongsTo, narrowKey, type Placed } from './narrow.ts';

// Message lists in the cache, from old to new. `hasPreviousPage`: there are older messages. `hasNextPage`: there are newer
// ones. The code below reads only IDs and order, not the content of messages.

/** Number of messages to which a list is cut. Browsers can lay out and search that many messages without delay. */
const WINDOW = 300;
/** Number of messages by which a list may exceed `WINDOW`. Otherwise every new message would cause a cut. */
const SLACK = 50;
/** `countBefore` and `countAfter` of the queries that read a list. Queries for one more page set one of the two to 0. */
const PAGE = 50;

type Narrow = Variables['narrow'];
type List = NonNullable<TimelineOrderQuery['messages']>;
type Place = List['nodes'][number];

/**
 * Keys (`narrowKey`) of the lists that the viewer has scrolled close to the newest message. When such a list is full, new
 * messages remove the oldest ones. All other lists keep their oldest messages, because the viewer may be reading them.
 */
const followed = new Set<string>();

/** Records whether the viewer has scrolled a list close to its newest message. @param key `narrowKey` of the list. */
export function follow(key: string, isFollowed: boolean): void {
  if (isFollowed) followed.add(key);
  else followed.delete(key);
}

/**
 * Changes the cached lists of some narrows, except queries for one more page.
 *
 * @param change Returns the new list, or 'outdated' if components that show the list must read it again.
 */
function changeLists(
  cache: Cache,
  isConcerned: (narrow: Narrow) => boolean,
  change: (list: List, narrow: Narrow) => List | 'outdated',
): void {
  for (const { fieldName, arguments: args } of cache.inspectFields('Query')) {
    if (fieldName !== 'messages' || args?.['countBefore'] !== PAGE || args['countAfter'] !== PAGE) continue;
    const { narrow, anchor } = args as unknown as Variables;
    if (!isConcerned(narrow)) continue;
    let isOutdated = false;
    cache.updateQuery(
      { query: TimelineOrder, variables: { ...(narrow !== undefined && { narrow }), anchor } },
      (data) => {
        if (!data?.messages) return data;
        const messages = change(data.messages, narrow);
        isOutdated = messages === 'outdated';
        return messages === 'outdated' || messages === data.messages ? data : { ...data, messages };
      },
    );
    if (isOutdated) cache.invalidate('Query', fieldName, args);
  }
}

const contains = ({ nodes }: List, id: string): boolean => nodes.some((one) => one.id === id);

function without(list: List, isGone: (id: string) => boolean): List {
  const nodes = list.nodes.filter(({ id }) => !isGone(id));
  return nodes.length === list.nodes.length ? list : { ...list, nodes };
}

/** Adds messages at one end of a list. If the list gets too long, messages at its other end are removed. */
function extended(list: List, added: readonly Place[], isOlder: boolean, hasMore: boolean): List {
  const fresh = added.filter(({ id }) => !contains(list, id));
  const nodes = [...list.nodes, ...fresh].toSorted((a, b) => a.databaseId - b.databaseId);
  const isCut = nodes.length > WINDOW + SLACK;
  const kept = isOlder ? nodes.slice(0, WINDOW) : nodes.slice(-WINDOW);
  const [hasOlder, hasNewer] = [list.pageInfo.hasPreviousPage || isCut, list.pageInfo.hasNextPage || isCut];
  const ends = isOlder
    ? { hasPreviousPage: hasMore, hasNextPage: hasNewer }
    : { hasPreviousPage: hasOlder, hasNextPage: hasMore };
  return { ...list, nodes: isCut ? kept : nodes, pageInfo: { ...list.pageInfo, ...ends } };
}

/** Adds a new message to each matching list that is loaded up to the newest message. */
export function append(cache: Cache, message: Place & Placed): void {
  const viewerId = ownId(cache);
  const isConcerned = (narrow: Narrow) => belongsTo(narrow, message, viewerId) === true;
  changeLists(cache, isConcerned, (list, narrow) => {
    if (list.pageInfo.hasNextPage || contains(list, message.id)) return list;
    // The viewer is reading older messages. The new messages load when the viewer scrolls down.
    const isFull = list.nodes.length >= WINDOW + SLACK && !followed.has(narrowKey(narrow));
    if (isFull) return { ...list, pageInfo: { ...list.pageInfo, hasNextPage: true } };
    return extended(list, [message], false, false);
  });
}

/** Arguments and result of a query for messages. */
interface Page extends Partial<Variables> {
  readonly countBefore?: number;
  readonly countAfter?: number;
  readonly page: List;
}

/**
 * Adds a page to the lists of its narrow whose first or last message is the message at which the page begins. The queries for
 * one more page have 0 for one of the counts.
 */
export function extend(cache: Cache, { narrow, anchor, countBefore, countAfter, page }: Page): void {
  const messageId = anchor?.messageId;
  if (messageId == null || (countBefore !== 0 && countAfter !== 0)) return;
  const isOlder = countAfter === 0;
  const hasMore = isOlder ? page.pageInfo.hasPreviousPage : page.pageInfo.hasNextPage;
  const isConcerned = (one: Narrow) => narrowKey(one) === narrowKey(narrow);
  changeLists(cache, isConcerned, (list) =>
    list.nodes.at(isOlder ? 0 : -1)?.id === messageId ? extended(list, page.nodes, isOlder, hasMore) : list,
  );
}

/** Removes deleted messages from all lists. */
export const remove = (cache: Cache, ids: readonly string[]): void =>
  changeLists(
    cache,
    () => true,
    (list) => without(list, (id) => ids.includes(id)),
  );

/** Removes moved messages from the lists that they no longer match. Lists that lack a matching message are read again. */
export function move(cache: Cache, moved: readonly (Placed & { readonly id: string })[]): void {
  const viewerId = ownId(cache);
  const changed = (list: List, narrow: Narrow) => {
    const matches = new Map(moved.map((one) => [one.id, belongsTo(narrow, one, viewerId)]));
    const isOutdated = moved.some(({ id }) => matches.get(id) === true && !contains(list, id));
    return isOutdated ? 'outdated' : without(list, (id) => matches.get(id) === false);
  };
  changeLists(cache, () => true, changed);
}

/**
 * Updates the lists whose narrow requires or excludes a state, after messages entered or left that state: removes the messages,
 * or reads the list again, because only the service knows whether the messages match the whole narrow.
 */
export function changeState(cache: Cache, ids: readonly string[], state: MessageState, isIn: boolean): void {
  const isConcerned = (narrow: Narrow) => asksFor(narrow, state);
  changeLists(cache, isConcerned, (list, narrow) => {
    const isWanted = narrow?.is?.includes(state) === true;
    if (isWanted !== isIn) return without(list, (id) => ids.includes(id));
    return ids.every((id) => contains(list, id)) ? list : 'outdated';
  });
}
