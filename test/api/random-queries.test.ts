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

/** Time limit for 2,000 queries, on a machine with many more processes than cores. */
const TIMEOUT_MS = 1_800_000;

test(
  'plans and graphql-js give the same results of 2,000 random queries to eight viewers',
  async () => {
    const { differences, fields, ...compared } = await compareRandomQueries(comparison, 2_000);
    expect(differences).toEqual([]);
    // Most queries must be executed by plans, and show each viewer something else.
    expect(compared.planned).toBeGreaterThan(1_500);
    expect(compared.varied).toBeGreaterThan(800);
    expect(compared.repeated).toBeGreaterThan(300);
    for (const code of ['BAD_REQUEST', 'UNAUTHORIZED', 'UNAUTHORIZED_PRINCIPAL', 'BAD_NARROW']) {
      expect(compared.codes.get(code), code).toBeGreaterThan(5);
    }
    expect(compared.codes.get('INTERNAL_SERVER_ERROR')).toBeUndefined();
    // The other fields are null or empty in the demo, such as those of sessions and failed deliveries.
    expect(fields.size).toBeGreaterThan(plannedFields().length * 0.84);
  },
  TIMEOUT_MS,
);
