import type { Cache, FieldArgs } from '@urql/exchange-graphcache';
import {
  type MessageState,
  TimelineOrderDocument as TimelineOrder,
  type TimelineOrderQuery,
  type TimelineOrderQueryVariables as Variables,
} from '../generated/graphql.ts';
import { isFollowed } from './followed.ts';
import { asksFor, belongsTo, narrowKey, type Placed } from './narrow.ts';
import { ownId } from './own-id.ts';
import { noteForgotten } from './reread.ts';

// Message lists in the cache, newest first. `hasNextPage`: there are older messages. `hasPreviousPage`: there are newer
// ones. The code below reads only IDs and order, not the content of messages.

/** Largest number of messages in a list. Browsers lay out that many without delay, and can search them. */
const WINDOW = 300;
/** Number of messages by which a list may exceed `WINDOW` before it is cut, so that not every message causes a cut. */
const SLACK = 50;
/** `first` and `last` of the queries that read a message list. Queries for one more page set one of the two to 0. */
export const PAGE = 50;

/** The arguments of a cached list. */
export type ListOf = Variables;
type List = NonNullable<TimelineOrderQuery['messages']>;
export type Place = List['nodes'][number];

/** Returns the arguments of all cached message lists. Queries for one more page of a list are left out. */
function lists(cache: Cache): Variables[] {
  return cache
    .inspectFields('Query')
    .filter(
      ({ fieldName, arguments: args }) => fieldName === 'messages' && args?.['first'] === PAGE && args['last'] === PAGE,
    )
    .map(({ arguments: args }) => args as unknown as Variables);
}

/** True while `change` writes a list. Graphcache then calls `catchUp` as if the service had returned the list. */
let isChanging = false;

function change(cache: Cache, { narrow, anchor }: Variables, update: (list: List) => List): void {
  const variables = { ...(narrow !== undefined && { narrow }), anchor };
  const wasChanging = isChanging;
  isChanging = true;
  try {
    cache.updateQuery({ query: TimelineOrder, variables }, (data) => {
      if (!data?.messages) return data;
      const messages = update(data.messages);
      return messages === data.messages ? data : { ...data, messages };
    });
  } finally {
    isChanging = wasChanging;
  }
}

/** Invalidates a list, so that components that show it read it again. */
const readAgain = (cache: Cache, variables: Variables): void =>
  cache.invalidate('Query', 'messages', variables as unknown as FieldArgs);

/** Marks the message queries in flight as outdated: their responses may predate a change of the lists. */
const rereadWhatComes = (isConcerned?: (narrow: Variables['narrow']) => boolean): void =>
  noteForgotten('messages', (asked) => isConcerned?.((asked as Partial<Variables>).narrow) ?? true);

/** Number of recent messages that are remembered, to add them to lists whose responses are in flight and lack them. */
const REMEMBERED = 200;
let recentMessages: readonly { readonly place: Place; readonly message: Placed }[] = [];

/** Adds a new message to each matching list that is loaded up to the newest message. */
export function append(cache: Cache, place: Place, message: Placed): void {
  recentMessages = [...recentMessages.slice(1 - REMEMBERED), { place, message }];
  const viewerId = ownId(cache);
  for (const variables of lists(cache)) {
    if (belongsTo(variables.narrow, message, viewerId) !== true) continue;
    const key = narrowKey(variables.narrow);
    change(cache, variables, (list) => appended(list, place, isFollowed(key)));
  }
}

/** Adds the messages that arrived while a list was in flight and that its response lacks. */
export function catchUp(cache: Cache, variables: Variables): void {
  if (isChanging) return;
  const key = narrowKey(variables.narrow);
  const viewerId = ownId(cache);
  for (const { place, message } of recentMessages) {
    if (belongsTo(variables.narrow, message, viewerId) !== true) continue;
    change(cache, variables, (list) =>
      place.databaseId > (list.nodes[0]?.databaseId ?? 0) ? appended(list, place, isFollowed(key)) : list,
    );
  }
}

function appended(list: List, place: Place, canLoseOldest: boolean): List {
  if (list.pageInfo.hasPreviousPage || list.nodes.some(({ id }) => id === place.id)) return list;
  if (list.nodes.length < WINDOW + SLACK) return { ...list, nodes: inOrder([place, ...list.nodes]) };
  // The viewer is reading older messages. The new ones load when the viewer scrolls down.
  if (!canLoseOldest) return { ...list, pageInfo: { ...list.pageInfo, hasPreviousPage: true } };
  const nodes = inOrder([place, ...list.nodes]).slice(0, WINDOW);
  return { ...list, nodes, pageInfo: { ...list.pageInfo, hasNextPage: true } };
}

const inOrder = (places: readonly Place[]): Place[] => places.toSorted((a, b) => b.databaseId - a.databaseId);

