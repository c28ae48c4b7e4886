// What every peer needs besides its own work: who asks, and the tasks the benchmark has it do.
import pg from 'pg';
import { cpuSeconds } from '../measure.ts';
import { findOneByOne, findTogether, signIn } from '../sign-in.ts';
import { work } from '../workers.ts';

// As JSON has them: ids are far below what a number holds.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);

/** @param {{ databaseUrl: string, poolSize: number }} input */
export function openPool({ databaseUrl, poolSize }) {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: poolSize });
  // A connection ended by the counting of reads is replaced by the next query.
  pool.on('error', () => {});
  return pool;
}

/**
 * Signs in by API key.
 *
 * @param {pg.Pool} pool
 * @param {boolean} together One look-up for all requests that came in with a turn of the event loop, as the service does
 *   it; otherwise one for each, as is usual.
 */
export function signInWith(pool, together) {
  const find = together ? findTogether(pool) : findOneByOne(pool);
  return async (request) => {
    const viewer = await signIn(find, request);
    if (viewer === undefined) throw new Error('Nobody is signed in');
    return viewer;
  };
}

/** As the service shows them. */
export const ROLES = { 100: 'OWNER', 200: 'ADMINISTRATOR', 300: 'MODERATOR', 400: 'MEMBER', 600: 'GUEST' };

export const avatarUrl = (id, version) => `/avatar/${id}?v=${version}`;

/** @param {(input: { databaseUrl: string, poolSize: number, together: boolean }) => Promise<number>} serve Resolves with the port. */
export function workAsPeer(serve) {
  work({ serve, cpu: () => cpuSeconds() });
}
