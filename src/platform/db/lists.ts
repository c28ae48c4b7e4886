import { Prisma } from '../../generated/prisma/client.ts';

/**
 * Returns a list as one parameter, for `= ANY(…)` and `unnest(…)`. The planner does not know the length of the list, so it makes
 * and keeps one plan for all lists. Otherwise it would plan again for each list of fewer than ten items, its estimate for unknown
 * lists. That costs more than most of the statements.
 */
export function listOf(type: 'int' | 'bigint' | 'text' | 'bytea', values: readonly unknown[]): Prisma.Sql {
  const array = Prisma.raw(`::${type}[]`);
  return Prisma.sql`(SELECT ${[...values]}${array})${array}`;
}
