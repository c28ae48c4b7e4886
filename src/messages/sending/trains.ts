import type { App } from '../../access/context.ts';
import { type MessageToWrite, type Outcome, writeMessagesOfMany } from './write.ts';

/** Our choice: beyond this the statement itself takes as long as what is saved by waiting once. */
const MOST_TOGETHER = 64;
/** Our choice: so many organisations share a statement, and its fate, at most. */
const MOST_LANES = 32;
/**
 * Our choice: what has taken longer waits for a lock or for a slow disk, and nobody waits for it, unless the next one would have
 * to wait in line. Most take 3 ms: then what gathers meanwhile is worth more than another statement at once with less, and
 * on a slow disk several wait together.
 */
const PATIENCE_MS = 5;
/** Has its turn as organisations have: none has this number. */
const OF_MANY = 0;

/** A message on its way to the database, and who waits for it. */
export interface Waiting {
  readonly message: MessageToWrite;
  readonly resolve: (written: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

/** What is sent in one organisation: what was taken is to be settled, has failed or is sent alone before it joins again. */
export interface SendingLane {
  readonly realmId: number;
  /** Those who are sent next, at most so many. */
  take(most: number): readonly Waiting[];
  /** They were sent. */
  settle(together: readonly Waiting[], written: readonly Outcome[]): void;
  /** They were on their way together with others, and that came to nothing. Never rejects. */
  failed(together: readonly Waiting[], error: unknown): Promise<void>;
  /** Sends them in a statement of the organisation's own. Never rejects. */
  sendAlone(together: readonly Waiting[]): Promise<void>;
}

interface Car {
  readonly lane: SendingLane;
  readonly together: readonly Waiting[];
}

/**
 * Statements that send, one after the other: what is sent while one is under way gathers for the next. Organisations share a
 * statement: what a statement and its commit cost hardly rises with their number.
 *
 * No organisation waits for long for another one's locks, some 20 ms at the most: one in which somebody is changing something goes
 * by itself, and so does one for which the shared statement could do nothing.
 */
export class Trains {
  readonly #app: Pick<App, 'database' | 'db'>;
  readonly #ready: SendingLane[] = [];
  /** The statement that the next one waits for. */
  #awaited: object | undefined;

  constructor(app: Pick<App, 'database' | 'db'>) {
    this.#app = app;
  }

  /** Has the lane's next messages sent. */
  join(lane: SendingLane): void {
    if (this.#isFree(lane)) {
      this.#ready.push(lane);
      // After the requests that have arrived by now, so that they share it.
      setImmediate(() => this.#depart());
    } else void lane.sendAlone(lane.take(MOST_TOGETHER));
  }

  #isFree({ realmId }: SendingLane): boolean {
    return this.#app.database.turns.isFree(realmId);
  }

  #depart(): void {
    if (this.#awaited !== undefined || this.#ready.length === 0) return;
    const statement = {};
    this.#awaited = statement;
    const goOn = () => {
      if (this.#awaited !== statement) return;
      this.#awaited = undefined;
      this.#depart();
    };
    const goOnLate = () => {
      if (this.#wouldBegin()) goOn();
      else timer = setTimeout(goOnLate, PATIENCE_MS);
    };
    let timer = setTimeout(goOnLate, PATIENCE_MS);
    void this.#send(this.#next()).finally(() => {
      clearTimeout(timer);
      goOn();
    });
  }

  /** Whether another statement would begin at once. The embedded database does one thing at a time. */
  #wouldBegin(): boolean {
    const { kind, turns } = this.#app.database;
    return kind === 'postgresql' && turns.isOpen(OF_MANY);
  }

  /** Those who have waited longest, up to as many messages as go together. */
  #next(): readonly Car[] {
    const cars: Car[] = [];
    let room = MOST_TOGETHER;
    while (room > 0 && cars.length < MOST_LANES) {
      const lane = this.#ready.shift();
      if (lane === undefined) break;
      const together = lane.take(room);
      room -= together.length;
      cars.push({ lane, together });
    }
    return cars;
  }

  /** Never rejects. Resolves when the statement is over. */
  async #send(cars: readonly Car[]): Promise<void> {
    const [only, ...others] = cars;
    if (only !== undefined && others.length === 0) return only.lane.sendAlone(only.together);
    const { database, db } = this.#app;
    const batches = cars.map(({ lane: { realmId }, together }) => ({
      realmId,
      messages: together.map(({ message }) => message),
    }));
    try {
      const written = await database.turns.take(OF_MANY, () => writeMessagesOfMany(db, batches));
      for (const { lane, together } of cars) {
        const outcomes = written.get(lane.realmId);
        if (outcomes === undefined) void lane.sendAlone(together);
        else lane.settle(together, outcomes);
      }
    } catch (error) {
      for (const { lane, together } of cars) void lane.failed(together, error);
    }
  }
}
