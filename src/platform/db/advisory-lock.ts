import type { Config } from '../config.ts';
import type { SqlClient } from './client.ts';
import { withSession } from './sessions.ts';

/**
 * Every number of an advisory lock, of our own choice, so that no two kinds of work hinder each other. A lock of one number
 * and a lock of a number and an id never meet in PostgreSQL.
 */
export const ADVISORY_LOCKS = {
  /** Held by one node at a time, for the whole database. */
  ofAll: { migrations: 7_340_164, demo: 7_340_165 },
  /** Held by one change at a time, for an organisation or a user. */
  ofOne: {
    /** Of an organisation. */
    default_channels: 7_340_165,
    /** Of an organisation. */
    new_channels: 7_340_166,
    /** Of a user. */
    idempotency_keys: 7_340_167,
    /** Of an organisation. */
    muted_topics: 7_340_168,
  },
  /** Taken in SQL, by functions that migrations make. Their text cannot change, so the number cannot. */
  inMigrations: {
    /** Of a user. */
    make_event_queue: 7_340_169,
    /** Of an idempotency key, by its hash. */
    send_messages: 7_340_170,
  },
} as const;

/**
 * Runs `work` while no other node runs work under the same lock. With the embedded database there is no other node.
 * The lock ends with its connection, so with the process, however that ends.
 */
export async function holdingLock<T>(
  { databaseUrl }: Pick<Config, 'databaseUrl'>,
  lock: keyof typeof ADVISORY_LOCKS.ofAll,
  work: () => Promise<T>,
): Promise<T> {
  if (databaseUrl === undefined) return work();
  return withSession(databaseUrl, async (session) => {
    await session.query('SELECT pg_advisory_lock($1)', [ADVISORY_LOCKS.ofAll[lock]]);
    return work();
  });
}

/**
 * Makes changes of one kind follow one another: waits for the one before to be over, and holds up the next until this one
 * is. Before the event counter, as every lock.
 *
 * @param id Of whom: an organisation's or a user's, by kind.
 */
export async function lockKind(tx: SqlClient, kind: keyof typeof ADVISORY_LOCKS.ofOne, id: number): Promise<void> {
  await tx.$queryRaw`SELECT pg_advisory_xact_lock(${ADVISORY_LOCKS.ofOne[kind]}::int, ${id}::int)::text AS held`;
}
