import { Prisma } from '../../generated/prisma/client.ts';

/**
 * A list as a parameter, for `= ANY(…)` and `unnest(…)`. The planner does not see how long it is, so that it makes one plan for
 * all lists, and keeps it: else it plans anew for each list that is shorter than the ten it takes unknown ones for, which
 * costs more than most of the statements do.
 */
export function listOf(type: 'int' | 'bigint' | 'text' | 'bytea', values: readonly unknown[]): Prisma.Sql {
  const array = Prisma.raw(`::${type}[]`);
  return Prisma.sql`(SELECT ${[...values]}${array})${array}`;
}
