import type { Cache } from '@urql/exchange-graphcache';
import {
  type MessageFlag,
  type MessageState,
  TimelineOrderDocument as TimelineOrder,
  type TimelineOrderQuery,
  type TimelineOrderQueryVariables as Variables,
} from '../generated/graphql.ts';
import { belongsTo, narrowKey, type Placed } from './narrow.ts';

// Message lists in the cache, from old to new. Only their IDs and order are read here, not the content of messages.

/** Number of messages to which a list is cut. Browsers can lay out and search that many messages without delay. */
const WINDOW = 300;
/** Number of messages by which a list may exceed `WINDOW`. Otherwise every new message would cause a cut. */
const SLACK = 50;
/** `countBefore` and `countAfter` of the queries that read a list. Queries for one more page set one of the two to 0. */
const PAGE = 50;

type Narrow = Variables['narrow'];
type List = NonNullable<TimelineOrderQuery['messages']>;
type ListedMessage = List['nodes'][number];

/**
 * Replaces each cached list of messages by the result of `change`. Lists for which it returns null are read again. Skips the
 * results of queries for one more page.
 */
function changeLists(cache: Cache, change: (list: List, narrow: Narrow) => List | null): void {
  for (const { fieldName, arguments: args } of cache.inspectFields('Query')) {
    if (fieldName !== 'messages' || args?.['countBefore'] !== PAGE || args['countAfter'] !== PAGE) continue;
    const variables = args as unknown as Variables;
    const list = cache.readQuery({ query: TimelineOrder, variables })?.messages;
    if (!list) continue;
    const messages = change(list, variables.narrow);
    if (messages === null) cache.invalidate('Query', fieldName, args);
    else if (messages !== list)
      cache.updateQuery({ query: TimelineOrder, variables }, (data) => data && { ...data, messages });
  }
}

const contains = ({ nodes }: List, id: string): boolean => nodes.some((one) => one.id === id);

function without(list: List, isGone: (id: string) => boolean): List {
  const nodes = list.nodes.filter(({ id }) => !isGone(id));
  return nodes.length === list.nodes.length ? list : { ...list, nodes };
}

/** Adds messages at one end of a list. If the list gets too long, messages at its other end are removed. */
function extended(list: List, added: readonly ListedMessage[], isOlder: boolean, hasMore: boolean): List {
  const fresh = added.filter(({ id }) => !contains(list, id));
  const nodes = [...list.nodes, ...fresh].toSorted((a, b) => a.databaseId - b.databaseId);
  const isCut = nodes.length > WINDOW + SLACK;
  const { hasPreviousPage, hasNextPage } = list.pageInfo;
  const ends = isOlder
    ? { hasPreviousPage: hasMore, hasNextPage: hasNextPage || isCut }
    : { hasPreviousPage: hasPreviousPage || isCut, hasNextPage: hasMore };
  const kept = isOlder ? nodes.slice(0, WINDOW) : nodes.slice(-WINDOW);
  return { ...list, nodes: isCut ? kept : nodes, pageInfo: { ...list.pageInfo, ...ends } };
}

/**
 * Adds the result of a query for one more page to the cached lists with the same narrow that end at the anchor of the query.
 */
export function extend(cache: Cache, page: List, args: Partial<Variables> & Record<string, unknown>): void {
  const [messageId, isOlder] = [args.anchor?.messageId, args['countAfter'] === 0];
  if (messageId == null || (!isOlder && args['countBefore'] !== 0)) return;
  const { hasPreviousPage, hasNextPage } = page.pageInfo;
  changeLists(cache, (list, narrow) =>
    narrowKey(narrow) === narrowKey(args.narrow) && list.nodes.at(isOlder ? 0 : -1)?.id === messageId
      ? extended(list, page.nodes, isOlder, isOlder ? hasPreviousPage : hasNextPage)
      : list,
  );
}

/** Removes deleted messages from all lists. */
export const remove = (cache: Cache, ids: readonly string[]): void =>
  changeLists(cache, (list) => without(list, (id) => ids.includes(id)));

/**
 * Puts new and changed messages into the lists that they match, and removes them from those that they no longer match. If a
 * message belongs at another position of a list than its end, the list is read again.
 *
 * @param state The state of the messages that has changed. Only lists that depend on this state are changed. They are read
 *   again if only the service can decide whether a message matches. Absent: the messages are new, or were moved.
 */
export function refile(cache: Cache, ids: readonly string[], state?: MessageState): void {
  const viewerId = ownId(cache);
  const messages = ids.map((id) => ({ __typename: 'Message', id, ...placedIn(cache, id) }));
  changeLists(cache, (list, narrow) => {
    const states = [...(narrow?.is ?? []), ...(narrow?.not?.is ?? [])];
    if (state !== undefined && !states.includes(state)) return list;
    let changed = list;
    for (const message of messages) {
      const isIn = belongsTo(narrow, message, viewerId);
      if (isIn === undefined && state !== undefined) return null;
      if (isIn === false) changed = without(changed, (id) => id === message.id);
      if (isIn !== true || contains(changed, message.id)) continue;
      if (message.databaseId < (changed.nodes.at(-1)?.databaseId ?? 0)) return null;
      // The viewer may be reading the oldest messages of a full list. The new ones load when the viewer scrolls down.
      const isFull = changed.nodes.length >= WINDOW + SLACK;
      if (!changed.pageInfo.hasNextPage) changed = extended(changed, isFull ? [] : [message], false, isFull);
    }
    return changed;
  });
}

/** Returns the properties of a message in the cache that decide in which lists it is, and where. */
function placedIn(cache: Cache, id: string): Placed & Pick<ListedMessage, 'databaseId'> {
  const of = (field: string): unknown => cache.resolve({ __typename: 'Message', id }, field);
  const idOf = (entity: unknown) =>
    entity ? String(cache.resolve(entity as string, 'id')) : (entity as null | undefined);
  const flags = of('flags') as readonly MessageFlag[] | undefined;
  const others = flags?.filter((flag) => flag !== 'STARRED');
  return {
    databaseId: Number(of('databaseId')),
    channelId: idOf(of('channel')),
    topicName: of('topicName') as string | undefined,
    participantIds: ((of('participants') ?? []) as string[]).map((one) => String(idOf(one))),
    // Events about stars contain only this value.
    flags: others && (of('viewerHasStarred') === true ? [...others, 'STARRED'] : others),
  };
}

/** Returns the id of the signed-in user from the cache; empty if the user is not loaded. */
function ownId(cache: Cache): string {
  const viewer = cache.resolve('Query', 'viewer');
  return typeof viewer === 'string' ? String(cache.resolve(viewer, 'id')) : '';
}
