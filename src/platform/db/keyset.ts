import { Prisma } from '../../generated/prisma/client.ts';

/** What a list is sorted by, of one of its rows. */
export type SortKey = string | number;

/** Where a row stands in a sorted list: its id tells it from those that are alike in what the list is sorted by. */
export interface Place {
  readonly key: SortKey;
  readonly id: number;
}

/** Which rows of a sorted list a query reads. */
export interface Keyset {
  /** Rows above this place; all, when undefined. */
  readonly above: Place | undefined;
  /** Rows below this place; all, when undefined. */
  readonly below: Place | undefined;
  readonly limit: number;
  /** Whether it comes to the highest first. */
  readonly descending: boolean;
}

/** The condition that a row lies within a keyset. @param key Of text or bigint, and never null. */
export function isWithin({ above, below }: Keyset, key: Prisma.Sql, id: Prisma.Sql): Prisma.Sql {
  const isAbove = above === undefined ? Prisma.sql`true` : Prisma.sql`(${key}, ${id}) > (${valuesOf(above)})`;
  const isBelow = below === undefined ? Prisma.sql`true` : Prisma.sql`(${key}, ${id}) < (${valuesOf(below)})`;
  return Prisma.sql`${isAbove} AND ${isBelow}`;
}

const valuesOf = ({ key, id }: Place): Prisma.Sql =>
  typeof key === 'string' ? Prisma.sql`${key}::text, ${id}::bigint` : Prisma.sql`${key}::bigint, ${id}::bigint`;

/** The order in which a query comes to the rows of a keyset. */
export function inOrder({ descending }: Pick<Keyset, 'descending'>, key: Prisma.Sql, id: Prisma.Sql): Prisma.Sql {
  const way = Prisma.raw(descending ? 'DESC' : 'ASC');
  return Prisma.sql`${key} ${way}, ${id} ${way}`;
}
