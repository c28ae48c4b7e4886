import { queryFromInfo } from '@pothos/plugin-prisma';
import type { GraphQLResolveInfo } from 'graphql';
import type PrismaTypes from '../../../generated/pothos.ts';
import { getDatamodel } from '../../../generated/pothos.ts';
import type { GraphQLContext } from '../loading/context.ts';
import { builder } from './builder.ts';
import { formatCursor, formatIdCursor, isStorable, notOfList, readCursor } from './cursors.ts';
import { type PageArguments, pageSize } from './page-size.ts';

export interface ConnectionArguments extends PageArguments {
  readonly after?: string | null | undefined;
  readonly before?: string | null | undefined;
}

export type Direction = 'asc' | 'desc';
/** The columns by which rows are sorted, most significant first, each with its direction. */
export type Order = Readonly<Record<string, Direction>>;
type Value = string | number | Date;

/** A page of a Relay connection, as `t.connection` resolves it. */
export interface Connection<Row> {
  readonly edges: { readonly cursor: string; readonly node: Row }[];
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly startCursor: string | null;
    readonly endCursor: string | null;
  };
  /** Returns the number of items in the whole list. Called only if the field `totalCount` is selected. */
  readonly totalCount: () => number | Promise<number>;
}

/** A page whose list is not counted yet. */
export type Uncounted<Row> = Omit<Connection<Row>, 'totalCount'>;

builder.globalConnectionField('totalCount', (t) =>
  t.int({
    nullable: true,
    description:
      'Number of items in the whole list that the viewer can see. At most 1,000 for a list of messages. Null, ' +
      'with an error, only if counting failed.',
    complexity: { field: 1 },
    resolve: ({ totalCount }) => totalCount(),
  }),
);

/** Options of `pageOf`: the rows of a model that a list contains, their order, and the requested page. */
interface PageOptions<Model extends keyof PrismaTypes> {
  /** The database condition for the rows that are in the list for this viewer. */
  readonly where: PrismaTypes[Model]['Where'];
  /**
   * Sort columns, most significant first, each with its direction. Two rows must differ in at least one of these columns. Times
   * must be written by the application, with a precision of milliseconds, which is the precision of cursors. Otherwise rows
   * would be skipped or repeated.
   */
  readonly order: Order;
  readonly args: ConnectionArguments;
  readonly ctx: GraphQLContext;
  readonly info: GraphQLResolveInfo;
  /** The name of the GraphQL type, if it differs from the name of the model. */
  readonly typeName?: string;
  /**
   * Maximum page size. A larger `first` or `last` is refused with `ValidationError`. Default: 100. The `complexity` of the
   * field must use the same size.
   */
  readonly max?: number;
}

/** The methods of a Prisma model that paging uses. */
interface Delegate<Row> {
  findMany(query: object): Promise<Row[]>;
  count(query: object): Promise<number>;
}

/**
 * Reads one page of a Relay connection. A cursor contains the values of the sort columns of its row. Paging therefore continues
 * at the right position even if that row was changed or deleted.
 *
 * @throws ValidationError if the page size is not within 0 to `max`, or a cursor belongs to another list.
 */
export async function pageOf<Model extends keyof PrismaTypes & string>(
  model: Model,
  { where, order, args, ctx, info, typeName = model, max }: PageOptions<Model>,
): Promise<Connection<PrismaTypes[Model]['Shape']>> {
  const delegate = delegateOf(ctx, model);
  const size = pageSize(args, max);
  const backward = isBackward(args);
  const keys = Object.keys(order);
  const bounds = [
    ...(args.after == null ? [] : [beyond(order, parseCursor(model, keys, args.after, 'after'))]),
    ...(args.before == null ? [] : [beyond(reversed(order), parseCursor(model, keys, args.before, 'before'))]),
  ];
  const rows = await delegate.findMany({
    ...selectionOf({ ctx, info, typeName }),
    where: { AND: [where, ...bounds] },
    orderBy: Object.entries(backward ? reversed(order) : order).map(([key, direction]) => ({ [key]: direction })),
    take: size + 1,
  });
  const page = rows.slice(0, size);
  if (backward) page.reverse();
  const cursorOf = (row: (typeof page)[number]) => formatCursor(keys.join(), ...valuesOf(keys, row));
  const edges = page.map((node) => new Edge(node, cursorOf));
  return {
    ...paged(edges, rows.length > size, args),
    totalCount: () => delegate.count({ where }),
  };
}

