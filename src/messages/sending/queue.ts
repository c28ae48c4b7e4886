import { AsyncLocalStorage } from 'node:async_hooks';
import type { App } from '../../access/context.ts';
import { topicKey } from '../../contract/topic-key.ts';
import { BatchSchedule } from '../../platform/batch-schedule.ts';
import type { Database } from '../../platform/db/client.ts';
import { isBusy, isSerializationFailure } from '../../platform/db/errors.ts';
import { RequestTimeoutError } from '../../platform/errors.ts';
import { type Batch, type MessageToWrite, type Outcome, writeMessages } from './write.ts';

/**
 * Maximum number of waiting messages of one organization. Similar to the limit of its other waiting changes
 * (platform/db/permits.ts).
 */
const MAX_WAITING = 256;
/**
 * Maximum number of messages in a statement. A statement for more messages would take no less time than several smaller
 * statements.
 */
const MAX_BATCH_SIZE = 64;
/** Maximum number of organizations that share a statement. If the statement fails, it fails for all of them. */
const MAX_ORGANIZATIONS = 32;
/**
 * Time in milliseconds for which the next statement waits for the current one. It waits longer while it could not begin anyway.
 * Most statements take 3 ms; collecting messages during that time is better than sending a smaller batch immediately. A
 * statement that exceeds this time waits for a lock or a slow disk, so several statements then run in parallel.
 */
const PATIENCE_MS = 5;
/**
 * Key for shared statements in the fair limiter (`database.permits`), whose other keys are organization ids. No organization
 * has this id.
 */
const SHARED_KEY = 0;

/** Runs a function outside the asynchronous context of the current request, because a batch serves several requests. */
const detached = AsyncLocalStorage.snapshot();

type SendingApp = Pick<App, 'database' | 'db'>;

const queues = new WeakMap<Database, SendQueue>();

/**
 * Writes a message by the queue of the database's sends. Messages that arrive while a statement is in progress wait for the
 * next one, so that a whole batch needs one disk flush. A statement can contain messages of several organizations.
 *
 * @returns The outcome of this message, as in `writeMessages`.
 * @throws The errors of `writeMessages`. An error of one message does not affect other messages.
 * @throws RequestTimeoutError if the queue is full, or the statement could not begin in time. Nothing was written.
 */
export function writeBatched(app: SendingApp, realmId: number, message: MessageToWrite): Promise<Outcome> {
  const queue = queues.get(app.database) ?? new SendQueue(app);
  queues.set(app.database, queue);
  return queue.write(realmId, message);
}

/** A message in the queue, with the functions that settle its promise. */
interface WaitingMessage extends MessageToWrite {
  readonly resolve: (written: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

/** Messages of one organization that were removed from the queue for a statement. */
interface WaitingBatch extends Batch {
  readonly messages: readonly WaitingMessage[];
}

/**
 * Queue of the statements that send messages. Messages that arrive while a statement is in progress are sent with the next one.
 * Organizations share a statement, because the cost of a statement and its commit hardly grows with their number. At most one
 * statement of an organization is in progress.
 *
 * An organization waits at most some 20 ms for locks of other organizations. Its messages are sent in a separate statement if
 * it has another change in progress, or if the shared statement could not write them.
 */
class SendQueue {
  readonly #app: SendingApp;
  /** Waiting messages by organization id. An organization with a statement in progress has an entry, which may be empty. */
  readonly #waiting = new Map<number, WaitingMessage[]>();
  /** Organizations whose messages wait for the next shared statement, in the order of their first message. */
  readonly #ready: number[] = [];
  readonly #schedule = new BatchSchedule({
    start: () => this.#startNext(),
    patienceMs: PATIENCE_MS,
    canOverlap: () => this.#canOverlap(),
  });

  constructor(app: SendingApp) {
    this.#app = app;
  }

