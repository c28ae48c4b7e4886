import { queryFromInfo } from '@pothos/plugin-prisma';
import type { GraphQLResolveInfo } from 'graphql';
import type PrismaTypes from '../../generated/pothos.ts';
import { getDatamodel } from '../../generated/pothos.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { parseJson } from '../../platform/json.ts';
import type { GraphQLContext } from './context.ts';
import { type PageArguments, pageSize } from './page-size.ts';

export interface ConnectionArguments extends PageArguments {
  readonly after?: string | null | undefined;
  readonly before?: string | null | undefined;
}

type Direction = 'asc' | 'desc';
type Value = string | number | Date;

/** What one page is read with: spread it into `findMany`, and put `where` beside the feature's `visibleTo`. */
export interface PageQuery<Model extends keyof PrismaTypes> {
  readonly where: PrismaTypes[Model]['Where'];
  readonly orderBy: PrismaTypes[Model]['OrderBy'][];
  readonly take: number;
  readonly include?: PrismaTypes[Model]['Include'];
}

interface Connection<Row> {
  readonly edges: { readonly cursor: string; readonly node: Row }[];
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly startCursor: string | null;
    readonly endCursor: string | null;
  };
}

/**
 * Reads one page of a Relay connection, in the given order. A cursor holds the values its row had, so a page goes on at
 * the right place although that row has changed or is gone since.
 *
 * @param order Columns and directions, from the most significant; together they must be unique. Times must have been
 *   written by the application: its clock and the cursor count milliseconds.
 * @param load Reads the rows: `(query) => db.draft.findMany({ ...query, where: { AND: [visibleTo(viewer), query.where] } })`.
 * @param typeName The GraphQL type, where it is not called as the model is.
 * @throws BadRequestError for a page size outside 0 to 100, or a cursor of another list.
 */