interface Selected {
  readonly ctx: GraphQLContext;
  readonly info: GraphQLResolveInfo;
  readonly typeName: string;
}

/** Reads rows of a model, in no particular order, with the related rows that the selection of a connection needs. */
export const readSelected = <Model extends keyof PrismaTypes & string>(
  model: Model,
  where: object,
  selected: Selected,
) => delegateOf(selected.ctx, model).findMany({ ...selectionOf(selected), where });

function delegateOf<Model extends keyof PrismaTypes & string>(ctx: GraphQLContext, model: Model) {
  const name = `${model[0]?.toLowerCase()}${model.slice(1)}`;
  return Reflect.get(ctx.work.db, name) as Delegate<PrismaTypes[Model]['Shape'] & object>;
}

function selectionOf({ ctx, info, typeName }: Selected): object {
  const { include } = queryFromInfo({ context: ctx, info, typeName, paths: [['nodes'], ['edges', 'node']] });
  return include === undefined ? {} : { include };
}

/** Returns whether a page is read from the end of its list: if only `last` is given, not `first`. */
export const isBackward = ({ first, last }: ConnectionArguments): boolean => first == null && last != null;

/**
 * Returns a connection of these edges, with its `pageInfo`.
 *
 * @param more Whether the list has further rows after the last row that was read, in the direction of reading.
 */
export function paged<Row>(edges: Connection<Row>['edges'], more: boolean, args: ConnectionArguments): Uncounted<Row> {
  const backward = isBackward(args);
  return {
    edges,
    pageInfo: {
      ...{ hasNextPage: backward ? args.before != null : more, hasPreviousPage: backward ? more : args.after != null },
      ...endsOf(edges),
    },
  };
}

const endsOf = (edges: Connection<unknown>['edges']) => ({
  startCursor: edges.at(0)?.cursor ?? null,
  endCursor: edges.at(-1)?.cursor ?? null,
});

/**
 * An edge of a connection: a row and its cursor. The cursor is encoded when it is read, because most documents select no
 * cursors.
 */
export class Edge<Row> {
  readonly node: Row;
  readonly #cursorOf: (row: Row) => string;

  constructor(node: Row, cursorOf: (row: Row) => string) {
    this.node = node;
    this.#cursorOf = cursorOf;
  }

  get cursor(): string {
    return this.#cursorOf(this.node);
  }
}

/**
 * Returns the connection for a page of a list that is ordered by row ids. The rows of the page were already read. A cursor
 * contains the id of its row.
 *
 * @param list Name of the list, which distinguishes its cursors from cursors of other lists.
 * @param rows The rows of the page, in the order of the list.
 * @param page `more` is whether the list has further rows after the last row that was read, in the direction of reading.
 */
export function pageByIds<Row>(list: string, rows: readonly Row[], page: PageById<Row>): Uncounted<Row> {
  const { idOf, more, args } = page;
  const cursorOf = (row: Row) => formatIdCursor(list, idOf(row));
  const edges = rows.map((node) => new Edge(node, cursorOf));
  return paged(edges, more, args);
}

interface PageById<Row> {
  readonly idOf: (row: Row) => number | bigint;
  readonly more: boolean;
  readonly args: ConnectionArguments;
}

/**
 * Returns the row id in a cursor that `pageByIds` created and that the client sent as the argument `name`. Undefined if this
 * argument is absent.
 *
 * @throws ValidationError if the cursor belongs to another list.
 */
export function idInCursor(list: string, args: ConnectionArguments, name: 'after' | 'before'): number | undefined {
  const cursor = args[name];
  if (cursor == null) return undefined;
  const [word, id, ...rest] = readCursor(cursor);
  if (word === list && rest.length === 0 && Number.isSafeInteger(id) && Number(id) >= 0) return Number(id);
  throw notOfList(name);
}

