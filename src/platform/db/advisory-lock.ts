import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config.ts';
import type { SqlClient } from './client.ts';
import { withSession } from './sessions.ts';

/**
 * Keys of all advisory locks, chosen so that different kinds of work do not block each other. In PostgreSQL, a lock with a
 * single key never conflicts with a lock with two keys (here, a number and an id).
 */
export const ADVISORY_LOCKS = {
  /** Keys of locks for the whole database. Each lock can be held by one node at a time. */
  ofAll: { migrations: 7_340_164, demo: 7_340_165, database_copy: 7_340_174 },
  /**
   * First keys of locks for one organization or user, whose id is the second key. Each lock can be held by one transaction at a
   * time.
   */
  ofOne: {
    /** One lock for each organization, for changes of the list of default channels. */
    default_channels: 7_340_165,
    /** One lock for each organization, for transactions that create channels. */
    new_channels: 7_340_166,
    /** One lock for each user, for the count of the user's idempotency keys. */
    idempotency_keys: 7_340_167,
    /** One lock for each organization, for transactions that send lists of muted topics. */
    muted_topics: 7_340_168,
    /** One lock for each organization, for the deletion of expired messages. */
    message_retention: 7_340_173,
    /** One lock for each organization, for the command that moves it to another database. */
    organization_move: 7_340_176,
  },
  /**
   * Keys of locks that SQL functions acquire. Nodes of the previous version acquire the same locks, so the keys must not
   * change.
   */
  inSqlFunctions: {
    /** One lock for each user, for the creation of event queues. */
    make_event_queue: 7_340_169,
    /** One lock for each idempotency key, identified by its hash, for the change that is made under the key. */
    send_messages: 7_340_170,
    /** One lock for each organization that moves to another database, for its changes. */
    guard_moving_realm: 7_340_175,
  },
} as const;

/** Pause between two attempts to acquire a lock that another node holds, in milliseconds. */
const AGAIN_MS = 50;

/**
 * Acquires a lock that one node at a time can hold, runs `work`, releases the lock, and returns the result of `work`. Waits
 * while another node holds the lock. The embedded database has one node, so it needs no lock. The lock belongs to a connection
 * of its own, so it is released even if the process is killed.
 */
export async function holdingLock<T>(
  { databaseUrl }: Pick<Config, 'databaseUrl'>,
  lock: keyof typeof ADVISORY_LOCKS.ofAll,
  work: () => Promise<T>,
): Promise<T> {
  if (databaseUrl === undefined) return work();
  return withSession(databaseUrl, async (session) => {
    // Does not wait in the database, because the build of an index waits for all statements that began before it.
    for (;;) {
      const { rows } = await session.query('SELECT pg_try_advisory_lock($1) AS held', [ADVISORY_LOCKS.ofAll[lock]]);
      if (rows[0].held === true) break;
      await sleep(AGAIN_MS);
    }
    return work();
  });
}

/**
 * Serializes the changes of one kind in an organization or of a user: acquires a lock until the transaction ends, and waits
 * while another transaction holds it. Like every lock, this lock must be acquired before the lock of the event counter.
 *
 * @param id Id of the organization or user, depending on the kind.
 */
export async function lockKind(tx: SqlClient, kind: keyof typeof ADVISORY_LOCKS.ofOne, id: number): Promise<void> {
  await tx.$queryRaw`SELECT pg_advisory_xact_lock(${ADVISORY_LOCKS.ofOne[kind]}::int, ${id}::int)::text AS held`;
}

/**
 * Acquires the same lock as `lockKind` until the transaction ends, unless another transaction holds it. Does not wait.
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
