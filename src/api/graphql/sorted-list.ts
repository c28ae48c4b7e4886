import type { GraphQLResolveInfo } from 'graphql';
import type PrismaTypes from '../../generated/pothos.ts';
import type { Keyset, Place, SortKey } from '../../platform/db/keyset.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { parseJson } from '../../platform/json.ts';
import { type Connection, type ConnectionArguments, Edge, isBackward, paged, readSelected } from './connection.ts';
import type { GraphQLContext } from './context.ts';
import type { OrderBy } from './order-by.ts';
import { pageSize } from './page-size.ts';

/** How names are compared: whatever their case, and accents beside their letters. */
const NAMES = new Intl.Collator('en');

function compare(a: Place, b: Place): number {
  const isNumeric = typeof a.key === 'number' && typeof b.key === 'number';
  const byKey = isNumeric ? Number(a.key) - Number(b.key) : NAMES.compare(String(a.key), String(b.key));
  return byKey || a.id - b.id;
}

/** A sorted list, and what page of it is asked for. */
export interface Sorted {
  /** The list's own word, so that cursors of others are told apart. */
  readonly list: string;
  readonly orderBy: OrderBy<string>;
  /** Of what it is sorted by. */
  readonly keyType: 'string' | 'number';
  readonly args: ConnectionArguments;
  /** The most rows of a page, where that is not 100. */
  readonly max?: number | undefined;
}

/** A page of a sorted list. */
export interface SortedPage<P extends Place = Place> {
  /** In the order shown. */
  readonly places: readonly P[];
  /** Whether there are rows beyond its end, in the direction read. */
  readonly more: boolean;
}

/**
 * Which rows a query is to read for a page, with one more than it shows.
 *
 * @throws BadRequestError for a page size outside 0 to `max`, and a cursor of another list or of another `field`.
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

/** The page that was read by a `keysetOf`. @param found In the order in which the query came to them. */
export function pageRead<P extends Place>(found: readonly P[], { args, max }: Sorted): SortedPage<P> {
  const size = pageSize(args, max);
  const places = found.slice(0, size);
  return { places: isBackward(args) ? places.reverse() : places, more: found.length > size };
}

/** The page of a list that is known as a whole. @throws BadRequestError as `keysetOf`. */
export function pageAmong(all: readonly Place[], sorted: Sorted): SortedPage {
  const { above, below, limit, descending } = keysetOf(sorted);
  const within = all
    .filter((place) => above === undefined || compare(place, above) > 0)
    .filter((place) => below === undefined || compare(place, below) < 0)
    .sort((a, b) => (descending ? compare(b, a) : compare(a, b)));
  return pageRead(within.slice(0, limit), sorted);
}

interface RowsOptions<Model extends keyof PrismaTypes> extends Sorted {
  /** Which rows there are in the list, for this viewer. */
  readonly where: PrismaTypes[Model]['Where'];
  /** The column that tells rows apart within the list, where that is not `id`. */
  readonly idColumn?: string;
  readonly ctx: GraphQLContext;
  readonly info: GraphQLResolveInfo;
  /** The GraphQL type, where it is not called as the model is. */
  readonly typeName?: string;
}

interface ListOptions<Model extends keyof PrismaTypes> extends RowsOptions<Model> {
  /** All there are in the list: an organisation or a person has some thousands of it at most. */
  readonly places: readonly Place[];
}

/** A page of a sorted list whose rows were all read beforehand. @throws BadRequestError as `keysetOf`. */
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
 * One page of a Relay connection that is sorted by names as people read them, or by what no column holds: the whole list is
 * sorted, and the page is read.
 *
 * @throws BadRequestError for a page size outside 0 to `max`, and a cursor of another list or of another `field`.
 */
export const sortedPageOf = <Model extends keyof PrismaTypes & string>(
  model: Model,
  { places, ...options }: ListOptions<Model>,
) => readPage(model, { ...options, page: pageAmong(places, options), totalCount: () => places.length });

/**
 * The rows of a page of a sorted list, as a Relay connection, with what is selected of them. A cursor holds what its row
 * was sorted by and the row's id, so that a page goes on at the right place although the row has changed since or is gone;
 * it means the same whichever way the list is sorted.
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
  /** All there are in the list. */
  readonly places: readonly Place[];
  /** The rows of the ids that are still there, in whatever order. */
  readonly read: (ids: readonly number[]) => Promise<readonly Row[]>;
  readonly idOf: (row: Row) => number;
}

/** The same where the rows of a page are not read by what is selected of them. */
export async function sortedRows<Row>({ places, read, idOf, ...sorted }: ReadOptions<Row>): Promise<Connection<Row>> {
  const page = pageAmong(places, sorted);
  const rows = await read(page.places.map(({ id }) => id));
  return sortedConnection(rows, page, { ...sorted, idOf, totalCount: () => places.length });
}

interface Found<Row> extends Sorted {
  readonly idOf: (row: Row) => number;
  readonly totalCount: Connection<Row>['totalCount'];
}

/** The same of rows that were read beforehand, in whatever order; without those that went meanwhile. */
export function sortedConnection<Row>(
  rows: readonly Row[],
  page: SortedPage,
  { idOf, totalCount, ...sorted }: Found<Row>,
): Connection<Row> {
  const byId = new Map(rows.map((row) => [idOf(row), row]));
  return { ...connectionOf(page, ({ id }) => byId.get(id), sorted), totalCount };
}

/** The same of what its place leads to; undefined where it went meanwhile. */
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

const cursorOf = (sorted: Sorted, { key, id }: Place): string =>
  Buffer.from(JSON.stringify([wordOf(sorted), key, id])).toString('base64url');

/** The place in a cursor; undefined when none was given. */
function placeInCursor(sorted: Sorted, name: 'after' | 'before'): Place | undefined {
  const cursor = sorted.args[name];
  if (cursor == null) return undefined;
  const [word, key, id] = partsOf(cursor);
  const isPlace = typeof key === sorted.keyType && isKey(key) && Number.isSafeInteger(id);
  if (word === wordOf(sorted) && isPlace) return { key, id: Number(id) };
  const isOfField = String(word).startsWith(`${sorted.list} by `) && word !== wordOf(sorted);
  throw new BadRequestError(`"${name}" is not a cursor of this list${isOfField ? ', sorted as it is' : ''}`);
}

function partsOf(cursor: string): readonly unknown[] {
  try {
    const parts = parseJson(Buffer.from(cursor, 'base64url').toString(), 'A cursor');
    return Array.isArray(parts) ? parts : [];
  } catch {
    return [];
  }
}

/** Cursors are the client's to tamper with: what the database cannot take is no key. */
const isKey = (key: unknown): key is SortKey =>
  typeof key === 'string' ? key.isWellFormed() && !key.includes('\0') : Number.isSafeInteger(key);
