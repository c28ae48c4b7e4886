import { Prisma } from '../../generated/prisma/client.ts';

/** Value of the column by which rows are sorted. */
export type SortKey = string | number;

/** Position of a row in a sorted list. The id distinguishes rows whose sort keys are equal. */
export interface Place {
  readonly key: SortKey;
  readonly id: number;
}

/** Part of a sorted list of rows that a query reads, and the order of the rows. */
export interface Keyset {
  /** Lower bound: only rows above this position are fetched. Undefined: no bound. */
  readonly above: Place | undefined;
  /** Upper bound: only rows below this position are fetched. Undefined: no bound. */
  readonly below: Place | undefined;
  readonly limit: number;
  /** Whether the rows are sorted in descending order. */
  readonly descending: boolean;
}

/** Returns the SQL expression by which a sort key from a cursor is compared with the sorted column. */
export type ComparedKey = (key: Prisma.Sql) => Prisma.Sql;

const AS_GIVEN: ComparedKey = (key) => key;

/** Returns the key by which names are compared: without case and accents. Columns `sort_name` contain it. */
export const NAME_KEY: ComparedKey = (name) => Prisma.sql`name_sort_key(${name}) COLLATE "C"`;

/**
 * Returns the SQL condition that a row is within a keyset.
 *
 * @param key Column of type text or bigint, never null.
 * @param compared Expression for keys in cursors, if they are not values of the column `key`.
 */
export function isWithin(
  { above, below }: Pick<Keyset, 'above' | 'below'>,
  key: Prisma.Sql,
  id: Prisma.Sql,
  compared: ComparedKey = AS_GIVEN,
): Prisma.Sql {
  const beyond = (bound: Place | undefined, sign: Prisma.Sql) =>
    bound === undefined ? Prisma.sql`true` : Prisma.sql`(${key}, ${id}) ${sign} (${valuesOf(bound, compared)})`;
  return Prisma.sql`${beyond(above, ABOVE)} AND ${beyond(below, BELOW)}`;
}

const ABOVE = Prisma.sql`>`;
const BELOW = Prisma.sql`<`;

const valuesOf = ({ key, id }: Place, compared: ComparedKey): Prisma.Sql =>
  typeof key === 'string'
    ? Prisma.sql`${compared(Prisma.sql`${key}::text`)}, ${id}::bigint`
    : Prisma.sql`${key}::bigint, ${id}::bigint`;

/** Returns the expressions for ORDER BY that sort the rows of a keyset. */
export function inOrder({ descending }: Pick<Keyset, 'descending'>, key: Prisma.Sql, id: Prisma.Sql): Prisma.Sql {
  const way = Prisma.raw(descending ? 'DESC' : 'ASC');
  return Prisma.sql`${key} ${way}, ${id} ${way}`;
}

/** The sort key and id of a row in a sorted list, as a query returns them. */
export interface PlaceRow {
  readonly id: number;
  readonly key: string | number | bigint;
}

export const placeOf = ({ id, key }: PlaceRow): Place => ({ id, key: typeof key === 'bigint' ? Number(key) : key });
