import { AsyncLocalStorage } from 'node:async_hooks';
import type { App } from '../../access/context.ts';
import { topicKey } from '../../contract/topic-key.ts';
import type { Database } from '../../platform/db/client.ts';
import { isBusy, isSerializationFailure } from '../../platform/db/errors.ts';
import { RequestTimeoutError } from '../../platform/errors.ts';
import { BatchQueue, type BatchSource, type WaitingMessage } from './batch-queue.ts';
import { type MessageToWrite, type Outcome, writeMessages } from './write.ts';

/**
 * Maximum number of waiting messages of one organization. Similar to the limit of its other waiting changes
 * (platform/db/permits.ts).
 */
const MAX_WAITING = 256;

/** Runs a function outside the asynchronous context of the current request, because a batch serves several requests. */
const apart = AsyncLocalStorage.snapshot();

type SendingApp = Pick<App, 'database' | 'db'>;

/** Batch queues for one database. */
interface Sends {
  readonly queues: Map<number, OrganizationQueue>;
  readonly batches: BatchQueue;
}

const sends = new WeakMap<Database, Sends>();

/**
 * Writes a message in the batch queue of its organization. Messages that arrive while a statement is in progress wait for the
 * next one, so that a whole batch needs one disk flush. A statement can contain messages of several organizations.
 *
 * @returns The outcome of this message, as in `writeMessages`.
 * @throws The errors of `writeMessages`. An error of one message does not affect other messages.
 * @throws RequestTimeoutError if the queue is full, or the statement could not begin in time. Nothing was written.
 */
export function writeBatched(app: SendingApp, realmId: number, message: MessageToWrite): Promise<Outcome> {
  const { queues, batches } = sends.get(app.database) ?? {
    queues: new Map<number, OrganizationQueue>(),
    batches: new BatchQueue(app),
  };
  sends.set(app.database, { queues, batches });
  const queue = queues.get(realmId) ?? new OrganizationQueue(app, realmId, batches);
  queues.set(realmId, queue);
  return queue.send(message).finally(() => {
    if (queue.isIdle && queues.get(realmId) === queue) queues.delete(realmId);
  });
}

/**
 * Prepares a message of a failed batch for another attempt. A batch fails as a whole on a serialization failure, or if one of
 * its messages cannot be stored. After any other error than a serialization failure, the message may have been written, so the
 * next attempt looks it up first.
 */
const again = (one: WaitingMessage, error: unknown): WaitingMessage =>
  isSerializationFailure(error) ? one : { ...one, message: { ...one.message, repeated: true } };

/** Queue of one organization's messages. At most one statement of the organization is in progress. */
class OrganizationQueue implements BatchSource {
  readonly realmId: number;
  readonly #app: SendingApp;
  readonly #batches: BatchQueue;
  readonly #waiting: WaitingMessage[] = [];
  #isBusy = false;

  constructor(app: SendingApp, realmId: number, trains: BatchQueue) {
    this.#app = app;
    this.realmId = realmId;
    this.#batches = trains;
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
    if (this.#isBusy) this.#batches.join(this);
  }

  /**
   * Removes the messages of the next batch from the queue and returns them. Within a batch, a sender can set a policy for a
   * topic only once: the batch ends before a second message that would set it again. That message then fails the check of the
   * sender's policy, is prepared again, and sets no policy.
   */
  take(most: number): readonly WaitingMessage[] {
    const begun = new Set<string>();
    const end = this.#waiting.findIndex(({ message: { prepared, setsPolicy } }) => {
      if (setsPolicy !== true || prepared.target === null) return false;
      const { channel, topic } = prepared.target;
      const place = JSON.stringify([prepared.sender.id, channel.id, topicKey(topic)]);
      const isAgain = begun.has(place);
      begun.add(place);
      return isAgain;
    });
    return this.#waiting.splice(0, Math.min(most, end === -1 ? most : end));
  }

  settle(together: readonly WaitingMessage[], written: readonly Outcome[]): void {
    for (const [i, { resolve }] of together.entries()) resolve(written[i]);
    this.#goOn();
  }

  async failed(together: readonly WaitingMessage[], error: unknown): Promise<void> {
    if (isToBeReported(error)) {
      for (const { reject } of together) reject(error);
      this.#goOn();
    } else await this.sendAlone(together.map((one) => again(one, error)));
  }

  async sendAlone(together: readonly WaitingMessage[]): Promise<void> {
    await this.#sendAll(together);
    this.#goOn();
  }

  async #sendAll(together: readonly WaitingMessage[]): Promise<void> {
    try {
      const written = await this.#write(together);
      for (const [i, { resolve }] of together.entries()) resolve(written[i]);
    } catch (error) {
      if (together.length === 1 || isToBeReported(error)) for (const { reject } of together) reject(error);
      else for (const one of together) await this.#sendAll([again(one, error)]);
    }
  }

  #write(together: readonly WaitingMessage[]): Promise<Outcome[]> {
    const { database, db } = this.#app;
    const messages = together.map(({ message }) => message);
    return database.permits.run(this.realmId, () => writeMessages(db, this.realmId, messages));
  }
}

/**
 * Returns whether an error is passed to the senders instead of being retried here. Each sender then looks up its message,
 * unless the error proves that the message was not written.
 */
const isToBeReported = (error: unknown): boolean => isBusy(error) || error instanceof RequestTimeoutError;
