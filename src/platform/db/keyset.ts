import { Prisma } from '../../generated/prisma/client.ts';

/** Value by which rows are sorted, as cursors contain it: a number or a name. */
export type SortKey = string | number;

/**
 * Sort key and id of a row, which determine its position in a sorted list. The id distinguishes rows whose sort keys are equal.
 */
export interface RowKey {
  readonly key: SortKey;
  readonly id: number;
}

/** Part of a sorted list of rows that a query reads, and the order of the rows. */
export interface Keyset {
  /** Lower bound: only rows after this row key are fetched. Undefined: no bound. */
  readonly above: RowKey | undefined;
  /** Upper bound: only rows before this row key are fetched. Undefined: no bound. */
  readonly below: RowKey | undefined;
  readonly limit: number;
  /** Whether the rows are sorted in descending order. */
  readonly descending: boolean;
}

/**
 * Column or expression by which rows are sorted. It is never null. Long lists need an index in which it ascends.
 */
export interface SortColumn {
  /** The sort key: of type bigint, or the key of a name (`nameKey`). */
  readonly key: Prisma.Sql;
  /** The name, if rows are sorted by name. Cursors contain it instead of its key. */
  readonly name?: Prisma.Sql;
}

/**
 * Returns the SQL expression for the key by which names are sorted: without case and accents, then with accents. All lists
 * sorted by name use it, or a column `sort_name` that contains it. The order does not depend on the locale of the database.
 */
export const nameKey = (name: Prisma.Sql): Prisma.Sql => Prisma.sql`name_sort_key(${name}) COLLATE "C"`;

/** Returns the sort column of rows with a name whose key is not stored. */
export const byName = (name: Prisma.Sql): SortColumn => ({ key: nameKey(name), name });

/** Returns the SQL expression of the value that cursors contain. */
export const cursorKey = ({ key, name }: SortColumn): Prisma.Sql => name ?? key;

/** Returns the SQL condition that a row is within a keyset. */
export function isWithin(
  { above, below }: Pick<Keyset, 'above' | 'below'>,
  { key }: SortColumn,
  id: Prisma.Sql,
): Prisma.Sql {
  const beyond = (bound: RowKey | undefined, sign: Prisma.Sql) =>
    bound === undefined ? Prisma.sql`true` : Prisma.sql`(${key}, ${id}) ${sign} (${valuesOf(bound)})`;
  return Prisma.sql`${beyond(above, ABOVE)} AND ${beyond(below, BELOW)}`;
}

const ABOVE = Prisma.sql`>`;
const BELOW = Prisma.sql`<`;

const valuesOf = ({ key, id }: RowKey): Prisma.Sql =>
  typeof key === 'string'
    ? Prisma.sql`${nameKey(Prisma.sql`${key}::text`)}, ${id}::bigint`
    : Prisma.sql`${key}::bigint, ${id}::bigint`;

/** Returns the expressions for ORDER BY that sort the rows of a keyset. */
export function inOrder({ descending }: Pick<Keyset, 'descending'>, { key }: SortColumn, id: Prisma.Sql): Prisma.Sql {
  const way = Prisma.raw(descending ? 'DESC' : 'ASC');
  return Prisma.sql`${key} ${way}, ${id} ${way}`;
}

/** Sort key and id of a row, as a query returns them. */
export interface FetchedRowKey {
  readonly id: number;
  readonly key: string | number | bigint;
}

export const rowKeyOf = ({ id, key }: FetchedRowKey): RowKey => ({
  id,
  key: typeof key === 'bigint' ? Number(key) : key,
});
