import { RequestTimeoutError } from '../errors.ts';
import { isLockTimeout } from './errors.ts';

/** Limits of the queue of waiting changes. */
interface QueueLimits {
  /** Maximum number of waiting changes of one organization. */
  readonly longest: number;
  /** Longest wait, in milliseconds. */
  readonly patienceMs: number;
}

const DEFAULT_QUEUE: QueueLimits = {
  /** More than any burst of one organization's clients that can be served in time. */
  longest: 250,
  /** Slightly longer than a transaction of a dead node holds its locks, so that waiting changes run after it. */
  patienceMs: 6_000,
};
/**
 * Queue for snapshots, with a long wait: snapshots need no locks, so each of them starts sooner or later. If a waiting client
 * were refused, its next request would start at the end of the queue. Clients wait half a minute for a registration.
 */
export const SNAPSHOT_QUEUE: QueueLimits = { ...DEFAULT_QUEUE, patienceMs: 20_000 };
/**
 * Queue for readers that catch up with the log. Its length is unlimited, because each permit lets a reader make
 * progress. A reader that has waited for 60 s waits for a database that does not respond; its client tries again later.
 */
export const READER_QUEUE: QueueLimits = { longest: Number.POSITIVE_INFINITY, patienceMs: 60_000 };
/** Maximum number of waiting changes while the organization is stuck: enough to detect when its locks are free again. */
const MAX_WAITING_WHEN_STUCK = 4;

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

interface Waiting {
  readonly enter: () => void;
  readonly timer: NodeJS.Timeout;
}

/** Changes of one organization, in progress and waiting. */
interface OrganizationQueue {
  inside: number;
  /**
   * Whether the last change timed out waiting for a lock, while a lock that all changes of the organization need was
   * held.
   */
  isStuck: boolean;
  readonly waiting: Set<Waiting>;
}

const newQueue = (): OrganizationQueue => ({ inside: 0, isStuck: false, waiting: new Set() });

/**
 * A fair limiter for changes: each organization has a bounded share of the connections. Otherwise changes of one organization,
 * which wait for each other's locks, could occupy all connections. The limiter also serves other work that holds a connection
 * for several statements.
 *
 * Organizations take turns. Within an organization, changes run in the order of arrival.
 */
export class FairPermits {
  readonly #limits: PermitLimits;
  readonly #queueLimits: QueueLimits;
  readonly #isHeld: (realmId: number) => Promise<boolean>;
  /** Queues by organization, in the order of their turns: an organization that was served moves to the end. */
  readonly #queues = new Map<number, OrganizationQueue>();
  #inside = 0;

  /**
   * @param isHeld Returns whether another transaction holds a lock that all changes of the organization need. Called after a
   * lock timeout, because many changes wait only for the lock of a user or channel, which does not block other changes.
   */
  constructor(places: PermitLimits, isHeld: (realmId: number) => Promise<boolean>, line = DEFAULT_QUEUE) {
    this.#limits = places;
    this.#queueLimits = line;
    this.#isHeld = isHeld;
  }

  /**
   * Runs a change as soon as a permit is free and it is the organization's turn. Resolves to the result of `change`.
   *
   * @param change Runs one transaction. Must not wait for another permit.
   * @throws RequestTimeoutError if too many changes are waiting, or this change has waited too long. `change` is not called.
   */
  async take<T>(realmId: number, change: () => Promise<T>): Promise<T> {
    const line = this.#queueOf(realmId);
    if (this.#isOpen(line)) this.#enter(realmId, line);
    else await this.#wait(realmId, line);
    try {
      const result = await change();
      line.isStuck = false;
      return result;
    } catch (error) {
      if (isLockTimeout(error)) line.isStuck = await this.#isHeld(realmId);
      throw error;
    } finally {
      this.#leave(realmId, line);
    }
  }

  /** Returns whether this process has no change of the organization in progress or waiting. */
  isFree(realmId: number): boolean {
    return !this.#queues.has(realmId);
  }

  /** Returns whether a change of the organization would start immediately. */
  isOpen(realmId: number): boolean {
    return this.#isOpen(this.#queues.get(realmId) ?? newQueue());
  }

  #isOpen(line: OrganizationQueue): boolean {
    return line.waiting.size === 0 && this.#hasPermit(line);
  }

  #queueOf(realmId: number): OrganizationQueue {
    let line = this.#queues.get(realmId);
    if (line === undefined) {
      line = newQueue();
      this.#queues.set(realmId, line);
    }
    return line;
  }

  #hasPermit({ inside, isStuck }: OrganizationQueue): boolean {
    const { total, each, spare } = this.#limits;
    if (inside === 0) return this.#inside < total;
    return !isStuck && inside < each && this.#inside < total - spare;
  }

  #enter(realmId: number, line: OrganizationQueue): void {
    line.inside++;
    this.#inside++;
    if (this.#queues.size === 1) return;
    this.#queues.delete(realmId);
    this.#queues.set(realmId, line);
  }

  #wait(realmId: number, line: OrganizationQueue): Promise<void> {
    const { waiting, isStuck } = line;
    if (waiting.size >= (isStuck ? MAX_WAITING_WHEN_STUCK : this.#queueLimits.longest))
      return Promise.reject(new RequestTimeoutError());
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const one: Waiting = {
      enter: () => {
        clearTimeout(one.timer);
        waiting.delete(one);
        this.#enter(realmId, line);
        resolve();
      },
      timer: setTimeout(() => {
        waiting.delete(one);
        reject(new RequestTimeoutError());
        this.#forget(realmId, line);
      }, this.#queueLimits.patienceMs),
    };
    waiting.add(one);
    return promise;
  }

  #leave(realmId: number, line: OrganizationQueue): void {
    line.inside--;
    this.#inside--;
    this.#grant();
    this.#forget(realmId, line);
  }

  /** Gives free permits to waiting changes, one per organization in turn. */
  #grant(): void {
    for (;;) {
      const line = this.#queues.values().find((each) => each.waiting.size > 0 && this.#hasPermit(each));
      if (line === undefined) return;
      const [first] = line.waiting;
      first?.enter();
    }
  }

  /** Removes an organization without changes in progress or waiting, and so its `isStuck`. */
  #forget(realmId: number, { inside, waiting }: OrganizationQueue): void {
    if (inside === 0 && waiting.size === 0) this.#queues.delete(realmId);
  }
}
