import { Prisma } from '../../generated/prisma/client.ts';
import { allOf } from '../reading.ts';

/** A range of message ids, with the end to read from and the number of ids to return. */
export interface Stretch {
  /** Exclusive lower bound. Undefined: none. */
  readonly above: Prisma.Sql | undefined;
  /** Exclusive upper bound. Undefined: none. */
  readonly below: Prisma.Sql | undefined;
  readonly newestFirst: boolean;
  readonly limit: number | Prisma.Sql;
}

/**
 * A source of a narrow's messages: builds the query of the ids of its first messages in a range. More than one source can
 * return a message.
 */
export type Source = (stretch: Stretch) => Prisma.Sql;

/** The sources that together return all messages of a narrow. */
export interface Sources {
  readonly all: readonly Source[];
  /**
   * `ofPlace`: the messages of one channel, topic, conversation or sender. `inOneIndex`: other messages that one index returns.
   * `scattered`: messages of many channels and conversations. Each of these alone may contain all the messages that are
   * requested.
   */
  readonly kind: 'ofPlace' | 'inOneIndex' | 'scattered';
}

/** Builds the SQL condition that an id is in the range. Omits absent bounds: the planner would assume that they are selective. */
export const within = (id: Prisma.Sql, { above, below }: Pick<Stretch, 'above' | 'below'>) =>
  allOf([
    ...(above === undefined ? [] : [Prisma.sql`${id} > ${above}`]),
    ...(below === undefined ? [] : [Prisma.sql`${id} < ${below}`]),
  ]);

/** Returns the direction in which the range is searched, for ORDER BY. */
export const way = ({ newestFirst }: Stretch): Prisma.Sql => (newestFirst ? Prisma.sql`DESC` : Prisma.sql`ASC`);

/**
 * Builds the ORDER BY and LIMIT clauses of a query of the range.
 *
 * @param columns The id, after the columns that are equal in all rows of the range and precede the id in the index.
 */
export const firstOf = (columns: readonly Prisma.Sql[], stretch: Stretch) => {
  const order = columns.map((column) => Prisma.sql`${column} ${way(stretch)}`);
  return Prisma.sql`ORDER BY ${Prisma.join(order, ', ')} LIMIT ${stretch.limit}::bigint`;
};
