import { AsyncLocalStorage } from 'node:async_hooks';
import type { App } from '../../access/context.ts';
import { topicKey } from '../../contract/topic-key.ts';
import { BatchSchedule } from '../../platform/batch-schedule.ts';
import type { Database } from '../../platform/db/client.ts';
import { isBusy, isSerializationFailure } from '../../platform/db/errors.ts';
import { RequestTimeoutError } from '../../platform/errors.ts';
import { type Batch, type MessageToWrite, type Outcome, writeMessages } from './write.ts';

/**
 * Maximum number of messages of one organization that wait in the queue. Further messages are refused with
 * `RequestTimeoutError`. Similar to the limit for other waiting changes of an organization (platform/db/permits.ts).
 */
const MAX_WAITING = 256;
/**
 * Maximum number of messages that one statement writes. Further messages wait for the next statement. A statement with more
 * messages would take as long as several smaller statements.
 */
const MAX_BATCH_SIZE = 64;
/**
 * Maximum number of organizations that share a statement. Messages of further organizations wait for the next statement. If a
 * statement fails, it fails for each of its organizations.
 */
const MAX_ORGANIZATIONS = 32;
/**
 * Maximum time, in milliseconds, that the next statement waits for the end of the current statement, although both could run in
 * parallel. Most statements take 3 ms. Messages that arrive during the wait form a larger batch, which is cheaper than several
 * small ones. If the current statement takes longer, it is waiting for a lock or a slow disk. The next statement then runs in
 * parallel.
 */
const PATIENCE_MS = 5;
/**
 * Key under which statements for several organizations acquire permits in the fair limiter (`database.permits`). All other keys
 * are organization ids, and no organization has this id.
 */
const SHARED_KEY = 0;

/** Runs a function outside the asynchronous context of the current request, because a batch serves several requests. */
const detached = AsyncLocalStorage.snapshot();

type SendingApp = Pick<App, 'database' | 'db'>;

const queues = new WeakMap<Database, SendQueue>();

/**
 * Writes a message through the send queue of the database. Messages that arrive while a statement is in progress wait for the
 * next statement, so that a whole batch needs one disk flush. A statement can contain messages of several organizations.
 *
 * @returns The written message. Undefined if nothing was written, because the idempotency key of the request was used before or
 *   is in use.
 * @throws A serialization failure (40001) if data from which the message was prepared has changed. An error of one message does
 *   not affect other messages.
 * @throws RequestTimeoutError if the queue is full, or the statement could not begin in time. Nothing was written.
 */
