import { FairLimiter, type KeyLimits } from '../fair-limiter.ts';
import { isLockTimeout } from './errors.ts';

/** Limits on a queue of tasks that wait for a permit, such as changes or snapshots. */
interface QueueLimits {
  /** Maximum number of waiting tasks of one organization. Further tasks are refused with `RequestTimeoutError`. */
  readonly longest: number;
  /** Maximum time that a task waits, in milliseconds. Afterwards, it is refused with `RequestTimeoutError`. */
  readonly patienceMs: number;
}

export const CHANGE_QUEUE: QueueLimits = {
  /**
   * Maximum number of changes of one organization that wait at a time. Further changes are refused with `RequestTimeoutError`.
   * Higher than the number of changes that the service can make for one organization within `patienceMs`.
   */
  longest: 250,
  /**
   * Slightly longer than the 5 s for which a transaction of a dead node can hold its locks. So changes that wait during this
   * time can still run afterwards.
   */
  patienceMs: 6_000,
};
/**
 * Limits on the queue for snapshots. The wait is long: snapshots need no locks, so every waiting snapshot starts eventually,
 * while a refused client would have to queue again at the end. It is shorter than the 30 s that clients wait for the response
 * to a registration, which reads a snapshot.
 */
export const SNAPSHOT_QUEUE: QueueLimits = { ...CHANGE_QUEUE, patienceMs: 20_000 };
/**
 * Limits on the queue for readers that catch up with the event log. The length is unlimited, because each permit lets a reader
 * make progress. A reader that has waited for 60 s is refused, because the database is then not responding, and its client
 * tries again later.
 */
export const READER_QUEUE: QueueLimits = { longest: Number.POSITIVE_INFINITY, patienceMs: 60_000 };
/**
 * Limits for an organization whose locks another transaction holds. The few changes that can still run detect when the locks
 * are free again.
 */
const STUCK: KeyLimits = { running: 1, waiting: 4 };

/** Numbers of permits for one kind of work, such as changes. Each permit allows the use of one connection. */
export interface PermitLimits {
  /** Number of permits for all organizations together. */
  readonly total: number;
  /** Maximum number of permits for one organization. Further tasks of the organization wait. */
  readonly each: number;
  /** Number of permits, out of `total`, that are reserved for organizations that hold none. */
  readonly spare: number;
}

/**
 * Returns the numbers of permits for changes. The other connections of the pool are for reads: sign-in, the event log, health
 * checks. The embedded database has a single connection, so its changes wait for this connection even if they have a permit.
 */
export function permitsOf(poolSize: number): PermitLimits {
  const total = Math.max(1, poolSize - 2);
  return { total, each: Math.ceil(total * 0.6), spare: Math.floor(total / 4) };
}

/**
 * Returns the numbers of permits for reads of old events in the event log. Such reads occupy the database for a while. An
 * organization has at most two of these permits, and one is reserved for other organizations.
 */
export function readerPermitsOf(poolSize: number): PermitLimits {
  const total = Math.max(1, Math.floor(poolSize / 3));
  return { total, each: Math.min(2, total), spare: total > 1 ? 1 : 0 };
}

/**
 * Returns the numbers of permits for snapshots. The total is that of `readerPermitsOf`, but an organization has only one
 * permit, because two snapshots of an organization would occupy two cores.
 */
export const snapshotPermitsOf = (poolSize: number): PermitLimits => ({ ...readerPermitsOf(poolSize), each: 1 });

/** A single permit for all organizations, for the embedded database, which has only one connection. */
export const SINGLE_PERMIT: PermitLimits = { total: 1, each: 1, spare: 0 };

/**
 * Returns a fair limiter for connections of the pool. Its keys are organization ids, and each organization has a bounded share
 * of the connections. Otherwise changes of one organization, which wait for each other's locks, could occupy all connections.
 *
 * @param isHeld Returns whether another transaction holds a lock that all changes of the organization need. While it is held,
 *   the organization has only one permit. Called after a lock timeout, because the change may have waited only for the lock of
 *   a user or channel, which does not block other changes. Undefined for work that waits for no locks.
 */
export function fairPermits(
  { total, each, spare }: PermitLimits,
  { longest, patienceMs }: QueueLimits,
  isHeld?: (organizationId: number) => Promise<boolean>,
): FairLimiter<number> {
  const normal: KeyLimits = { running: each, waiting: longest };
  const limiter = { total, spare, maxWaitMs: patienceMs, limitsOf: () => normal };
  if (isHeld === undefined) return new FairLimiter(limiter);
  return new FairLimiter({
    ...limiter,
    async limitsAfter(organizationId, error) {
      if (!isLockTimeout(error)) return undefined;
      return (await isHeld(organizationId)) ? STUCK : normal;
    },
  });
}
