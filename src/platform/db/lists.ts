import { Prisma } from '../../generated/prisma/client.ts';

/**
 * Returns a list as one parameter, for `= ANY(…)` and `unnest(…)`. The planner does not know the length of the list, so it
 * makes and keeps one plan for all lists. Otherwise it would make a new plan for each list of fewer than ten items, because ten
 * is its estimate for a list of unknown length. Making a plan costs more than executing most of these statements.
 */
export function listOf(type: 'int' | 'bigint' | 'text' | 'bytea', values: readonly unknown[]): Prisma.Sql {
  const array = Prisma.raw(`::${type}[]`);
  return Prisma.sql`(SELECT ${[...values]}${array})${array}`;
}