export function writeBatched(app: SendingApp, message: MessageToWrite): Promise<Outcome> {
  const queue = queues.get(app.database) ?? new SendQueue(app);
  queues.set(app.database, queue);
  return queue.write(message);
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
 * Queue of the statements that send messages. Messages that arrive while a statement is in progress are sent with the next
 * statement. Organizations share a statement, because the cost of a statement and its commit hardly grows with the number of
 * organizations. At most one statement of an organization is in progress.
 *
 * An organization waits at most about 20 ms for locks of other organizations. Its messages are sent in a separate statement if
 * another change of the organization is in progress, or if the shared statement could not write them.
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

  /** Adds a message to the queue. Resolves when it is written, or rejects if it cannot be written. */
  write(message: MessageToWrite): Promise<Outcome> {
    const { id: organizationId } = message.prepared.sender.organization;
    const waiting = this.#waiting.get(organizationId);
    if (waiting !== undefined && waiting.length >= MAX_WAITING) return Promise.reject(new RequestTimeoutError());
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
    const one = { ...message, resolve, reject };
    if (waiting === undefined) {
      this.#waiting.set(organizationId, [one]);
      detached(() => this.#continue(organizationId));
    } else waiting.push(one);
    return promise;
  }

  /**
   * Requests the next statement for an organization without a statement in progress. If another change of the organization is
   * in progress, sends the organization's messages in a separate statement. Does nothing if no messages are waiting.
   */
  #continue(organizationId: number): void {
    if (this.#waiting.get(organizationId)?.length === 0) this.#waiting.delete(organizationId);
    else if (this.#app.database.permits.isFree(organizationId)) {
      this.#ready.push(organizationId);
      this.#schedule.request();
    } else void this.#sendAlone(this.#take(organizationId, MAX_BATCH_SIZE));
  }

  /**
   * Starts a statement for the organizations whose messages have waited longest. Returns undefined if no messages are waiting.
   */
  #startNext(): Promise<void> | undefined {
    const batches: WaitingBatch[] = [];
    for (let left = MAX_BATCH_SIZE; left > 0 && batches.length < MAX_ORGANIZATIONS; ) {
      const organizationId = this.#ready.shift();
      if (organizationId === undefined) break;
      const batch = this.#take(organizationId, left);
      left -= batch.messages.length;
      batches.push(batch);
    }
    const [only, ...others] = batches;
    if (only === undefined) return undefined;
    return others.length === 0 ? this.#sendAlone(only) : this.#share(batches);
  }

  /** Returns whether another statement could begin immediately. The embedded database runs one statement at a time. */
  #canOverlap(): boolean {
    const { kind, permits } = this.#app.database;
    return kind === 'postgresql' && permits.isOpen(SHARED_KEY);
  }

  /**
   * Removes the next messages of an organization from the queue, at most `most`. One batch can set a sender's visibility policy
   * for a topic only once. The batch ends before a message that would set the same policy again. In the next statement, this
   * message fails the check of the policy. The message is then prepared again and sets no policy.
   */
  #take(organizationId: number, most: number): WaitingBatch {
    const waiting = this.#waiting.get(organizationId) ?? [];
    const begun = new Set<string>();
    let count = 0;
    for (const message of waiting.slice(0, most)) {
      const place = message.setsPolicy ? placeOf(message) : '';
      if (begun.has(place)) break;
      if (place !== '') begun.add(place);
      count++;
    }
    return { organizationId, messages: waiting.splice(0, count) };
  }

  /** Sends messages of several organizations in one statement. Never rejects. */
  async #share(batches: readonly WaitingBatch[]): Promise<void> {
    const unsent = await this.#send(SHARED_KEY, batches);
    for (const { organizationId } of batches) {
      const batch = unsent.find((one) => one.organizationId === organizationId);
      if (batch === undefined) this.#continue(organizationId);
      else void this.#sendAlone(batch);
    }
  }

  /**
   * Sends messages of one organization in one statement, without messages of other organizations. If the statement fails, sends
   * each message in its own statement. Never rejects.
   */
  async #sendAlone(batch: WaitingBatch): Promise<void> {
    const { organizationId } = batch;
    for (const { messages } of await this.#send(organizationId, [batch])) {
      for (const message of messages) await this.#send(organizationId, [{ organizationId, messages: [message] }]);
    }
    this.#continue(organizationId);
  }

  /**
   * Runs one statement and settles the promises of its messages. Never rejects.
   *
   * @param key Key in the fair limiter under which the statement acquires its permit.
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
        return batches.map(({ organizationId, messages }) => ({
          organizationId,
          messages: messages.map((one) => again(one, error)),
        }));
      }
      for (const { reject } of batches.flatMap(({ messages }) => messages)) reject(error);
      return [];
    }
  }
}

/** Returns a key of the sender and topic of a message. "" for a direct message. */
function placeOf({ prepared: { sender, target } }: MessageToWrite): string {
  return target === null ? '' : JSON.stringify([sender.id, target.channel.id, topicKey(target.topic)]);
}

/**
 * Prepares a message of a failed batch for another attempt. A batch fails as a whole on a serialization failure, or if one of
 * its messages cannot be stored. After a serialization failure, nothing was written. After any other error, the message may
 * have been written, so the next attempt first looks for the message.
 */
const again = (one: WaitingMessage, error: unknown): WaitingMessage =>
  isSerializationFailure(error) ? one : { ...one, repeated: true };

/**
 * Returns whether an error is passed to the callers of `writeBatched`, instead of sending their messages again here. Each
 * caller then looks for its message, unless the error proves that the message was not written.
 */
const isToBeReported = (error: unknown): boolean => isBusy(error) || error instanceof RequestTimeoutError;
