import type { App } from '../../access/context.ts';
import { type MessageToWrite, type Outcome, writeMessagesOfMany } from './write.ts';

/** Our choice: beyond this the statement itself takes as long as what is saved by waiting once. */
const MOST_TOGETHER = 64;
/** Our choice: so many organisations share a statement, and its fate, at most. */
const MOST_LANES = 16;
/** Our choice: while so many statements are on their way, what is sent waits for the next one. */
const UNDER_WAY = 2;
/** Our choice: what has taken longer waits for something, and nobody waits for it. */
const PATIENCE_MS = 20;
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
 * Statements that send. As long as few are under way, what is sent in a turn of the event loop goes at its end; beyond that it
 * gathers. Organisations share a statement: what a statement and its commit cost does not rise with their number.
 *
 * No organisation waits for another one's locks: one in which somebody is changing something goes by itself, and so does one
 * for which the shared statement could do nothing.
 */
export class Trains {
  readonly #app: Pick<App, 'database' | 'db'>;
  readonly #ready: SendingLane[] = [];
  #underWay = 0;

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
    while (this.#underWay < UNDER_WAY && this.#ready.length > 0) {
      const cars = this.#next();
      this.#underWay++;
      let isCounted = true;
      const leave = () => {
        if (!isCounted) return;
        isCounted = false;
        this.#underWay--;
        this.#depart();
      };
      const timer = setTimeout(leave, PATIENCE_MS);
      void this.#send(cars).finally(() => {
        clearTimeout(timer);
        leave();
      });
    }
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
