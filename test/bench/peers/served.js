// The code that every peer needs besides its own: authentication, and the tasks that the benchmark calls.
import pg from 'pg';
import { cpuSeconds } from '../measure.ts';
import { findOneByOne, findTogether, signIn } from '../sign-in.ts';
import { work } from '../workers.ts';

// Parses bigint as a number, as JSON has it: ids are far below the largest safe integer.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);

/** @param {{ databaseUrl: string, poolSize: number }} input */
export function openPool({ databaseUrl, poolSize }) {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: poolSize });
  // Ignores the error of a connection that `reportStatistics` has ended. The next query opens a new connection.
  pool.on('error', () => {});
  return pool;
}

/**
 * Returns a function that authenticates a request by API key.
 *
 * @param {pg.Pool} pool
 * @param {boolean} together Whether one query looks up the keys of all requests of an event-loop iteration, as in the
 *   service. Otherwise one query for each request, as is usual.
 */
export function signInWith(pool, together) {
  const find = together ? findTogether(pool) : findOneByOne(pool);
  return async (request) => {
    const viewer = await signIn(find, request);
    if (viewer === undefined) throw new Error('Authentication failed');
    return viewer;
  };
}

/** Role names as the service returns them. */
export const ROLES = { 100: 'OWNER', 200: 'ADMINISTRATOR', 300: 'MODERATOR', 400: 'MEMBER', 600: 'GUEST' };

export const avatarUrl = (id, version) => `/avatar/${id}/${'x'.repeat(22)}?v=${version}`;

/** @param {(input: { databaseUrl: string, poolSize: number, together: boolean }) => Promise<number>} serve Resolves with the port. */
export function workAsPeer(serve) {
  work({ serve, cpu: () => cpuSeconds() });
}
