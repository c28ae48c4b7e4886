import type { Cache, FieldArgs } from '@urql/exchange-graphcache';
import {
  type MessageState,
  TimelineOrderDocument as TimelineOrder,
  type TimelineOrderQuery,
  type TimelineOrderQueryVariables as Variables,
} from '../generated/graphql.ts';
import { isFollowed } from './followed.ts';
import { asksFor, belongsTo, narrowKey, type Placed } from './narrow.ts';
import { noteForgotten } from './reread.ts';

// The lists of messages in the cache, newest first. `hasNextPage` says whether there are older ones, `hasPreviousPage`
// whether there are newer ones. Nothing here reads a message whole.

/** How many messages a list shows at most: what a browser lays out without effort, and finds with its own search. */
const WINDOW = 300;
/** What a list may grow by before it is cut, so that not every message cuts one. */
const SLACK = 50;
/** As the documents ask for them: what tells a list from the pages that continue it. */
export const PAGE = 50;

/** A list as it was asked for. */
export type ListOf = Variables;
type List = NonNullable<TimelineOrderQuery['messages']>;
export type Place = List['nodes'][number];

/** The lists in the cache. */
function lists(cache: Cache): Variables[] {
  return cache
    .inspectFields('Query')
    .filter(
      ({ fieldName, arguments: args }) => fieldName === 'messages' && args?.['first'] === PAGE && args['last'] === PAGE,
    )
    .map(({ arguments: args }) => args as unknown as Variables);
}

/** A list that is changed is written, of which `catchUp` is told as of one that was read. */
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

/** Has a list read again by whoever shows it. */
const readAgain = (cache: Cache, variables: Variables): void =>
  cache.invalidate('Query', 'messages', variables as unknown as FieldArgs);

/** Has what is on its way read once more: it may be of before something that is done to the lists. */
const rereadWhatComes = (isConcerned?: (narrow: Variables['narrow']) => boolean): void =>
  noteForgotten('messages', (asked) => isConcerned?.((asked as Partial<Variables>).narrow) ?? true);

/** How many new messages are remembered for lists that are being read. */
const REMEMBERED = 200;
let news: readonly { readonly place: Place; readonly message: Placed }[] = [];

/** Puts a new message into every list it belongs to, if that reaches to its end. */
export function append(cache: Cache, place: Place, message: Placed): void {
  news = [...news.slice(1 - REMEMBERED), { place, message }];
  for (const variables of lists(cache)) {
    if (belongsTo(variables.narrow, message) !== true) continue;
    const key = narrowKey(variables.narrow);
    change(cache, variables, (list) => appended(list, place, isFollowed(key)));
  }
}

/** A list has been read: puts in what came while it was, and the service did not know of yet. */
export function catchUp(cache: Cache, variables: Variables): void {
  if (isChanging) return;
  const key = narrowKey(variables.narrow);
  for (const { place, message } of news) {
    if (belongsTo(variables.narrow, message) !== true) continue;
    change(cache, variables, (list) =>
      place.databaseId > (list.nodes[0]?.databaseId ?? 0) ? appended(list, place, isFollowed(key)) : list,
    );
  }
}

function appended(list: List, place: Place, canLoseOldest: boolean): List {
  if (list.pageInfo.hasPreviousPage || list.nodes.some(({ id }) => id === place.id)) return list;
  if (list.nodes.length < WINDOW + SLACK) return { ...list, nodes: inOrder([place, ...list.nodes]) };
  // Whoever looks at older ones finds the rest by scrolling down.
  if (!canLoseOldest) return { ...list, pageInfo: { ...list.pageInfo, hasPreviousPage: true } };
  const nodes = inOrder([place, ...list.nodes]).slice(0, WINDOW);
  return { ...list, nodes, pageInfo: { ...list.pageInfo, hasNextPage: true } };
}

const inOrder = (places: readonly Place[]): Place[] => places.toSorted((a, b) => b.databaseId - a.databaseId);

/** A page, as it was asked for. */
export interface PageOf {
  readonly narrow: Variables['narrow'];
  /** The message it begins at, which it holds itself. */
  readonly messageId: string;
  readonly isOlder: boolean;
  readonly page: List;
}

/** Continues every list of the narrow that ends where the page begins, and cuts its other end off when it gets long. */
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

/** Takes messages that are gone out of all lists. */
export function remove(cache: Cache, ids: ReadonlySet<string>): void {
  news = news.filter(({ place }) => !ids.has(place.id));
  rereadWhatComes();
  for (const variables of lists(cache)) change(cache, variables, (list) => without(list, ids));
}

/** Takes messages that are elsewhere now out of the lists they no longer belong to, and has those they came to read anew. */
export function move(cache: Cache, moved: readonly { readonly id: string; readonly to: Placed }[]): void {
  const places = new Map(moved.map(({ id, to }) => [id, to]));
  rereadWhatComes();
  news = news.map(({ place, message }) => ({ place, message: { ...message, ...places.get(place.id) } }));
  for (const variables of lists(cache)) {
    const gone = new Set(moved.filter(({ to }) => belongsTo(variables.narrow, to) === false).map(({ id }) => id));
    let isMissing = false;
    change(cache, variables, (list) => {
      const ids = new Set(list.nodes.map(({ id }) => id));
      isMissing = moved.some(({ id, to }) => belongsTo(variables.narrow, to) === true && !ids.has(id));
      return without(list, gone);
    });
    if (isMissing) readAgain(cache, variables);
  }
}

/**
 * Messages are in a state to the viewer from now on, or no longer: takes them out of the lists of those that are in it, and
 * has lists that may lack one of them read anew. Which of them belong there, and what they say, the service knows.
 */
export function changeState(cache: Cache, ids: ReadonlySet<string>, state: MessageState, isIn: boolean): void {
  news = news.map((one) =>
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
 * A message may be in another state to the viewer than before, which nobody says: has the lists read anew that it may belong
 * to now, or no longer.
 *
 * @param mayBeIn Whether it may be in that state.
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
