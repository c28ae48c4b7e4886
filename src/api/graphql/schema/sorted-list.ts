import type { GraphQLResolveInfo } from 'graphql';
import { signedIn } from '../../../access/context.ts';
import type PrismaTypes from '../../../generated/pothos.ts';
import { Prisma } from '../../../generated/prisma/client.ts';
import { type Keyset, nameKey, type RowKey, type SortColumn, type SortKey } from '../../../platform/db/keyset.ts';
import { countRows, type ListedRows, readRowKeys } from '../../../platform/db/places.ts';
import { readRows } from '../../../platform/db/rows.ts';
import { forAllViewers, type GraphQLContext } from '../loading/context.ts';
import {
  type Connection,
  type ConnectionArguments,
  Edge,
  isBackward,
  paged,
  readSelected,
  type Uncounted,
} from './connection.ts';
import { formatCursor, isStorable, notOfList, readCursor } from './cursors.ts';
import type { OrderBy } from './order-by.ts';
import { pageSize } from './page-size.ts';

/** Loads the keys by which names are sorted. The keys are compared as bytes of UTF-8. */
const nameKeys = forAllViewers<string, Buffer>(async (db, _organizationId, names) => {
  const rows = await readRows<{ name: string; key: string }>(
    db,
    Prisma.sql`SELECT name, ${nameKey(Prisma.sql`name`)} AS key FROM unnest(${[...names]}::text[]) AS n(name)`,
  );
  const keys = new Map(rows.map(({ name, key }) => [name, Buffer.from(key)]));
  return (name) => keys.get(name) ?? new Error('No sort key was read');
});

/** A sorted list, and the page that a request asks for. */
export interface Sorted {
  /** Name of the list, which distinguishes its cursors from cursors of other lists. */
  readonly list: string;
  readonly orderBy: OrderBy<string>;
  /** Type of the sort key, the value by which rows are sorted. */
  readonly keyType: 'string' | 'number';
  readonly args: ConnectionArguments;
  /** Maximum page size. A larger `first` or `last` is refused with `ValidationError`. Default: 100. */
  readonly max?: number | undefined;
}

/** A page of a sorted list. */
export interface SortedPage<P extends RowKey = RowKey> {
  /** Sort keys and ids of the rows on the page, in the order of the list. */
  readonly rowKeys: readonly P[];
  /** Whether the list has further rows after the last row that was read, in the direction of reading. */
  readonly more: boolean;
}

/**
 * Returns the bounds, order and limit of the query for the rows of a page. The limit is one more than the page size, so that an
 * extra row shows whether further rows follow.
 *
 * @throws ValidationError if the page size is not within 0 to `max`, or a cursor belongs to another list or sort field.
 */
export function keysetOf(sorted: Sorted): Keyset {
  const { orderBy, args, max } = sorted;
  const [after, before] = [rowKeyInCursor(sorted, 'after'), rowKeyInCursor(sorted, 'before')];
  const upwards = orderBy.direction === 'asc';
  return {
    above: upwards ? after : before,
    below: upwards ? before : after,
    limit: pageSize(args, max) + 1,
    descending: upwards === isBackward(args),
  };
}

/**
 * Returns a page of a sorted list, made from the rows that a query with the bounds of `keysetOf` returned.
 *
 * @param found The rows in the order of the query, at most one more than the page size.
 */
export function pageRead<P extends RowKey>(found: readonly P[], { args, max }: Sorted): SortedPage<P> {
  const size = pageSize(args, max);
  const rowKeys = found.slice(0, size);
  return { rowKeys: isBackward(args) ? rowKeys.reverse() : rowKeys, more: found.length > size };
}

/**
 * Returns a page of a list, given the sort keys and ids of all its rows. Names are sorted as in lists that the database sorts.
 *
 * @throws ValidationError as in `keysetOf`.
 */
export async function pageAmong(all: readonly RowKey[], sorted: Sorted, ctx: GraphQLContext): Promise<SortedPage> {
  const { above, below, limit, descending } = keysetOf(sorted);
  const bounds = [above, below].filter((bound) => bound !== undefined);
  const names = new Set([...all, ...bounds].map(({ key }) => key).filter((key) => typeof key === 'string'));
  const ranks = new Map<SortKey, Buffer>();
  await Promise.all([...names].map(async (name) => ranks.set(name, await nameKeys(ctx).load(name))));
  const compare = (a: RowKey, b: RowKey) => {
    const [one, other] = [ranks.get(a.key), ranks.get(b.key)];
    return (one && other ? Buffer.compare(one, other) : Number(a.key) - Number(b.key)) || a.id - b.id;
  };
  const within = all
    .filter((rowKey) => above === undefined || compare(rowKey, above) > 0)
    .filter((rowKey) => below === undefined || compare(rowKey, below) < 0)
    .sort((a, b) => (descending ? compare(b, a) : compare(a, b)));
  return pageRead(within.slice(0, limit), sorted);
}

interface RowsOptions<Model extends keyof PrismaTypes> extends Sorted {
  /** The database condition for the rows that are in the list for this viewer. */
  readonly where: PrismaTypes[Model]['Where'];
  /** The column that identifies a row within the list, if it is not `id`. */
  readonly idColumn?: string;
  readonly ctx: GraphQLContext;
  readonly info: GraphQLResolveInfo;
  /** The name of the GraphQL type, if it differs from the name of the model. */
  readonly typeName?: string;
}

