import { FairLimiter, type KeyLimits } from '../fair-limiter.ts';
import { isLockTimeout } from './errors.ts';

/** Limits of the queue of waiting changes. */
interface QueueLimits {
  /** Maximum number of waiting changes of one organization. */
  readonly longest: number;
  /** Longest wait, in milliseconds. */
  readonly patienceMs: number;
}

export const CHANGE_QUEUE: QueueLimits = {
  /** More than any burst of one organization's clients that can be served in time. */
  longest: 250,
  /** Slightly longer than a transaction of a dead node holds its locks, so that waiting changes run after it. */
  patienceMs: 6_000,
};
/**
 * Queue for snapshots, with a long wait: snapshots need no locks, so each of them starts sooner or later. If a waiting client
 * were refused, its next request would start at the end of the queue. Clients wait half a minute for a registration.
 */
export const SNAPSHOT_QUEUE: QueueLimits = { ...CHANGE_QUEUE, patienceMs: 20_000 };
/**
 * Queue for readers that catch up with the log. Its length is unlimited, because each permit lets a reader make
 * progress. A reader that has waited for 60 s waits for a database that does not respond; its client tries again later.
 */
export const READER_QUEUE: QueueLimits = { longest: Number.POSITIVE_INFINITY, patienceMs: 60_000 };
/** Limits of an organization that is stuck: enough changes to detect when its locks are free again. */
const STUCK: KeyLimits = { running: 1, waiting: 4 };

/** Number of permits (connections) for changes. */
export interface PermitLimits {
  /** Permits for all organizations. */
  readonly total: number;
  /** Permits for one organization. */
  readonly each: number;
  /** Part of the total, reserved for organizations that hold no permit. */
  readonly spare: number;
}

/**
 * Returns the permits for changes. The rest of the pool is for reads: sign-in, the log, health checks. The embedded database
 * has a single connection: there, changes with a permit still wait for it.
 */
export function permitsOf(poolSize: number): PermitLimits {
  const total = Math.max(1, poolSize - 2);
  return { total, each: Math.ceil(total * 0.6), spare: Math.floor(total / 4) };
}

/**
 * Returns the permits for reads of old events in the log, whose statements each occupy the database for a while: at most two
 * for one organization, and one that is reserved for other organizations.
 */
export function readerPermitsOf(poolSize: number): PermitLimits {
  const total = Math.max(1, Math.floor(poolSize / 3));
  return { total, each: Math.min(2, total), spare: total > 1 ? 1 : 0 };
}

/**
 * Returns the permits for snapshots. Their total is that of readers, but an organization has only one, because two snapshots of
 * it would occupy two cores.
 */
export const snapshotPermitsOf = (poolSize: number): PermitLimits => ({ ...readerPermitsOf(poolSize), each: 1 });

/** A single permit for all organizations, for the embedded database, which has only one connection. */
export const SINGLE_PERMIT: PermitLimits = { total: 1, each: 1, spare: 0 };

/**
 * Returns a fair limiter for the connections, by organization id: each organization has a bounded share of them. Otherwise
 * changes of one organization, which wait for each other's locks, could occupy all connections.
 *
 * @param isHeld Returns whether another transaction holds a lock that all changes of the organization need. While it is held,
 *   the organization is stuck: it has one permit. Called after a lock timeout, because many changes wait only for the lock of a
 *   user or channel, which does not block other changes. Undefined for work that waits for no locks.
 */
export function fairPermits(
  { total, each, spare }: PermitLimits,
  { longest, patienceMs }: QueueLimits,
  isHeld?: (realmId: number) => Promise<boolean>,
): FairLimiter<number> {
  const normal: KeyLimits = { running: each, waiting: longest };
  const limiter = { total, spare, maxWaitMs: patienceMs, limitsOf: () => normal };
  if (isHeld === undefined) return new FairLimiter(limiter);
  return new FairLimiter({
    ...limiter,
    async limitsAfter(realmId, error) {
      if (!isLockTimeout(error)) return undefined;
      return (await isHeld(realmId)) ? STUCK : normal;
    },
  });
}
