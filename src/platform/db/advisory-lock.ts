import type { Config } from '../config.ts';
import type { SqlClient } from './client.ts';
import { withSession } from './sessions.ts';

/**
 * All numbers of advisory locks, chosen so that different kinds of work do not block each other. In PostgreSQL, a lock
 * of one number never conflicts with a lock of a number and an id.
 */
export const ADVISORY_LOCKS = {
  /** Locks that one node holds at a time, for the whole database. */
  ofAll: { migrations: 7_340_164, demo: 7_340_165 },
  /** Locks that one change holds at a time, for one organization or user. */
  ofOne: {
    /** One lock for each organization. */
    default_channels: 7_340_165,
    /** One lock for each organization. */
    new_channels: 7_340_166,
    /** One lock for each user. */
    idempotency_keys: 7_340_167,
    /** One lock for each organization. */
    muted_topics: 7_340_168,
    /** One lock for each organization. */
    message_retention: 7_340_173,
  },
  /** Locks that SQL functions acquire. The previous version acquires them too, so the numbers cannot change. */
  inSqlFunctions: {
    /** One lock for each user. */
    make_event_queue: 7_340_169,
    /** One lock for each idempotency key, identified by its hash. */
    send_messages: 7_340_170,
  },
} as const;

/**
 * Runs `work` while no other node runs work under the same lock, and returns its result. The embedded database has no other
 * node. The lock is released when its connection is closed, even if the process is killed.
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
 * Serializes changes of one kind: waits until the previous change ends, and blocks the next change until this transaction ends.
 * Like every lock, it must be acquired before the lock of the event counter.
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
