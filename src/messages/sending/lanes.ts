import { AsyncLocalStorage } from 'node:async_hooks';
import type { App } from '../../access/context.ts';
import type { Database } from '../../platform/db/client.ts';
import { isBusy, isLostRace } from '../../platform/db/errors.ts';
import { RequestTimeoutError } from '../../platform/errors.ts';
import { type MessageToWrite, type Outcome, writeMessages } from './write.ts';

/** Our choice: beyond this the statement itself takes as long as what is saved by waiting once. */
const MOST_TOGETHER = 64;
/** Our choice: as many as wait for other changes of one organisation. */
const MAX_WAITING = 256;

/** Runs something as part of no request. */
const apart = AsyncLocalStorage.snapshot();

interface Waiting {
  readonly message: MessageToWrite;
  readonly resolve: (written: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

type SendingApp = Pick<App, 'database' | 'db'>;

const lanes = new WeakMap<Database, Map<number, Lane>>();

/**
 * Writes a message in its organisation's turn. While one statement is on its way to the database, what is sent meanwhile
 * waits, and goes with the next one: the organisation waits for the disk once for all of them.
 *
 * @returns As `writeMessages`.
 * @throws What `writeMessages` throws; what fails for one is not told to the others.
 * @throws RequestTimeoutError when too many wait, or its turn does not come in time: nothing was begun.
 */
export function writeTogether(app: SendingApp, realmId: number, message: MessageToWrite): Promise<Outcome> {
  const ofDatabase = lanes.get(app.database) ?? new Map<number, Lane>();
  lanes.set(app.database, ofDatabase);
  const lane = ofDatabase.get(realmId) ?? new Lane(app, realmId);
  ofDatabase.set(realmId, lane);
  return lane.send(message).finally(() => {
    if (lane.isIdle && ofDatabase.get(realmId) === lane) ofDatabase.delete(realmId);
  });
}

/**
 * One of several that could not be sent together, because one of them has lost a race, or cannot be stored. Unless it is
 * certain that none of them was, it is looked for before it is sent.
 */
const again = (one: Waiting, error: unknown): Waiting =>
  isLostRace(error) ? one : { ...one, message: { ...one.message, repeated: true } };

class Lane {
  readonly #app: SendingApp;
  readonly #realmId: number;
  readonly #waiting: Waiting[] = [];
  #isBusy = false;

  constructor(app: SendingApp, realmId: number) {
    this.#app = app;
    this.#realmId = realmId;
  }

  get isIdle(): boolean {
    return !this.#isBusy && this.#waiting.length === 0;
  }

  send(message: MessageToWrite): Promise<Outcome> {
    if (this.#waiting.length >= MAX_WAITING) return Promise.reject(new RequestTimeoutError());
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
    this.#waiting.push({ message, resolve, reject });
    if (!this.#isBusy) void apart(() => this.#run());
    return promise;
  }

  async #run(): Promise<void> {
    this.#isBusy = true;
    while (this.#waiting.length > 0) await this.#sendAll(this.#next());
    this.#isBusy = false;
  }

  /** Of one sender's messages that begin a topic, the second is looked at anew after the first: its reply tells of no policy. */
  #next(): readonly Waiting[] {
    const begun = new Set<string>();
    const end = this.#waiting.findIndex(({ message: { prepared, setsPolicy } }) => {
      if (setsPolicy !== true || prepared.target === null) return false;
      const { channel, topic } = prepared.target;
      const place = JSON.stringify([prepared.sender.id, channel.id, topic.toLowerCase()]);
      const isAgain = begun.has(place);
      begun.add(place);
      return isAgain;
    });
    return this.#waiting.splice(0, Math.min(MOST_TOGETHER, end === -1 ? MOST_TOGETHER : end));
  }

  /** Never rejects. */
  async #sendAll(together: readonly Waiting[]): Promise<void> {
    try {
      const written = await this.#write(together);
      for (const [i, { resolve }] of together.entries()) resolve(written[i]);
    } catch (error) {
      // Whether it was done, each finds out by itself, or knows that it was not.
      const isTold = together.length === 1 || isBusy(error) || error instanceof RequestTimeoutError;
      if (isTold) for (const { reject } of together) reject(error);
      else for (const one of together) await this.#sendAll([again(one, error)]);
    }
  }

  #write(together: readonly Waiting[]): Promise<Outcome[]> {
    const { database, db } = this.#app;
    const messages = together.map(({ message }) => message);
    return database.turns.take(this.#realmId, () => writeMessages(db, this.#realmId, messages));
  }
}
