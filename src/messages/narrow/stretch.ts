import { Prisma } from '../../generated/prisma/client.ts';
import { allOf } from '../reading.ts';

/** A range of message ids, with the end from which it is read and the maximum number of ids to return. */
export interface Stretch {
  /** Exclusive lower bound. Undefined: none. */
  readonly above: Prisma.Sql | undefined;
  /** Exclusive upper bound. Undefined: none. */
  readonly below: Prisma.Sql | undefined;
  readonly newestFirst: boolean;
  readonly limit: number | Prisma.Sql;
}

/**
 * Function that builds a query of message ids: the first ids of the range, in reading direction, that belong to a narrow
 * (message filter). Several sources of a narrow can return the same id.
 */
export type Source = (stretch: Stretch) => Prisma.Sql;

/** The sources of a narrow. Each message of the narrow is returned by at least one of them. */
export interface Sources {
  readonly all: readonly Source[];
  /**
   * `ofPlace`: the messages of one channel, topic, conversation or sender. `inOneIndex`: other messages that one index returns.
   * `scattered`: messages of many channels and conversations. Each channel or conversation alone may contain all the requested
   * messages.
   */
  readonly kind: 'ofPlace' | 'inOneIndex' | 'scattered';
}

/**
 * Builds the SQL condition that `id` is in the range. Omits absent bounds, because the planner would assume that a condition
 * for them is selective.
 */
export const within = (id: Prisma.Sql, { above, below }: Pick<Stretch, 'above' | 'below'>) =>
  allOf([
    ...(above === undefined ? [] : [Prisma.sql`${id} > ${above}`]),
    ...(below === undefined ? [] : [Prisma.sql`${id} < ${below}`]),
  ]);

/** Returns the SQL keyword for the direction in which the range is read, for ORDER BY. */
export const way = ({ newestFirst }: Stretch): Prisma.Sql => (newestFirst ? Prisma.sql`DESC` : Prisma.sql`ASC`);

/**
 * Builds the ORDER BY and LIMIT clauses of a query that reads the range.
 *
 * @param columns Columns of the index that the query uses: the id and the columns before it, which are equal in all rows of the
 *   range.
 */
export const firstOf = (columns: readonly Prisma.Sql[], stretch: Stretch) => {
  const order = columns.map((column) => Prisma.sql`${column} ${way(stretch)}`);
  return Prisma.sql`ORDER BY ${Prisma.join(order, ', ')} LIMIT ${stretch.limit}::bigint`;
};
