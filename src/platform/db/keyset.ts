import { Prisma } from '../../generated/prisma/client.ts';

/** Value by which a row is sorted. */
export type SortKey = string | number;

/** Position of a row in a sorted list. The id distinguishes rows whose sort keys are equal. */
export interface Place {
  readonly key: SortKey;
  readonly id: number;
}

/** Part of a sorted list that a query reads, and its order. */
export interface Keyset {
  /** Lower bound: only rows above this position are fetched. Undefined: no bound. */
  readonly above: Place | undefined;
  /** Upper bound: only rows below this position are fetched. Undefined: no bound. */
  readonly below: Place | undefined;
  readonly limit: number;
  /** Whether the highest row comes first. */
  readonly descending: boolean;
}

/** Returns the SQL condition that a row is within a keyset. @param key Column of type text or bigint, never null. */
export function isWithin({ above, below }: Keyset, key: Prisma.Sql, id: Prisma.Sql): Prisma.Sql {
  const isAbove = above === undefined ? Prisma.sql`true` : Prisma.sql`(${key}, ${id}) > (${valuesOf(above)})`;
  const isBelow = below === undefined ? Prisma.sql`true` : Prisma.sql`(${key}, ${id}) < (${valuesOf(below)})`;
  return Prisma.sql`${isAbove} AND ${isBelow}`;
}

const valuesOf = ({ key, id }: Place): Prisma.Sql =>
  typeof key === 'string' ? Prisma.sql`${key}::text, ${id}::bigint` : Prisma.sql`${key}::bigint, ${id}::bigint`;

/** Returns the expressions for ORDER BY that sort the rows of a keyset. */
export function inOrder({ descending }: Pick<Keyset, 'descending'>, key: Prisma.Sql, id: Prisma.Sql): Prisma.Sql {
  const way = Prisma.raw(descending ? 'DESC' : 'ASC');
  return Prisma.sql`${key} ${way}, ${id} ${way}`;
}
