import { RequestTimeoutError } from '../errors.ts';
import { isLockTimeout } from './errors.ts';

/** Who may wait for a turn. */
interface Line {
  /** How many of one organisation. */
  readonly longest: number;
  /** How long. */
  readonly patienceMs: number;
}

const LINE: Line = {
  /** Our choice: more than any burst of one organisation's clients that is served in time. */
  longest: 250,
  /** Our choice: a little longer than a transaction whose node is gone holds its locks, so that who waits is served after it. */
  patienceMs: 6_000,
};
/**
 * Our choice, for what is read at one moment. It waits for no lock, so that a line always moves: who is refused begins again at
 * its end, and what others had done for them meanwhile was for nothing. Clients wait for a registration for half a minute.
 */
export const LINE_OF_SNAPSHOTS: Line = { ...LINE, patienceMs: 20_000 };
/**
 * Our choice: of those who catch up nobody is refused for the others, whom each of their turns brings on; who waits for so long
 * waits for a database that does not answer, and comes back.
 */
export const LINE_OF_READERS: Line = { longest: Number.POSITIVE_INFINITY, patienceMs: 60_000 };
/** Our choice: enough to notice that an organisation is not stuck any more. */
const MAX_LINE_WHEN_STUCK = 4;

/** How many connections changes may have. */
export interface Places {
  /** All of them together. */
  readonly total: number;
  /** Those of one organisation. */
  readonly each: number;
  /** Of the total, kept for organisations that have none. */
  readonly spare: number;
}

/**
 * What is left of a pool's connections is for reading: signing in, the log, what load balancers ask. The embedded
 * database has one connection, and changes that have a place wait for it.
 */
export function placesOf(poolSize: number): Places {
  const total = Math.max(1, poolSize - 2);
  return { total, each: Math.ceil(total * 0.6), spare: Math.floor(total / 4) };
}

/**
 * A few for those who read what is far back in the log, where each statement keeps the database busy for a while: at most two
 * of one organisation, and one more for another.
 */
export function placesOfReaders(poolSize: number): Places {
  const total = Math.max(1, Math.floor(poolSize / 3));
  return { total, each: Math.min(2, total), spare: total > 1 ? 1 : 0 };
}

/** As many for those who read all there is of an organisation, and of one of them one at a time: two kept two cores busy. */
export const placesOfSnapshots = (poolSize: number): Places => ({ ...placesOfReaders(poolSize), each: 1 });

/** One after the other, of whatever organisation: everybody else waits for the one connection as long as it takes. */
export const ONE_PLACE: Places = { total: 1, each: 1, spare: 0 };

interface Waiting {
  readonly enter: () => void;
  readonly timer: NodeJS.Timeout;
}

/** The changes of one organisation: those under way, and those that wait. */
interface OrganizationQueue {
  inside: number;
  /** Whether the last one to end waited for a lock in vain, and what all of its changes need is held. */
  isStuck: boolean;
  readonly waiting: Set<Waiting>;
}

const newLine = (): OrganizationQueue => ({ inside: 0, isStuck: false, waiting: new Set() });

/**
 * Who may change something when: a bounded share of the connections for each organisation, because the changes of one wait
 * for each other's locks, and could take all connections with them while nobody of another organisation gets one. The same
 * for whatever else holds a connection for several statements.
 *
 * Organisations take turns; within one, who came first is first.
 */
export class Turns {
  readonly #places: Places;
  readonly #line: Line;
  readonly #isHeld: (realmId: number) => Promise<boolean>;
  /** In the order of their turns: who was served goes to the end. */
  readonly #lines = new Map<number, OrganizationQueue>();
  #inside = 0;

  /**
   * @param isHeld Whether somebody holds what all changes of the organisation need. Asked when one has waited for a lock in
   *   vain: many wait for a user or a channel, which is no reason to let the others wait.
   */
  constructor(places: Places, isHeld: (realmId: number) => Promise<boolean>, line = LINE) {
    this.#places = places;
    this.#line = line;
    this.#isHeld = isHeld;
  }

  /**
   * Runs a change when it is the organisation's turn.
   *
   * @param change One transaction. May not wait for another turn.
   * @throws RequestTimeoutError when too many wait already, or this one has waited too long: nothing was begun.
   */
  async take<T>(realmId: number, change: () => Promise<T>): Promise<T> {
    const line = this.#lineOf(realmId);
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

  /** Whether nobody is changing anything of the organisation from here, or waits to. */
  isFree(realmId: number): boolean {
    return !this.#lines.has(realmId);
  }

  /** Whether a change of the organisation would begin at once. */
  isOpen(realmId: number): boolean {
    return this.#isOpen(this.#lines.get(realmId) ?? newLine());
  }

  #isOpen(line: OrganizationQueue): boolean {
    return line.waiting.size === 0 && this.#hasPlace(line);
  }

  #lineOf(realmId: number): OrganizationQueue {
    let line = this.#lines.get(realmId);
    if (line === undefined) {
      line = newLine();
      this.#lines.set(realmId, line);
    }
    return line;
  }

  #hasPlace({ inside, isStuck }: OrganizationQueue): boolean {
    const { total, each, spare } = this.#places;
    if (inside === 0) return this.#inside < total;
    return !isStuck && inside < each && this.#inside < total - spare;
  }

  #enter(realmId: number, line: OrganizationQueue): void {
    line.inside++;
    this.#inside++;
    if (this.#lines.size === 1) return;
    this.#lines.delete(realmId);
    this.#lines.set(realmId, line);
  }

  #wait(realmId: number, line: OrganizationQueue): Promise<void> {
    const { waiting, isStuck } = line;
    if (waiting.size >= (isStuck ? MAX_LINE_WHEN_STUCK : this.#line.longest))
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
      }, this.#line.patienceMs),
    };
    waiting.add(one);
    return promise;
  }

  #leave(realmId: number, line: OrganizationQueue): void {
    line.inside--;
    this.#inside--;
    this.#letIn();
    this.#forget(realmId, line);
  }

  /** Gives what is free to those who wait, one place to each organisation in its turn. */
  #letIn(): void {
    for (;;) {
      const line = this.#lines.values().find((each) => each.waiting.size > 0 && this.#hasPlace(each));
      if (line === undefined) return;
      const [first] = line.waiting;
      first?.enter();
    }
  }

  /** That an organisation is stuck is remembered for as long as somebody is there who found it so. */
  #forget(realmId: number, { inside, waiting }: OrganizationQueue): void {
    if (inside === 0 && waiting.size === 0) this.#lines.delete(realmId);
  }
}
