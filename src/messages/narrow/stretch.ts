import { Prisma } from '../../generated/prisma/client.ts';
import { allOf } from '../reading.ts';

/** A stretch of ids, and how much of it is wanted from which end. */
export interface Stretch {
  /** Ids above this one; undefined from the first on. */
  readonly above: Prisma.Sql | undefined;
  /** Ids below this one; undefined up to the last. */
  readonly below: Prisma.Sql | undefined;
  readonly newestFirst: boolean;
  readonly limit: number;
}

/**
 * Where messages of a narrow come from, as SQL of ids: the first of them in a stretch. From several sources some may
 * come more than once.
 */
export type Source = (stretch: Stretch) => Prisma.Sql;

// A bound that bounds nothing is left out: the planner would think that it does.
/** Whether an id is in the stretch. */
export const within = (id: Prisma.Sql, { above, below }: Stretch) =>
  allOf([
    ...(above === undefined ? [] : [Prisma.sql`${id} > ${above}`]),
    ...(below === undefined ? [] : [Prisma.sql`${id} < ${below}`]),
  ]);

/** The direction of its ids. */
export const way = ({ newestFirst }: Stretch): Prisma.Sql => (newestFirst ? Prisma.sql`DESC` : Prisma.sql`ASC`);

/** What puts ids in the order of the stretch, as many as are wanted. */
export const firstOf = (id: Prisma.Sql, stretch: Stretch) =>
  Prisma.sql`ORDER BY ${id} ${way(stretch)} LIMIT ${stretch.limit}::bigint`;
