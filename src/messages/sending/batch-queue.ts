import type { App } from '../../access/context.ts';
import { BatchSchedule } from '../../platform/batch-schedule.ts';
import { type MessageToWrite, type Outcome, writeMessagesOfMany } from './write.ts';

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

/** A message in a batch queue, with the functions that settle its promise. */
export interface WaitingMessage {
  readonly message: MessageToWrite;
  readonly resolve: (written: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Queue with the waiting messages of one organization. Messages returned by `take` must be passed to `settle`, `failed` or
 * `sendAlone` before the source joins the batch queue again.
 */
export interface BatchSource {
  readonly realmId: number;
  /** Removes the next messages from the queue and returns them, at most `most`. */
  take(most: number): readonly WaitingMessage[];
  /** Resolves the promises of messages that a shared statement processed. */
  settle(batch: readonly WaitingMessage[], written: readonly Outcome[]): void;
  /** Handles messages whose shared statement failed. Never rejects. */
  failed(batch: readonly WaitingMessage[], error: unknown): Promise<void>;
  /** Sends messages in a statement for only this organization. Never rejects. */
  sendAlone(batch: readonly WaitingMessage[]): Promise<void>;
}

interface Batch {
  readonly source: BatchSource;
  readonly batch: readonly WaitingMessage[];
}

/**
 * Queue of the statements that send messages. Messages that arrive while a statement is in progress are sent with the next one.
 * Organizations share a statement, because the cost of a statement and its commit hardly grows with their number.
 *
 * An organization waits at most some 20 ms for locks of other organizations. Its messages are sent in a separate statement if
 * it has another change in progress, or if the shared statement could not write them.
 */
export class BatchQueue {
  readonly #app: Pick<App, 'database' | 'db'>;
  readonly #ready: BatchSource[] = [];
  readonly #schedule = new BatchSchedule({
    start: () => (this.#ready.length === 0 ? undefined : this.#send(this.#next())),
    patienceMs: PATIENCE_MS,
    canOverlap: () => this.#canOverlap(),
  });

  constructor(app: Pick<App, 'database' | 'db'>) {
    this.#app = app;
  }

  /**
   * Adds an organization with waiting messages to the queue. If the organization has a change in progress, its messages are
   * sent in a separate statement.
   */
  join(source: BatchSource): void {
    if (this.#isFree(source)) {
      this.#ready.push(source);
      this.#schedule.request();
    } else void source.sendAlone(source.take(MAX_BATCH_SIZE));
  }

  #isFree({ realmId }: BatchSource): boolean {
    return this.#app.database.permits.isFree(realmId);
  }

  /** Returns whether another statement could begin immediately. The embedded database runs one at a time. */
  #canOverlap(): boolean {
    const { kind, permits } = this.#app.database;
    return kind === 'postgresql' && permits.isOpen(SHARED_KEY);
  }

  /** Removes the organizations that have waited longest, and returns their messages, up to `MAX_BATCH_SIZE` in total. */
  #next(): readonly Batch[] {
    const batches: Batch[] = [];
    let left = MAX_BATCH_SIZE;
    while (left > 0 && batches.length < MAX_ORGANIZATIONS) {
      const source = this.#ready.shift();
      if (source === undefined) break;
      const batch = source.take(left);
      left -= batch.length;
      batches.push({ source, batch });
    }
    return batches;
  }

  /** Sends the messages in one statement and settles them. Never rejects. */
  async #send(batches: readonly Batch[]): Promise<void> {
    const [only, ...others] = batches;
    if (only !== undefined && others.length === 0) return only.source.sendAlone(only.batch);
    const { database, db } = this.#app;
    const statement = batches.map(({ source: { realmId }, batch }) => ({
      realmId,
      messages: batch.map(({ message }) => message),
    }));
    try {
      const written = await database.permits.run(SHARED_KEY, () => writeMessagesOfMany(db, statement));
      for (const { source, batch } of batches) {
        const outcomes = written.get(source.realmId);
        if (outcomes === undefined) void source.sendAlone(batch);
        else source.settle(batch, outcomes);
      }
    } catch (error) {
      for (const { source, batch } of batches) void source.failed(batch, error);
    }
  }
}