/** One more page of a message list, with the arguments of its query. */
export interface PageOf {
  readonly narrow: Variables['narrow'];
  /** ID of the message at which the page begins. The page includes this message. */
  readonly messageId: string;
  readonly isOlder: boolean;
  readonly page: List;
}

/**
 * Adds a page to each cached list of its narrow whose oldest or newest message is the one at which the page begins. If a list
 * gets too long, messages at its other end are removed.
 */
export function continueLists(cache: Cache, { narrow, messageId, isOlder, page }: PageOf): void {
  const key = narrowKey(narrow);
  for (const variables of lists(cache)) {
    if (narrowKey(variables.narrow) !== key) continue;
    change(cache, variables, (list) => {
      const end = isOlder ? list.nodes.at(-1) : list.nodes[0];
      return end?.id === messageId ? continued(list, page, isOlder) : list;
    });
  }
}

function continued(list: List, page: List, isOlder: boolean): List {
  const known = new Set(list.nodes.map(({ id }) => id));
  const nodes = inOrder([...list.nodes, ...page.nodes.filter(({ id }) => !known.has(id))]);
  const isCut = nodes.length > WINDOW + SLACK;
  const { hasNextPage, hasPreviousPage } = list.pageInfo;
  const pageInfo = isOlder
    ? { ...list.pageInfo, hasNextPage: page.pageInfo.hasNextPage, hasPreviousPage: hasPreviousPage || isCut }
    : { ...list.pageInfo, hasPreviousPage: page.pageInfo.hasPreviousPage, hasNextPage: hasNextPage || isCut };
  const kept = isOlder ? nodes.slice(-WINDOW - SLACK) : nodes.slice(0, WINDOW + SLACK);
  return { ...list, nodes: isCut ? kept : nodes, pageInfo };
}

/** Removes deleted messages from all lists. */
export function remove(cache: Cache, ids: ReadonlySet<string>): void {
  recentMessages = recentMessages.filter(({ place }) => !ids.has(place.id));
  rereadWhatComes();
  for (const variables of lists(cache)) change(cache, variables, (list) => without(list, ids));
}

/** Removes moved messages from the lists that they no longer match, and invalidates the lists that they match now. */
export function move(cache: Cache, moved: readonly { readonly id: string; readonly to: Placed }[]): void {
  const places = new Map(moved.map(({ id, to }) => [id, to]));
  rereadWhatComes();
  recentMessages = recentMessages.map(({ place, message }) => ({
    place,
    message: { ...message, ...places.get(place.id) },
  }));
  const viewerId = ownId(cache);
  for (const variables of lists(cache)) {
    const gone = new Set(
      moved.filter(({ to }) => belongsTo(variables.narrow, to, viewerId) === false).map(({ id }) => id),
    );
    let isMissing = false;
    change(cache, variables, (list) => {
      const ids = new Set(list.nodes.map(({ id }) => id));
      isMissing = moved.some(({ id, to }) => belongsTo(variables.narrow, to, viewerId) === true && !ids.has(id));
      return without(list, gone);
    });
    if (isMissing) readAgain(cache, variables);
  }
}

/**
 * Updates the lists that depend on a state of messages, after messages entered or left that state. Messages are removed from
 * lists that they no longer match. Lists that may now match them are invalidated, because only the service can decide that
 * and return the content of the messages.
 */
export function changeState(cache: Cache, ids: ReadonlySet<string>, state: MessageState, isIn: boolean): void {
  recentMessages = recentMessages.map((one) =>
    ids.has(one.place.id)
      ? { ...one, message: { ...one.message, states: { ...one.message.states, [state]: isIn } } }
      : one,
  );
  rereadWhatComes((narrow) => asksFor(narrow, state));
  for (const variables of lists(cache)) {
    const { narrow } = variables;
    if (!asksFor(narrow, state)) continue;
    const isWanted = narrow?.is?.includes(state) === true;
    if (isWanted === isIn) readAgain(cache, variables);
    else change(cache, variables, (list) => without(list, ids));
  }
}

/**
 * Invalidates the lists that a message may have entered or left because its state changed without an event.
 *
 * @param mayBeIn Whether the message may be in that state.
 */
export function reviewState(cache: Cache, id: string, state: MessageState, mayBeIn: boolean): void {
  rereadWhatComes((narrow) => asksFor(narrow, state));
  for (const variables of lists(cache)) {
    if (!asksFor(variables.narrow, state)) continue;
    let isThere = false;
    change(cache, variables, (list) => {
      isThere = list.nodes.some((one) => one.id === id);
      return list;
    });
    if (isThere !== mayBeIn) readAgain(cache, variables);
  }
}

function without(list: List, ids: ReadonlySet<string>): List {
  const nodes = list.nodes.filter(({ id }) => !ids.has(id));
  return nodes.length === list.nodes.length ? list : { ...list, nodes };
}
