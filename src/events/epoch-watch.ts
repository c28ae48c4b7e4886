import { RequestTimeoutError } from '../platform/errors.ts';
import type { LogContext } from './context.ts';
import { adoptPlace, beginEpoch, type EpochState, readEpoch } from './epoch.ts';
import { type EpochReason, judge, type Witness } from './epoch-rules.ts';
import { readCounters } from './log-reads.ts';

/** A node's knowledge of the log, by which it can tell whether something of it is gone. */
export class EpochWatch {
  readonly #app: LogContext;
  #known: EpochState;
  /** The highest of each realm that is known to have been given out. */
  readonly #positions = new Map<number, number>();
  /** Whether something was out of reach since all of these were last there. */
  #isUnsure = false;
  /** On the clock of `performance`: since when another timeline is known, and nobody has told what it means. */
  #differsSince: number | undefined;
  #looking: Promise<unknown> = Promise.resolve();

  /** @param known As the node found it when it started. */
  constructor(app: LogContext, known: EpochState) {
    this.#app = app;
    this.#known = known;
  }

  /** How far the realm's log is known to have come. */
  seen(realmId: number): number {
    return this.#positions.get(realmId) ?? 0;
  }

  /** Notes that the realm's log has come so far. */
  note(realmId: number, position: number): void {
    if (position > this.seen(realmId)) this.#positions.set(realmId, position);
  }

  /**
   * Looks whether the log goes on where it was.
   *
   * @returns Whether an epoch has begun since the last look, here or on another node.
   * @throws Error when that cannot be found out now.
   */
  look(): Promise<boolean> {
    return this.#inTurn(async () => {
      const isNew = await this.#look();
      this.#isUnsure = false;
      return isNew;
    });
  }

  /**
   * Begins a new epoch, unless one has begun since the last look.
   *
   * @returns How many queues it has ended; undefined where it had begun already.
   */
  begin(reason: EpochReason): Promise<number | undefined> {
    return this.#inTurn(async () => {
      const state = await this.#read();
      const end = state.id === this.#known.id ? await beginEpoch(this.#app, state, reason) : undefined;
      await this.#begun();
      return end?.queues;
    });
  }

  /** One after the other: two would take each other's epoch for another node's. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#looking.then(work);
    this.#looking = result.catch(() => {
      this.#isUnsure = true;
    });
    return result;
  }

  async #look(): Promise<boolean> {
    // Of before the counters are read: commits move them on meanwhile.
    const seen = new Map(this.#positions);
    const state = await this.#read();
    const { id, kept, found, upSince } = state;
    if (id !== this.#known.id) {
      this.#app.log.warn({ epoch: id }, 'a new epoch of the event log has begun');
      await this.#begun();
      return true;
    }
    const waitedMs = this.#differsSince === undefined ? 0 : performance.now() - this.#differsSince;
    const isOther = upSince !== this.#known.upSince || judge(kept, found, { witness: 'none', waitedMs }) !== 'same';
    const witness = isOther || this.#isUnsure ? await this.#testify(seen) : 'none';
    const verdict = judge(kept, found, { witness, waitedMs });
    if (verdict === 'wait') {
      this.#differsSince ??= performance.now();
      return false;
    }
    if (typeof verdict === 'object') {
      await beginEpoch(this.#app, state, verdict.begin);
      await this.#begun();
      return true;
    }
    if (verdict === 'adopt') await adoptPlace(this.#app, state);
    this.#known = state;
    this.#differsSince = undefined;
    return false;
  }

  async #read(): Promise<EpochState> {
    const state = await readEpoch(this.#app);
    // It may lag behind what was told before.
    if (state.isStandby) throw new RequestTimeoutError('The database is a standby; please try again');
    return state;
  }

  async #testify(seen: ReadonlyMap<number, number>): Promise<Witness> {
    if (seen.size === 0) return 'none';
    const counters = await readCounters(this.#app.db, [...seen.keys()]);
    const isThere = ([realmId, position]: [number, number]) => (counters.get(realmId) ?? 0) >= position;
    return [...seen].every(isThere) ? 'whole' : 'lacking';
  }

  async #begun(): Promise<void> {
    this.#known = await this.#read();
    this.#positions.clear();
    this.#differsSince = undefined;
  }
}
