import type { GraphQLResolveInfo } from 'graphql';
import type PrismaTypes from '../../../generated/pothos.ts';
import type { Keyset, Place, SortKey } from '../../../platform/db/keyset.ts';
import type { GraphQLContext } from '../loading/context.ts';
import { type Connection, type ConnectionArguments, Edge, isBackward, paged, readSelected } from './connection.ts';
import { formatCursor, isStorable, notOfList, readCursor } from './cursors.ts';
import type { OrderBy } from './order-by.ts';
import { pageSize } from './page-size.ts';

/** Compares names as people sort them: by letters first, then by accents and case. */
const NAMES = new Intl.Collator('en');

function compare(a: Place, b: Place): number {
  const isNumeric = typeof a.key === 'number' && typeof b.key === 'number';
  const byKey = isNumeric ? Number(a.key) - Number(b.key) : NAMES.compare(String(a.key), String(b.key));
  return byKey || a.id - b.id;
}

/** A sorted list, and the page of it that a request asks for. */
export interface Sorted {
  /** Name of the list, which distinguishes its cursors from those of other lists. */
  readonly list: string;
  readonly orderBy: OrderBy<string>;
  /** Type of the value by which rows are sorted. */
  readonly keyType: 'string' | 'number';
  readonly args: ConnectionArguments;
  /** Largest page size. Default: 100. */
  readonly max?: number | undefined;
}

/** A page of a sorted list. */
export interface SortedPage<P extends Place = Place> {
  /** Sort keys and ids of the rows on the page, in the order of the list. */
  readonly places: readonly P[];
  /** Whether the list has further rows after the last row that was read, in the direction of reading. */
  readonly more: boolean;
}

/**
 * Returns the bounds, order and limit with which a query must read the rows of a page. The limit is one more than the page
 * size, which shows whether further rows follow.
 *
 * @throws BadRequestError if the page size is not within 0 to `max`, or a cursor belongs to another list or sort field.
 */
export function keysetOf(sorted: Sorted): Keyset {
  const { orderBy, args, max } = sorted;
  const [after, before] = [placeInCursor(sorted, 'after'), placeInCursor(sorted, 'before')];
  const upwards = orderBy.direction === 'asc';
  return {
    above: upwards ? after : before,
    below: upwards ? before : after,
    limit: pageSize(args, max) + 1,
    descending: upwards === isBackward(args),
  };
}

/**
 * Returns the page for the rows that a query found with the bounds of `keysetOf`.
 *
 * @param found In the order of the query, one more than the page size at most.
 */
export function pageRead<P extends Place>(found: readonly P[], { args, max }: Sorted): SortedPage<P> {
  const size = pageSize(args, max);
  const places = found.slice(0, size);
  return { places: isBackward(args) ? places.reverse() : places, more: found.length > size };
}

/** Returns a page of a list, all rows of which are given. @throws BadRequestError under the conditions of `keysetOf`. */
export function pageAmong(all: readonly Place[], sorted: Sorted): SortedPage {
  const { above, below, limit, descending } = keysetOf(sorted);
  const within = all
    .filter((place) => above === undefined || compare(place, above) > 0)
    .filter((place) => below === undefined || compare(place, below) < 0)
    .sort((a, b) => (descending ? compare(b, a) : compare(a, b)));
  return pageRead(within.slice(0, limit), sorted);
}

interface RowsOptions<Model extends keyof PrismaTypes> extends Sorted {
  /** The condition for rows in the list, for this viewer. */
  readonly where: PrismaTypes[Model]['Where'];
  /** The column that identifies a row within the list, if it is not `id`. */
  readonly idColumn?: string;
  readonly ctx: GraphQLContext;
  readonly info: GraphQLResolveInfo;
  /** The GraphQL type, if its name differs from that of the model. */
  readonly typeName?: string;
}

interface ListOptions<Model extends keyof PrismaTypes> extends RowsOptions<Model> {
  /** Sort keys and ids of all rows of the list. An organization or a user has at most a few thousand. */
  readonly places: readonly Place[];
}

/**
 * Returns a page of a sorted list as a Relay connection. All rows of the list are given.
 *
 * @throws BadRequestError under the conditions of `keysetOf`.
 */
export function sortedAmong<Row>(
  rows: readonly Row[],
  placeOf: (row: Row) => Place,
  sorted: Sorted,
): Connection<Row> & { readonly totalCount: () => number } {
  const byPlace = new Map(rows.map((row) => [placeOf(row), row]));
  const page = pageAmong([...byPlace.keys()], sorted);
  return { ...connectionOf(page, (place) => byPlace.get(place), sorted), totalCount: () => rows.length };
}