  /** Writes a message as `writeBatched` does. */
  write(realmId: number, message: MessageToWrite): Promise<Outcome> {
    const waiting = this.#waiting.get(realmId);
    if (waiting !== undefined && waiting.length >= MAX_WAITING) return Promise.reject(new RequestTimeoutError());
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
    const one = { ...message, resolve, reject };
    if (waiting === undefined) {
      this.#waiting.set(realmId, [one]);
      detached(() => this.#continue(realmId));
    } else waiting.push(one);
    return promise;
  }

  /**
   * Requests the next statement for an organization that has none in progress. If another change of the organization is in
   * progress, its messages are sent in a separate statement.
   */
  #continue(realmId: number): void {
    if (this.#waiting.get(realmId)?.length === 0) this.#waiting.delete(realmId);
    else if (this.#app.database.permits.isFree(realmId)) {
      this.#ready.push(realmId);
      this.#schedule.request();
    } else void this.#sendAlone(this.#take(realmId, MAX_BATCH_SIZE));
  }

  /** Starts a statement for the organizations that have waited longest. Undefined if none is waiting. */
  #startNext(): Promise<void> | undefined {
    const batches: WaitingBatch[] = [];
    for (let left = MAX_BATCH_SIZE; left > 0 && batches.length < MAX_ORGANIZATIONS; ) {
      const realmId = this.#ready.shift();
      if (realmId === undefined) break;
      const batch = this.#take(realmId, left);
      left -= batch.messages.length;
      batches.push(batch);
    }
    const [only, ...others] = batches;
    if (only === undefined) return undefined;
    return others.length === 0 ? this.#sendAlone(only) : this.#share(batches);
  }

  /** Returns whether another statement could begin immediately. The embedded database runs one at a time. */
  #canOverlap(): boolean {
    const { kind, permits } = this.#app.database;
    return kind === 'postgresql' && permits.isOpen(SHARED_KEY);
  }

  /**
   * Removes the next messages of an organization from the queue, at most `most`. Within a batch, a sender can set a policy for
   * a topic only once: the batch ends before a second message that would set it again. That message then fails the check of the
   * sender's policy, is prepared again, and sets no policy.
   */
  #take(realmId: number, most: number): WaitingBatch {
    const waiting = this.#waiting.get(realmId) ?? [];
    const begun = new Set<string>();
    let count = 0;
    for (const message of waiting.slice(0, most)) {
      const place = message.setsPolicy ? placeOf(message) : '';
      if (begun.has(place)) break;
      if (place !== '') begun.add(place);
      count++;
    }
    return { realmId, messages: waiting.splice(0, count) };
  }

  /** Sends messages of several organizations in one statement. Never rejects. */
  async #share(batches: readonly WaitingBatch[]): Promise<void> {
    const unsent = await this.#send(SHARED_KEY, batches);
    for (const { realmId } of batches) {
      const batch = unsent.find((one) => one.realmId === realmId);
      if (batch === undefined) this.#continue(realmId);
      else void this.#sendAlone(batch);
    }
  }

  /** Sends messages in a statement for only their organization. If it fails, each is sent alone. Never rejects. */
  async #sendAlone(batch: WaitingBatch): Promise<void> {
    const { realmId } = batch;
    for (const { messages } of await this.#send(realmId, [batch])) {
      for (const message of messages) await this.#send(realmId, [{ realmId, messages: [message] }]);
    }
    this.#continue(realmId);
  }

  /**
   * Runs one statement and settles its messages. Never rejects.
   *
   * @param key Key of the permit under which the statement runs.
   * @returns The messages that must be sent in smaller statements. Empty if the statement had one message.
   */
  async #send(key: number, batches: readonly WaitingBatch[]): Promise<WaitingBatch[]> {
    const { database, db } = this.#app;
    try {
      const written = await database.permits.run(key, () => writeMessages(db, batches));
      const unsent: WaitingBatch[] = [];
      for (const [i, batch] of batches.entries()) {
        const outcomes = written[i];
        if (outcomes === undefined) unsent.push(batch);
        else for (const [place, { resolve }] of batch.messages.entries()) resolve(outcomes[place]);
      }
      return unsent;
    } catch (error) {
      const isOne = batches.length === 1 && batches[0]?.messages.length === 1;
      if (!isOne && !isToBeReported(error)) {
        return batches.map(({ realmId, messages }) => ({
          realmId,
          messages: messages.map((one) => again(one, error)),
        }));
      }
      for (const { reject } of batches.flatMap(({ messages }) => messages)) reject(error);
      return [];
    }
  }
}

/** Identifies the sender and topic of a message. "" for a direct message. */
function placeOf({ prepared: { sender, target } }: MessageToWrite): string {
  return target === null ? '' : JSON.stringify([sender.id, target.channel.id, topicKey(target.topic)]);
}

/**
 * Prepares a message of a failed batch for another attempt. A batch fails as a whole on a serialization failure, or if one of
 * its messages cannot be stored. After any other error than a serialization failure, the message may have been written, so the
 * next attempt looks it up first.
 */
const again = (one: WaitingMessage, error: unknown): WaitingMessage =>
  isSerializationFailure(error) ? one : { ...one, repeated: true };

/**
 * Returns whether an error is passed to the senders instead of being retried here. Each sender then looks up its message,
 * unless the error proves that the message was not written.
 */
const isToBeReported = (error: unknown): boolean => isBusy(error) || error instanceof RequestTimeoutError;
