const { DATABASE_URL } = process.env;

/**
 * Whether the widest matrices are tried whole. They are where the tests run on PostgreSQL, which serves many requests at
 * a time; the run on the embedded database, one process on one connection, tries a part of each, so that it stays a run
 * one waits for.
 */
export const TRIES_ALL = DATABASE_URL !== undefined && DATABASE_URL !== '';

/**
 * Cases of a wide matrix, spread evenly.
 *
 * @param every One of so many is tried where not all are: always the same ones, so that a failure can be repeated.
 */
export function sample<T>(cases: readonly T[], every: number): readonly T[] {
  return TRIES_ALL ? cases : cases.filter((_, i) => i % every === 0);
}
