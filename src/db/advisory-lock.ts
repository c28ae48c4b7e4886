import pg from 'pg';
import type { Config } from '../config.ts';

/** Numbers of our own choice, one for each kind of work that only one node may do at a time. */
const LOCKS = { demo: 7340165 } as const;

/**
 * Runs `work` while no other node runs work under the same lock. With the embedded database there is no other node.
 * The lock ends with its connection, so with the process, however that ends.
 */
export async function holdingLock<T>(
  { databaseUrl }: Pick<Config, 'databaseUrl'>,
  lock: keyof typeof LOCKS,
  work: () => Promise<T>,
): Promise<T> {
  if (databaseUrl === undefined) return work();
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query('SELECT pg_advisory_lock($1)', [LOCKS[lock]]);
    return await work();
  } finally {
    await client.end();
  }
}
