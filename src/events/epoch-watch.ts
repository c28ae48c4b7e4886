import { RequestTimeoutError } from '../platform/errors.ts';
import type { LogContext } from './context.ts';
import { adoptPlace, beginEpoch, type EpochState, readEpoch } from './epoch.ts';
import { type EpochReason, judge, type Witness } from './epoch-rules.ts';
import { readCounters } from './log-reads.ts';

/**
 * A detector of logs that have lost events, for example because a backup was restored. It compares the log with the positions
 * that this node has seen.
 */
export class EpochWatch {
  readonly #app: LogContext;
  #known: EpochState;
  /** Highest event id that is known to be assigned, by organization id. */
  readonly #positions = new Map<number, number>();
  /** Whether a check has failed since the last successful one. */
  #isUnsure = false;
  /**
   * Time on the clock of `performance` at which a changed timeline was detected that no evidence explains yet. Undefined if
   * there is no such timeline.
   */
  #differsSince: number | undefined;
  #looking: Promise<unknown> = Promise.resolve();

  /** @param known The epoch at the start of the node. */
  constructor(app: LogContext, known: EpochState) {
    this.#app = app;
    this.#known = known;
  }

  /** Returns the highest known id of the organization's log. 0 if none is known. */
  seen(organizationId: number): number {
    return this.#positions.get(organizationId) ?? 0;
  }

  /** Ids of the organizations whose logs were in another database at the last check. */
  get away(): readonly number[] {
    return this.#known.away;
  }

  /** Records that the organization's log has reached this position. */
  note(organizationId: number, position: number): void {
    if (position > this.seen(organizationId)) this.#positions.set(organizationId, position);
  }

  /**
   * Checks whether the current epoch of the log continues. If the log has lost events that this node has seen, begins a new
   * epoch.
   *
   * @returns Whether an epoch has begun since the last check, here or on another node.
   * @throws Error if the database cannot be checked now.
   */
  look(): Promise<boolean> {
    return this.#inTurn(async () => {
      const isNew = await this.#look();
      this.#isUnsure = false;
      return isNew;
    });
  }

  /**
   * Begins a new epoch, unless one has begun since the last check.
   *
   * @returns Number of queues that the new epoch has ended. Undefined if an epoch had already begun.
   */
  begin(reason: EpochReason): Promise<number | undefined> {
    return this.#inTurn(async () => {
      const state = await this.#read();
      return state.id === this.#known.id ? this.#begin(state, reason) : this.#adopt();
    });
  }

  /**
   * Runs checks one at a time. Otherwise, if one of two concurrent checks began an epoch, the second check would conclude that
   * another node began it.
   */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#looking.then(work);
    this.#looking = result.catch(() => {
      this.#isUnsure = true;
    });
    return result;
  }

  async #look(): Promise<boolean> {
    // Copied before the counters are read, because commits during the read advance `#positions`.
    const seen = new Map(this.#positions);
    const state = await this.#read();
    const { id, kept, found, upSince } = state;
    if (id !== this.#known.id) {
      await this.#adopt();
      return true;
    }
    const waitedMs = this.#differsSince === undefined ? 0 : performance.now() - this.#differsSince;
    const isOther = upSince !== this.#known.upSince || judge(kept, found, { witness: 'none', waitedMs }) !== 'same';
    for (const organizationId of state.away) {
      seen.delete(organizationId);
      this.#positions.delete(organizationId);
    }
    const witness = isOther || this.#isUnsure ? await this.#testify(seen) : 'none';
    const verdict = judge(kept, found, { witness, waitedMs });
    if (verdict === 'wait') {
      this.#known = { ...this.#known, away: state.away };
      this.#differsSince ??= performance.now();
      return false;
    }
    if (typeof verdict === 'object') {
      await this.#begin(state, verdict.begin);
      return true;
    }
    if (verdict === 'adopt') await adoptPlace(this.#app, state);
    this.#known = state;
    this.#differsSince = undefined;
    return false;
  }

  async #read(): Promise<EpochState> {
    const state = await readEpoch(this.#app);
    // A standby may lag behind positions that were seen before, so no conclusion is possible.
    if (state.isStandby) throw new RequestTimeoutError('The database is a standby; please try again');
    // This node was paused or cut off while the data was copied. It becomes not ready, so that proxies use other nodes.
    if (state.isSealed) throw new RequestTimeoutError('The data was copied to another database; please try again');
    return state;
  }

  async #testify(seen: ReadonlyMap<number, number>): Promise<Witness> {
    if (seen.size === 0) return 'none';
    const counters = await readCounters(this.#app.db, [...seen.keys()]);
    const isThere = ([organizationId, position]: [number, number]) => (counters.get(organizationId) ?? 0) >= position;
    return [...seen].every(isThere) ? 'whole' : 'lacking';
  }

  /**
   * Begins a new epoch, or adopts the epoch that another node begins at the same time.
   *
   * @returns Number of queues that the new epoch has ended. Undefined if another node began the epoch.
   */
  async #begin(state: EpochState, reason: EpochReason): Promise<number | undefined> {
    const end = await beginEpoch(this.#app, state, reason);
    if (end === undefined) return this.#adopt();
    await this.#begun();
    return end.queues;
  }

  /** Adopts the epoch that another node has begun. */
  async #adopt(): Promise<undefined> {
    await this.#begun();
    this.#app.log.warn({ epoch: this.#known.id }, 'event log epoch changed');
  }

  async #begun(): Promise<void> {
    this.#known = await this.#read();
    this.#positions.clear();
    this.#differsSince = undefined;
  }
}