interface ListOptions<Model extends keyof PrismaTypes> extends RowsOptions<Model> {
  /**
   * The table and SQL condition that select the rows of the list. They must select the same rows as `RowsOptions.where`, the
   * condition in the form of Prisma.
   */
  readonly rows: ListedRows;
  readonly column: SortColumn;
  /** The column `id` of the table. */
  readonly id: Prisma.Sql;
}

/**
 * Returns a page of a sorted list as a Relay connection, given all rows of the list.
 *
 * @throws ValidationError if the page size is not within 0 to `max`, or a cursor belongs to another list or sort field.
 */
export async function sortedAmong<Row>(
  rows: readonly Row[],
  rowKeyOf: (row: Row) => RowKey,
  sorted: Sorted,
  ctx: GraphQLContext,
): Promise<Connection<Row> & { readonly totalCount: () => number }> {
  const byRowKey = new Map(rows.map((row) => [rowKeyOf(row), row]));
  const page = await pageAmong([...byRowKey.keys()], sorted, ctx);
  return { ...connectionOf(page, (rowKey) => byRowKey.get(rowKey), sorted), totalCount: () => rows.length };
}

interface PageOptions<Model extends keyof PrismaTypes> extends RowsOptions<Model> {
  readonly page: SortedPage;
  readonly totalCount: Connection<unknown>['totalCount'];
}

/**
 * Reads one page of a Relay connection in two steps: the sort keys and ids of the page, then its rows with their selected
 * relations.
 *
 * @throws ValidationError if the page size is not within 0 to `max`, or a cursor belongs to another list or sort field.
 */
export async function sortedPageOf<Model extends keyof PrismaTypes & string>(
  model: Model,
  { rows, column, id, ...options }: ListOptions<Model>,
): Promise<Connection<PrismaTypes[Model]['Shape']>> {
  const { work, organizationId } = signedIn(options.ctx);
  const at = { db: work.db, organizationId };
  const page = pageRead(await readRowKeys(at, rows, column, id, keysetOf(options)), options);
  return readPage(model, { ...options, page, totalCount: () => countRows(at, rows) });
}

/**
 * Reads the rows on a page of a sorted list, with their selected relations, as a Relay connection. A cursor contains the sort
 * key and id of its row. Paging therefore continues at the right position even if the row was changed or deleted. A cursor is
 * valid in both sort directions.
 */
async function readPage<Model extends keyof PrismaTypes & string>(
  model: Model,
  { page, where, idColumn = 'id', ctx, info, typeName = model, ...sorted }: PageOptions<Model>,
): Promise<Connection<PrismaTypes[Model]['Shape']>> {
  const ids = page.rowKeys.map(({ id }) => id);
  const rows = await readSelected(model, { AND: [where, { [idColumn]: { in: ids } }] }, { ctx, info, typeName });
  return sortedConnection(rows, page, { ...sorted, idOf: (row) => Number(Reflect.get(row, idColumn)) });
}

interface Found<Row> extends Sorted {
  readonly idOf: (row: Row) => number;
  readonly totalCount: Connection<Row>['totalCount'];
}

/**
 * Returns the Relay connection for a page whose rows were read before this call, in any order. Rows that were deleted after
 * their sort keys were read are left out.
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
 * @param rowAt Returns the row with this sort key and id; undefined if it was deleted after its sort key was read.
 */
export function connectionOf<P extends RowKey, Row>(
  { rowKeys, more }: SortedPage<P>,
  rowAt: (rowKey: P) => Row | undefined,
  sorted: Sorted,
): Uncounted<Row> {
  const edges = rowKeys.flatMap((rowKey) => {
    const node = rowAt(rowKey);
    return node === undefined ? [] : [new Edge(node, () => cursorOf(sorted, rowKey))];
  });
  return paged(edges, more, sorted.args);
}

const wordOf = ({ list, orderBy: { field } }: Sorted): string => `${list} by ${field}`;

const cursorOf = (sorted: Sorted, { key, id }: RowKey): string => formatCursor(wordOf(sorted), key, id);

/** Returns the sort key and id in the cursor of the argument `after` or `before`. Undefined if the argument is absent. */
function rowKeyInCursor(sorted: Sorted, name: 'after' | 'before'): RowKey | undefined {
  const cursor = sorted.args[name];
  if (cursor == null) return undefined;
  const [word, key, id] = readCursor(cursor);
  const isPlace = typeof key === sorted.keyType && isKey(key) && Number.isSafeInteger(id);
  if (word === wordOf(sorted) && isPlace) return { key, id: Number(id) };
  const isOfField = String(word).startsWith(`${sorted.list} by `) && word !== wordOf(sorted);
  throw notOfList(name, isOfField ? ' in this sort order' : '');
}

/**
 * Maximum length of a sort key in a cursor, in UTF-16 code units. Cursors with longer keys are refused with `ValidationError`.
 * All names that the service stores are shorter.
 */
const MAX_KEY_LENGTH = 1_000;

/** Returns whether a value can be a sort key that the database accepts. Clients can tamper with cursors. */
const isKey = (key: unknown): key is SortKey =>
  typeof key === 'string' ? key.length <= MAX_KEY_LENGTH && isStorable(key) : Number.isSafeInteger(key);