interface PageOptions<Model extends keyof PrismaTypes> extends RowsOptions<Model> {
  readonly page: SortedPage;
  readonly totalCount: Connection<unknown>['totalCount'];
}

/**
 * Reads one page of a Relay connection whose order the database cannot provide: names as people sort them, or a value that is
 * not a column. The sort keys of the whole list are sorted in memory, and then the rows of the page are loaded.
 *
 * @throws BadRequestError if the page size is not within 0 to `max`, or a cursor belongs to another list or sort field.
 */
export const sortedPageOf = <Model extends keyof PrismaTypes & string>(
  model: Model,
  { places, ...options }: ListOptions<Model>,
) => readPage(model, { ...options, page: pageAmong(places, options), totalCount: () => places.length });

/**
 * Reads the rows on a page of a sorted list, with their selected relations, as a Relay connection. A cursor contains the
 * sort key and id of its row. Paging therefore continues at the right place even if the row was changed or deleted. A cursor
 * is valid in both sort directions.
 */
export async function readPage<Model extends keyof PrismaTypes & string>(
  model: Model,
  { page, where, idColumn = 'id', ctx, info, typeName = model, ...sorted }: PageOptions<Model>,
): Promise<Connection<PrismaTypes[Model]['Shape']>> {
  const ids = page.places.map(({ id }) => id);
  const rows = await readSelected(model, { AND: [where, { [idColumn]: { in: ids } }] }, { ctx, info, typeName });
  return sortedConnection(rows, page, { ...sorted, idOf: (row) => Number(Reflect.get(row, idColumn)) });
}

interface ReadOptions<Row> extends Sorted {
  /** Sort keys and ids of all rows of the list. */
  readonly places: readonly Place[];
  /** Loads the rows with these ids that still exist, in any order. */
  readonly read: (ids: readonly number[]) => Promise<readonly Row[]>;
  readonly idOf: (row: Row) => number;
}

/** Reads one page like `sortedPageOf`. The rows are loaded by `read`, whatever relations are selected. */
export async function sortedRows<Row>({ places, read, idOf, ...sorted }: ReadOptions<Row>): Promise<Connection<Row>> {
  const page = pageAmong(places, sorted);
  const rows = await read(page.places.map(({ id }) => id));
  return sortedConnection(rows, page, { ...sorted, idOf, totalCount: () => places.length });
}

interface Found<Row> extends Sorted {
  readonly idOf: (row: Row) => number;
  readonly totalCount: Connection<Row>['totalCount'];
}

/**
 * Returns the Relay connection of a page whose rows were read beforehand, in any order. Rows that were deleted in the meantime
 * are left out.
 */
export function sortedConnection<Row>(
  rows: readonly Row[],
  page: SortedPage,
  { idOf, totalCount, ...sorted }: Found<Row>,
): Connection<Row> {
  const byId = new Map(rows.map((row) => [idOf(row), row]));
  return { ...connectionOf(page, ({ id }) => byId.get(id), sorted), totalCount };
}

/**
 * Returns the Relay connection of a page.
 *
 * @param rowAt Returns the row with this sort key and id; undefined if it was deleted in the meantime.
 */
export function connectionOf<P extends Place, Row>(
  { places, more }: SortedPage<P>,
  rowAt: (place: P) => Row | undefined,
  sorted: Sorted,
): Connection<Row> {
  const edges = places.flatMap((place) => {
    const node = rowAt(place);
    return node === undefined ? [] : [new Edge(node, () => cursorOf(sorted, place))];
  });
  return paged(edges, more, sorted.args);
}

const wordOf = ({ list, orderBy: { field } }: Sorted): string => `${list} by ${field}`;

const cursorOf = (sorted: Sorted, { key, id }: Place): string => formatCursor(wordOf(sorted), key, id);

/** Returns the sort key and id in a cursor of the request; undefined if it has no such cursor. */
function placeInCursor(sorted: Sorted, name: 'after' | 'before'): Place | undefined {
  const cursor = sorted.args[name];
  if (cursor == null) return undefined;
  const [word, key, id] = readCursor(cursor);
  const isPlace = typeof key === sorted.keyType && isKey(key) && Number.isSafeInteger(id);
  if (word === wordOf(sorted) && isPlace) return { key, id: Number(id) };
  const isOfField = String(word).startsWith(`${sorted.list} by `) && word !== wordOf(sorted);
  throw notOfList(name, isOfField ? ' in this sort order' : '');
}

/** Whether a value can be a sort key that the database accepts. Clients can tamper with cursors. */
const isKey = (key: unknown): key is SortKey => (typeof key === 'string' ? isStorable(key) : Number.isSafeInteger(key));
