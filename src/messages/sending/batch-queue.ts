import type { App } from '../../access/context.ts';
import { type MessageToWrite, type Outcome, writeMessagesOfMany } from './write.ts';

/** Maximum number of messages in a statement. With more messages the statement takes as long as the flushes that it saves. */
const MAX_BATCH_SIZE = 64;
/** Maximum number of organizations that share a statement. If it fails, it fails for all of them. */
const MAX_ORGANIZATIONS = 32;
/**
 * Longest wait of the next statement for the current one, in milliseconds. It waits longer if it could not begin immediately. A
 * statement that takes longer waits for a lock or for a slow disk. Most take 3 ms: collecting messages during that time is better
 * than sending a smaller batch immediately. On a slow disk several statements wait in parallel.
 */
const PATIENCE_MS = 5;
/** The key of shared statements in the fair limiter (`database.permits`). No organization has this id. */
const SHARED_KEY = 0;

/** A message in a batch queue, with the functions that settle its promise. */
export interface WaitingMessage {
  readonly message: MessageToWrite;
  readonly resolve: (written: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The messages of one organization. Messages that were taken must be settled, failed or sent alone before the source joins again.
 */
export interface BatchSource {
  readonly realmId: number;
  /** Removes and returns the next messages, at most `most`. */
  take(most: number): readonly WaitingMessage[];
  /** Resolves messages that were written. */
  settle(together: readonly WaitingMessage[], written: readonly Outcome[]): void;
  /** Handles messages whose shared statement failed. Never rejects. */
  failed(together: readonly WaitingMessage[], error: unknown): Promise<void>;
  /** Sends messages in a statement for only this organization. Never rejects. */
  sendAlone(together: readonly WaitingMessage[]): Promise<void>;
}

interface Batch {
  readonly source: BatchSource;
  readonly together: readonly WaitingMessage[];
}

/**
 * A batch queue of statements that send. Messages that arrive while a statement is in progress are sent with the next one.
 * Organizations share a statement, because the cost of a statement and its commit hardly grows with their number.
 *
 * An organization waits at most some 20 ms for locks of other organizations. Messages of an organization are sent in a separate
 * statement if it has a change in progress, or if the shared statement could not write them.
 */
export class BatchQueue {
  readonly #app: Pick<App, 'database' | 'db'>;
  readonly #ready: BatchSource[] = [];
  /** The statement in progress that the next one waits for. */
  #awaited: object | undefined;

  constructor(app: Pick<App, 'database' | 'db'>) {
    this.#app = app;
  }

  /** Adds an organization with waiting messages to the queue. */
  join(source: BatchSource): void {
    if (this.#isFree(source)) {
      this.#ready.push(source);
      // Runs after all requests that have already arrived, so that they share the statement.
      setImmediate(() => this.#flush());
    } else void source.sendAlone(source.take(MAX_BATCH_SIZE));
  }

  #isFree({ realmId }: BatchSource): boolean {
    return this.#app.database.permits.isFree(realmId);
  }

  #flush(): void {
    if (this.#awaited !== undefined || this.#ready.length === 0) return;
    const statement = {};
    this.#awaited = statement;
    const goOn = () => {
      if (this.#awaited !== statement) return;
      this.#awaited = undefined;
      this.#flush();
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

  /** Returns whether another statement could begin immediately. The embedded database runs one at a time. */
  #wouldBegin(): boolean {
    const { kind, permits } = this.#app.database;
    return kind === 'postgresql' && permits.isOpen(SHARED_KEY);
  }

  /** Returns the messages of the organizations that have waited longest, up to `MAX_BATCH_SIZE` messages. */
  #next(): readonly Batch[] {
    const batches: Batch[] = [];
    let left = MAX_BATCH_SIZE;
    while (left > 0 && batches.length < MAX_ORGANIZATIONS) {
      const source = this.#ready.shift();
      if (source === undefined) break;
      const together = source.take(left);
      left -= together.length;
      batches.push({ source, together });
    }
    return batches;
  }

  /** Runs the statement and settles its messages. Never rejects. */
  async #send(batches: readonly Batch[]): Promise<void> {
    const [only, ...others] = batches;
    if (only !== undefined && others.length === 0) return only.source.sendAlone(only.together);
    const { database, db } = this.#app;
    const statement = batches.map(({ source: { realmId }, together }) => ({
      realmId,
      messages: together.map(({ message }) => message),
    }));
    try {
      const written = await database.permits.take(SHARED_KEY, () => writeMessagesOfMany(db, statement));
      for (const { source, together } of batches) {
        const outcomes = written.get(source.realmId);
        if (outcomes === undefined) void source.sendAlone(together);
        else source.settle(together, outcomes);
      }
    } catch (error) {
      for (const { source, together } of batches) void source.failed(together, error);
    }
  }
}
