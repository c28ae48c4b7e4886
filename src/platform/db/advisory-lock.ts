import type { Config } from '../config.ts';
import type { SqlClient } from './client.ts';
import { withSession } from './sessions.ts';

/**
 * All numbers of advisory locks, chosen so that different kinds of work do not block each other. In PostgreSQL, a lock
 * of one number never conflicts with a lock of a number and an id.
 */
export const ADVISORY_LOCKS = {
  /** Held by one node at a time, for the whole database. */
  ofAll: { migrations: 7_340_164, demo: 7_340_165 },
  /** Held by one change at a time, per organization or user. */
  ofOne: {
    /** Per organization. */
    default_channels: 7_340_165,
    /** Per organization. */
    new_channels: 7_340_166,
    /** Per user. */
    idempotency_keys: 7_340_167,
    /** Per organization. */
    muted_topics: 7_340_168,
    /** Per organization. */
    message_retention: 7_340_173,
  },
  /** Acquired by SQL functions that migrations create. Their text cannot change, so the numbers cannot. */
  inMigrations: {
    /** Per user. */
    make_event_queue: 7_340_169,
    /** Per idempotency key, by its hash. */
    send_messages: 7_340_170,
  },
} as const;

/**
 * Runs `work` while no other node runs work under the same lock. The embedded database has no other node. The lock is
 * released with its connection, so also when the process ends in any way.
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
 * Serializes changes of one kind: waits until the previous change ends, and blocks the next one until this one ends.
 * Like every lock, it must be acquired before the one of the event counter.
 *
 * @param id Id of the organization or user, depending on the kind.
 */
export async function lockKind(tx: SqlClient, kind: keyof typeof ADVISORY_LOCKS.ofOne, id: number): Promise<void> {
  await tx.$queryRaw`SELECT pg_advisory_xact_lock(${ADVISORY_LOCKS.ofOne[kind]}::int, ${id}::int)::text AS held`;
}

/**
 * Acquires the lock of `lockKind` for the rest of the transaction if no other transaction holds it.
 *
 * @returns Whether the lock was acquired.
 */
export async function tryLockKind(
  tx: SqlClient,
  kind: keyof typeof ADVISORY_LOCKS.ofOne,
  id: number,
): Promise<boolean> {
  const [row] = await tx.$queryRaw<{ held: boolean }[]>`
    SELECT pg_try_advisory_xact_lock(${ADVISORY_LOCKS.ofOne[kind]}::int, ${id}::int) AS held`;
  return row?.held === true;
}
