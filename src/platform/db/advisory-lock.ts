import pg from 'pg';
import type { Config } from '../config.ts';
import type { Tx } from './client.ts';

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

/**
 * Numbers of our own choice, one for each kind of change that must follow one another. All stand here, so that no two kinds
 * hinder each other. Another, 7340169, has the making of a user's queues, in SQL.
 */
const KINDS = {
  /** Of an organisation. */
  default_channels: 7_340_165,
  /** Of an organisation. */
  new_channels: 7_340_166,
  /** Of a user. */
  idempotency_keys: 7_340_167,
  /** Of an organisation. */
  muted_topics: 7_340_168,
} as const;

/**
 * Makes changes of one kind follow one another: waits for the one before to be over, and holds up the next until this one
 * is. Before the event counter, as every lock.
 *
 * @param id Of whom: an organisation's or a user's, by kind.
 */
export async function lockKind(tx: Pick<Tx, '$queryRaw'>, kind: keyof typeof KINDS, id: number): Promise<void> {
  await tx.$queryRaw`SELECT pg_advisory_xact_lock(${KINDS[kind]}::int, ${id}::int)::text AS held`;
}