export async function pageOf<Model extends keyof PrismaTypes & string, Row extends object>(
  model: Model,
  order: Readonly<Record<string, Direction>>,
  args: ConnectionArguments,
  ctx: GraphQLContext,
  info: GraphQLResolveInfo,
  load: (query: PageQuery<Model>) => Promise<Row[]>,
  typeName: string = model,
): Promise<Connection<Row>> {
  const size = pageSize(args);
  const backward = args.first == null && args.last != null;
  const keys = Object.keys(order);
  const bounds = [
    ...(args.after == null ? [] : [beyond(order, parseCursor(model, keys, args.after, 'after'))]),
    ...(args.before == null ? [] : [beyond(reversed(order), parseCursor(model, keys, args.before, 'before'))]),
  ];
  const { include } = queryFromInfo({ context: ctx, info, typeName, paths: [['edges', 'node']] });
  const rows = await load({
    ...(include !== undefined && { include }),
    where: { AND: bounds } as PrismaTypes[Model]['Where'],
    orderBy: Object.entries(backward ? reversed(order) : order).map(([key, direction]) => ({ [key]: direction })),
    take: size + 1,
  });
  const more = rows.length > size;
  const page = rows.slice(0, size);
  if (backward) page.reverse();
  const edges = page.map((node) => ({ cursor: formatCursor(keys, node), node }));
  return {
    edges,
    pageInfo: {
      hasNextPage: backward ? args.before != null : more,
      hasPreviousPage: backward ? more : args.after != null,
      startCursor: edges.at(0)?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
  };
}

/**
 * One page of a list that goes by an id of its rows, read beforehand. A cursor is that id.
 *
 * @param list The list's own word, so that cursors of others are told apart.
 * @param rows The page, in the order shown. @param more Whether there are rows beyond its end, in the direction read.
 */
export function pageByIds<Row>(
  list: string,
  rows: readonly Row[],
  { idOf, more, args }: { idOf: (row: Row) => number | bigint; more: boolean; args: ConnectionArguments },
): Connection<Row> {
  const backward = args.first == null && args.last != null;
  const edges = rows.map((node) => ({ cursor: Buffer.from(`${list}:${idOf(node)}`).toString('base64url'), node }));
  return {
    edges,
    pageInfo: {
      hasNextPage: backward ? args.before != null : more,
      hasPreviousPage: backward ? more : args.after != null,
      startCursor: edges.at(0)?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
  };
}

/**
 * The id in a cursor of `pageByIds`; undefined when none was given.
 *
 * @throws BadRequestError for a cursor of another list.
 */
export function idInCursor(
  list: string,
  args: ConnectionArguments,
  name: 'after' | 'before',
  max = Number.MAX_SAFE_INTEGER,
): number | undefined {
  const cursor = args[name];
  if (cursor == null) return undefined;
  const [word, digits = '', ...rest] = Buffer.from(cursor, 'base64url').toString().split(':');
  const id = /^\d{1,16}$/.test(digits) ? Number(digits) : Number.NaN;
  if (word === list && rest.length === 0 && id <= max) return id;
  throw new BadRequestError(`"${name}" is not a cursor of this list`);
}

/**
 * One page of a list that is at hand as a whole. A cursor is a place in it.
 *
 * @throws BadRequestError for a page size outside 0 to 100, or a cursor of another list.
 */
export function pageOfList<Row>(rows: readonly Row[], args: ConnectionArguments): Connection<Row> {
  const size = pageSize(args);
  const placeOf = (name: 'after' | 'before') => {
    const values = args[name] == null ? undefined : parseCursor(undefined, ['place'], args[name], name);
    return values === undefined ? undefined : Math.max(0, Number(values[0]));
  };
  const from = (placeOf('after') ?? -1) + 1;
  const to = Math.max(from, Math.min(placeOf('before') ?? rows.length, rows.length));
  const backward = args.first == null && args.last != null;
  const start = backward ? Math.max(from, to - size) : from;
  const end = backward ? to : Math.min(to, from + size);
  const edges = rows
    .slice(start, end)
    .map((node, i) => ({ cursor: formatCursor(['place'], { place: start + i }), node }));
  return {
    edges,
    pageInfo: {
      hasNextPage: end < rows.length,
      hasPreviousPage: start > 0,
      startCursor: edges.at(0)?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
  };
}

function reversed(order: Readonly<Record<string, Direction>>): Record<string, Direction> {
  return Object.fromEntries(Object.entries(order).map(([key, way]) => [key, way === 'asc' ? 'desc' : 'asc']));
}

/** The rows after `values` in `order`: those that differ first in some column, and there lie behind. */
function beyond(order: Readonly<Record<string, Direction>>, values: readonly Value[]): object {
  const columns = Object.entries(order);
  const alternatives = columns.map(([key, direction], i) => ({
    ...Object.fromEntries(columns.slice(0, i).map(([before], j) => [before, values[j]])),
    [key]: { [direction === 'asc' ? 'gt' : 'lt']: values[i] },
  }));
  return { OR: alternatives };
}

function formatCursor(keys: readonly string[], row: object): string {
  const values = keys.map((key) => {
    const value: unknown = Reflect.get(row, key);
    if (value instanceof Date) return value.getTime();
    return typeof value === 'bigint' ? Number(value) : value;
  });
  return Buffer.from(JSON.stringify([keys.join(), ...values])).toString('base64url');
}

/** @param model Whose columns the keys are; undefined: they are numbers of rows. */
function parseCursor(model: string | undefined, keys: readonly string[], cursor: string, name: string): Value[] {
  const typeOf = (key: string) => (model === undefined ? 'Int' : columnType(model, key));
  const values = readCursor(keys, cursor)?.map((value, i) => asColumn(typeOf(keys[i] ?? ''), value));
  if (values?.every((value) => value !== undefined)) return values;
  throw new BadRequestError(`"${name}" is not a cursor of this list`);
}

function readCursor(keys: readonly string[], cursor: string): unknown[] | undefined {
  try {
    const [list, ...values] = parseJson(Buffer.from(cursor, 'base64url').toString(), 'A cursor') as unknown[];
    return list === keys.join() && values.length === keys.length ? values : undefined;
  } catch {
    return undefined;
  }
}

const { models } = getDatamodel().datamodel;

function columnType(model: string, key: string): string {
  const column = models[model]?.fields.find(({ name }) => name === key);
  if (column === undefined) throw new Error(`${model} has no column ${key}`);
  return column.type;
}

const MAX_INT4 = 2_147_483_647;
/** Of the years 1 to 9999, in milliseconds: what the database and JavaScript write alike. */
const [FIRST_INSTANT, LAST_INSTANT] = [-62_135_596_800_000, 253_402_300_799_999];

/** The value as the column's type has it; undefined when it cannot be one. Cursors are the client's to tamper with. */
function asColumn(type: string, value: unknown): Value | undefined {
  if (type === 'String') {
    return typeof value === 'string' && value.isWellFormed() && !value.includes('\0') ? value : undefined;
  }
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) return undefined;
  if (type === 'DateTime') return value >= FIRST_INSTANT && value <= LAST_INSTANT ? new Date(value) : undefined;
  return type === 'BigInt' || Math.abs(value) <= MAX_INT4 ? value : undefined;
}