/**
 * Returns one page of a list that is complete in memory. A cursor contains the index of its row.
 *
 * @throws ValidationError if the page size is not within 0 to 100, or a cursor belongs to another list.
 */
export function pageOfList<Row>(rows: readonly Row[], args: ConnectionArguments): Connection<Row> {
  const size = pageSize(args);
  const placeOf = (name: 'after' | 'before') => {
    const values = args[name] == null ? undefined : parseCursor(undefined, ['place'], args[name], name);
    return values === undefined ? undefined : Math.max(0, Number(values[0]));
  };
  const from = (placeOf('after') ?? -1) + 1;
  const to = Math.max(from, Math.min(placeOf('before') ?? rows.length, rows.length));
  const backward = isBackward(args);
  const start = backward ? Math.max(from, to - size) : from;
  const end = backward ? to : Math.min(to, from + size);
  const edges = rows.slice(start, end).map((node, i) => ({ cursor: formatCursor('place', start + i), node }));
  return {
    edges,
    pageInfo: { hasNextPage: end < rows.length, hasPreviousPage: start > 0, ...endsOf(edges) },
    totalCount: () => rows.length,
  };
}

function reversed(order: Order): Record<string, Direction> {
  return Object.fromEntries(Object.entries(order).map(([key, way]) => [key, way === 'asc' ? 'desc' : 'asc']));
}

/**
 * Returns the condition of a Prisma query for rows that follow the row with `values` in `order`. Such a row has a later value
 * in the first column in which it differs from `values`.
 */
function beyond(order: Order, values: readonly Value[]): object {
  const columns = Object.entries(order);
  const alternatives = columns.map(([key, direction], i) => ({
    ...Object.fromEntries(columns.slice(0, i).map(([before], j) => [before, values[j]])),
    [key]: { [direction === 'asc' ? 'gt' : 'lt']: values[i] },
  }));
  return { OR: alternatives };
}

/** Returns the values of the columns `keys` in a row, in the form in which a cursor contains them. */
const valuesOf = (keys: readonly string[], row: object): readonly unknown[] =>
  keys.map((key) => {
    const value: unknown = Reflect.get(row, key);
    if (value instanceof Date) return value.getTime();
    return typeof value === 'bigint' ? Number(value) : value;
  });

/**
 * Returns the values in a cursor.
 *
 * @param model Model that has the columns `keys`. Undefined if the cursor contains an index in a list.
 * @param name The argument that contained the cursor, for the error message.
 * @throws ValidationError if the cursor belongs to another list.
 */
function parseCursor(
  model: string | undefined,
  keys: readonly string[],
  cursor: string,
  name: 'after' | 'before',
): Value[] {
  const typeOf = (key: string) => (model === undefined ? 'Int' : columnType(model, key));
  const [list, ...sent] = readCursor(cursor);
  const isOfList = list === keys.join() && sent.length === keys.length;
  const values = isOfList ? keys.map((key, i) => asColumn(typeOf(key), sent[i])) : undefined;
  if (values?.every((value) => value !== undefined)) return values;
  throw notOfList(name);
}

const { models } = getDatamodel().datamodel;

function columnType(model: string, key: string): string {
  const column = models[model]?.fields.find(({ name }) => name === key);
  if (column === undefined) throw new Error(`${model} has no column ${key}`);
  return column.type;
}

const MAX_INT4 = 2_147_483_647;
/**
 * The minimum and maximum time that a cursor can contain, in milliseconds since 1970: from year 1 to 9999. The database and
 * JavaScript write the times in this range in the same format.
 */
const [FIRST_INSTANT, LAST_INSTANT] = [-62_135_596_800_000, 253_402_300_799_999];

/**
 * Converts a value in a cursor to the type of its column. Undefined if the column cannot contain the value. Clients can tamper
 * with cursors.
 */
function asColumn(type: string, value: unknown): Value | undefined {
  if (type === 'String') {
    return typeof value === 'string' && isStorable(value) ? value : undefined;
  }
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) return undefined;
  if (type === 'DateTime') return value >= FIRST_INSTANT && value <= LAST_INSTANT ? new Date(value) : undefined;
  return type === 'BigInt' || Math.abs(value) <= MAX_INT4 ? value : undefined;
}
