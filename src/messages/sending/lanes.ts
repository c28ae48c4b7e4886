import { AsyncLocalStorage } from 'node:async_hooks';
import type { App } from '../../access/context.ts';
import type { Database } from '../../platform/db/client.ts';
import { isBusy, isLostRace } from '../../platform/db/errors.ts';
import { RequestTimeoutError } from '../../platform/errors.ts';
import { type SendingLane, Trains, type Waiting } from './trains.ts';
import { type MessageToWrite, type Outcome, writeMessages } from './write.ts';

/** Our choice: as many as wait for other changes of one organisation. */
const MAX_WAITING = 256;

/** Runs something as part of no request. */
const apart = AsyncLocalStorage.snapshot();

type SendingApp = Pick<App, 'database' | 'db'>;

/** What is sent by one database. */
interface Sends {
  readonly lanes: Map<number, Lane>;
  readonly trains: Trains;
}

const sends = new WeakMap<Database, Sends>();

/**
 * Writes a message in its organisation's turn. While one statement is on its way to the database, what is sent meanwhile
 * waits, and goes with the next one: the organisation waits for the disk once for all of them. Where many organisations send
 * at the same time, one statement may be for several.
 *
 * @returns As `writeMessages`.
 * @throws What `writeMessages` throws; what fails for one is not told to the others.
 * @throws RequestTimeoutError when too many wait, or its turn does not come in time: nothing was begun.
 */
export function writeTogether(app: SendingApp, realmId: number, message: MessageToWrite): Promise<Outcome> {
  const { lanes, trains } = sends.get(app.database) ?? { lanes: new Map<number, Lane>(), trains: new Trains(app) };
  sends.set(app.database, { lanes, trains });
  const lane = lanes.get(realmId) ?? new Lane(app, realmId, trains);
  lanes.set(realmId, lane);
  return lane.send(message).finally(() => {
    if (lane.isIdle && lanes.get(realmId) === lane) lanes.delete(realmId);
  });
}

/**
 * One of several that could not be sent together, because one of them has lost a race, or cannot be stored. Unless it is
 * certain that none of them was, it is looked for before it is sent.
 */
const again = (one: Waiting, error: unknown): Waiting =>
  isLostRace(error) ? one : { ...one, message: { ...one.message, repeated: true } };

/** What is sent in one organisation: one statement at a time. */
class Lane implements SendingLane {
  readonly realmId: number;
  readonly #app: SendingApp;
  readonly #trains: Trains;
  readonly #waiting: Waiting[] = [];
  #isBusy = false;

  constructor(app: SendingApp, realmId: number, trains: Trains) {
    this.#app = app;
    this.realmId = realmId;
    this.#trains = trains;
  }

  get isIdle(): boolean {
    return !this.#isBusy && this.#waiting.length === 0;
  }

  send(message: MessageToWrite): Promise<Outcome> {
    if (this.#waiting.length >= MAX_WAITING) return Promise.reject(new RequestTimeoutError());
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
    this.#waiting.push({ message, resolve, reject });
    if (!this.#isBusy) apart(() => this.#goOn());
    return promise;
  }

  #goOn(): void {
    this.#isBusy = this.#waiting.length > 0;
    if (this.#isBusy) this.#trains.join(this);
  }

  /**
   * Of one sender's messages that begin a topic, the second is looked at anew after the first: its reply tells of no policy.
   */
  take(most: number): readonly Waiting[] {
    const begun = new Set<string>();
    const end = this.#waiting.findIndex(({ message: { prepared, setsPolicy } }) => {
      if (setsPolicy !== true || prepared.target === null) return false;
      const { channel, topic } = prepared.target;
      const place = JSON.stringify([prepared.sender.id, channel.id, topic.toLowerCase()]);
      const isAgain = begun.has(place);
      begun.add(place);
      return isAgain;
    });
    return this.#waiting.splice(0, Math.min(most, end === -1 ? most : end));
  }

  settle(together: readonly Waiting[], written: readonly Outcome[]): void {
    for (const [i, { resolve }] of together.entries()) resolve(written[i]);
    this.#goOn();
  }

  async failed(together: readonly Waiting[], error: unknown): Promise<void> {
    if (isToBeTold(error)) {
      for (const { reject } of together) reject(error);
      this.#goOn();
    } else await this.sendAlone(together.map((one) => again(one, error)));
  }

  async sendAlone(together: readonly Waiting[]): Promise<void> {
    await this.#sendAll(together);
    this.#goOn();
  }

  async #sendAll(together: readonly Waiting[]): Promise<void> {
    try {
      const written = await this.#write(together);
      for (const [i, { resolve }] of together.entries()) resolve(written[i]);
    } catch (error) {
      if (together.length === 1 || isToBeTold(error)) for (const { reject } of together) reject(error);
      else for (const one of together) await this.#sendAll([again(one, error)]);
    }
  }

  #write(together: readonly Waiting[]): Promise<Outcome[]> {
    const { database, db } = this.#app;
    const messages = together.map(({ message }) => message);
    return database.turns.take(this.realmId, () => writeMessages(db, this.realmId, messages));
  }
}

/** Whether it was done, each finds out by itself, or knows that it was not. */
const isToBeTold = (error: unknown): boolean => isBusy(error) || error instanceof RequestTimeoutError;
