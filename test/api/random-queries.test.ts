import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type Comparison,
  compareRandomQueries,
  plannedFields,
  startComparison,
} from '../helpers/executor-comparison.ts';

let comparison: Comparison;
beforeAll(async () => {
  comparison = await startComparison();
});
afterAll(() => comparison[Symbol.asyncDispose]());

/**
 * Number of queries. `npm test` compares 2,000 of them. Plans do not depend on the database, so the run on PostgreSQL compares a
 * quarter, for the types of its driver.
 */
const QUERIES = process.env['DATABASE_URL'] === undefined ? 2_000 : 500;

/** Time limit for 2,000 queries, on a machine with many more processes than cores. */
const TIMEOUT_MS = 1_800_000;

test(
  `plans and graphql-js give the same results of ${QUERIES} random queries to eight viewers`,
  async () => {
    const { differences, fields, ...compared } = await compareRandomQueries(comparison, QUERIES);
    expect(differences).toEqual([]);
    // Most queries must be executed by plans, and show each viewer something else.
    expect(compared.planned).toBeGreaterThan(QUERIES * 0.75);
    expect(compared.varied).toBeGreaterThan(QUERIES * 0.4);
    expect(compared.repeated).toBeGreaterThan(QUERIES * 0.15);
    for (const code of ['BAD_REQUEST', 'UNAUTHORIZED', 'UNAUTHORIZED_PRINCIPAL', 'BAD_NARROW']) {
      expect(compared.codes.get(code), code).toBeGreaterThan(QUERIES / 400);
    }
    expect(compared.codes.get('INTERNAL_SERVER_ERROR')).toBeUndefined();
    // The other fields are null or empty in the demo, such as those of sessions and failed deliveries.
    // A quarter of the queries selects fewer of them.
    expect(fields.size).toBeGreaterThan(plannedFields().length * (QUERIES < 2_000 ? 0.6 : 0.84));
  },
  TIMEOUT_MS,
);
