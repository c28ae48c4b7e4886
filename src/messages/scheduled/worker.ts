import { setImmediate as nextTurn } from 'node:timers/promises';
import type { App } from '../../access/context.ts';
import { detached } from '../../events/act.ts';
import { RequestTimeoutError } from '../../platform/errors.ts';
import { deliverInOrder, giveUp } from './delivery.ts';
import { type Due, MAX_BATCH_SIZE, purge, readDue, untilNextDue } from './queue.ts';

/**
 * Time between polls for due messages, in milliseconds. It bounds the delay of messages that were scheduled on another node, if
 * that node is killed. Each poll is one indexed query.
 */
const POLL_MS = 5_000;
/** Time until the worker tries again, in milliseconds, if another node has locked the due messages. */
const AGAIN_MS = 250;
/** Time until the worker tries again, in milliseconds, if the database is unavailable. */
const TROUBLE_MS = 1_000;
/**
 * Number of owners whose messages are delivered in parallel. Messages of one owner are never delivered in parallel. Deliveries
 * in one organization wait for each other, so a larger number has little use. With 4, senders of other messages waited 1.5
 * times as long as with 2.
 */
const MAX_PARALLEL = 2;
/** Time, in milliseconds, for which messages are delivered one by one after a batch timed out. */
const SINGLY_MS = 5_000;
/**
 * Maximum number of attempts to deliver a message that fails unexpectedly. After the last one, the message is marked as failed.
 * The second attempt is needed because an unknown kind of broken connection looks like a failure of the message.
 */
const ATTEMPTS = 2;
const SET_ASIDE_MS = 1_000;
/**
 * Time until the worker tries again, in milliseconds, if a message cannot even be marked as failed. It is long because only an
 * operator can help, and each attempt writes a log entry.
 */
const GIVEN_UP_MS = 60_000;
const PURGE_MS = 3_600_000;

/** State of a message whose delivery failed and that will be retried later. */
interface SetAside {
  /** Time until which the message is skipped, in milliseconds since the epoch. */
  readonly until: number;
  /** Number of unexpected failures of the message. */
  readonly failures: number;
}

/** State that is shared by the deliveries of all due messages that one query returned. */
interface Pass {
  /** Whether at least one of these messages was delivered, was marked as failed, or will be retried later. */
  isProgress: boolean;
  isOver: boolean;
}

/**
 * Delivers scheduled messages and reminders when they are due. Any number of nodes can run a worker on one database.
 *
 * Sleeps until the next known delivery, but polls every few seconds for messages that other nodes have scheduled.
 *
 * @see src/messages/README.md
 */
export class DeliveryWorker {
  readonly #app: App;
  readonly #setAside = new Map<number, SetAside>();
  #state: 'new' | 'running' | 'stopped' = 'new';
  #timer: NodeJS.Timeout | undefined;
  /** Time of the next scheduled wake-up of the worker, in milliseconds of `performance.now()`. */
  #wakesAt = Number.POSITIVE_INFINITY;
  #working: Promise<number> = Promise.resolve(POLL_MS);
  #isInTrouble = false;
  /**
   * Start of the current backlog: at every time since then, at least one message was due. Undefined if no message was due at
   * the last poll.
   */
  #busySince: Date | undefined;
  /** Time until which messages are delivered one by one, in milliseconds since the epoch. */
  #singlyUntil = Number.NEGATIVE_INFINITY;
  #purgedAt = Number.NEGATIVE_INFINITY;

  constructor(app: App) {
    this.#app = app;
  }

  start(): void {
    this.#state = 'running';
    this.#wakeIn(0);
  }

  /** Stops the worker. Waits for deliveries in progress. */
  async stop(): Promise<void> {
    this.#state = 'stopped';
    clearTimeout(this.#timer);
    this.#wakesAt = Number.POSITIVE_INFINITY;
    await this.#working;
  }

  /** Schedules a wake-up of the worker for a new message or reminder that is due at `at`. */
  wake(at: Date): void {
    this.#wakeIn(Math.max(0, at.getTime() - this.#app.now().getTime()));
  }

  /**
   * Delivers all messages that are due and that no other node has locked.
   *
   * @returns Milliseconds until the next poll.
   */
  deliverDue(): Promise<number> {
    // Runs are serialized, because parallel runs would only lock each other's rows.
    this.#working = this.#working.then(() => this.#deliverDue());
    return this.#working;
  }

  /**
   * Schedules a wake-up of the worker in `wantedMs` milliseconds, at most `POLL_MS`. Does nothing if an earlier wake-up is
   * scheduled.
   */
  #wakeIn(wantedMs: number): void {
    const ms = Math.min(wantedMs, POLL_MS);
    const wakesAt = performance.now() + ms;
    if (this.#state !== 'running' || wakesAt >= this.#wakesAt) return;
    clearTimeout(this.#timer);
    this.#wakesAt = wakesAt;
    const deliver = async () => {
      this.#wakesAt = Number.POSITIVE_INFINITY;
      this.#wakeIn(await this.deliverDue());
    };
    // Detached from the asynchronous context of the request that schedules the wake-up.
    this.#timer = detached(() => setTimeout(deliver, ms).unref());
  }

  async #deliverDue(): Promise<number> {
    try {
      while (this.#state !== 'stopped' && (await this.#deliverSome()));
      await this.#purge();
      const ms = (await untilNextDue(this.#app, this.#passedOver())) ?? POLL_MS;
      this.#isInTrouble = false;
      // Adds a millisecond, because a timer can fire a millisecond early. The message would then not be due and wait for the
      // next poll.
      return Math.min(ms <= 0 ? AGAIN_MS : ms + 1, this.#untilPassed());
    } catch (error) {
      if (!this.#isInTrouble) this.#app.log.warn({ err: error }, 'scheduled message delivery failed, retrying');
      this.#isInTrouble = true;
      this.#busySince = undefined;
      return TROUBLE_MS;
    }
  }

  /**
   * Delivers some of the due messages. Delivers messages of different owners in parallel. Returns whether to read due messages
   * again immediately.
   */
  async #deliverSome(): Promise<boolean> {
    const due = await readDue(this.#app, this.#passedOver());
    this.#busySince = due.length === 0 ? undefined : (this.#busySince ?? this.#app.now());
    const owners = [...Map.groupBy(due, ({ ownerId }) => ownerId).values()];
    const pass: Pass = { isProgress: false, isOver: false };
    const deliverNext = async () => {
      for (let own = owners.shift(); own !== undefined && !pass.isOver; own = owners.shift()) {
        await this.#deliverInOrder(own, pass);
      }
    };
    await Promise.all(Array.from({ length: Math.min(owners.length, this.#maxParallel) }, deliverNext));
    return pass.isProgress;
  }

  get #maxParallel(): number {
    const { database, config } = this.#app;
    return database.kind === 'embedded' ? 1 : Math.min(MAX_PARALLEL, Math.ceil(config.databasePoolSize / 2));
  }

  get #batchSize(): number {
    return this.#app.now().getTime() < this.#singlyUntil ? 1 : MAX_BATCH_SIZE;
  }

  /** Delivers one owner's messages in order. Stops at a message that another node has locked. */
  async #deliverInOrder(own: readonly Due[], pass: Pass): Promise<void> {
    for (let at = 0; at < own.length; ) {
      const some = own.slice(at, at + this.#batchSize);
      const delivered = await this.#deliverBatch(some, pass);
      if (delivered < some.length) return;
      at += delivered;
    }
  }

  /**
   * Delivers a batch of one owner's messages.
   *
   * @returns Number of messages that were delivered, were marked as failed, or will be retried later. If it is less than the
   *   size of the batch, the owner's remaining messages must wait.
   */
  async #deliverBatch(some: readonly Due[], pass: Pass): Promise<number> {
    if (pass.isOver || this.#state === 'stopped') return 0;
    const queueState = { passedOver: this.#passedOver(), busySince: this.#busySince ?? this.#app.now() };
    let delivered = some.length;
    try {
      delivered = await deliverInOrder(this.#app, some, queueState);
      for (const { id } of some.slice(0, delivered)) this.#setAside.delete(id);
    } catch (error) {
      const [first, ...others] = some;
      const isTimeout = error instanceof RequestTimeoutError;
      // Ends the pass, because the database may be unavailable. Otherwise each of the remaining messages would cause another
      // timeout.
      if (isTimeout) pass.isOver = true;
      if (others.length > 0) {
        // One message of the batch failed. Each message is delivered separately, so that the failing message does not block the
        // rest of the batch.
        if (!isTimeout) return this.#deliverEach(some, pass);
        this.#singlyUntil = this.#app.now().getTime() + SINGLY_MS;
        return 0;
      }
      if (first !== undefined) await this.#recover(first, error);
    }
    if (delivered > 0) pass.isProgress = true;
    // Yields to the event loop. The embedded database answers without yielding, so requests would wait for all deliveries.
    await nextTurn();
    return delivered;
  }

  async #deliverEach(some: readonly Due[], pass: Pass): Promise<number> {
    for (const [i, one] of some.entries()) if ((await this.#deliverBatch([one], pass)) === 0) return i;
    return some.length;
  }

  /**
   * Handles a message whose delivery failed: schedules a retry or marks the message as failed. So the message does not block
   * other messages.
   */
  async #recover(due: Due, error: unknown): Promise<void> {
    const { log } = this.#app;
    const { failures: before = 0 } = this.#setAside.get(due.id) ?? {};
    // The database was unavailable. This is not counted as a failed attempt of the message.
    if (error instanceof RequestTimeoutError) return this.#wait(due.id, SET_ASIDE_MS, before);
    log.error({ err: error, scheduledMessage: due.id }, 'scheduled message failed unexpectedly');
    const failures = before + 1;
    if (failures < ATTEMPTS) return this.#wait(due.id, SET_ASIDE_MS, failures);
    try {
      await giveUp(this.#app, due, this.#passedOver());
      this.#setAside.delete(due.id);
    } catch (reason) {
      if (reason instanceof RequestTimeoutError) return this.#wait(due.id, SET_ASIDE_MS, before);
      log.error({ err: reason, scheduledMessage: due.id }, 'scheduled message could not be marked as failed');
      this.#wait(due.id, GIVEN_UP_MS, before);
    }
  }

  #wait(id: number, ms: number, failures: number): void {
    this.#setAside.set(id, { until: this.#app.now().getTime() + ms, failures });
  }

  #passedOver(): number[] {
    const now = this.#app.now().getTime();
    return [...this.#setAside].filter(([, { until }]) => until > now).map(([id]) => id);
  }

  /** Returns the number of milliseconds until a message whose delivery failed is retried. At most `POLL_MS`. */
  #untilPassed(): number {
    const now = this.#app.now().getTime();
    const later = [...this.#setAside.values()].filter(({ until }) => until > now);
    return Math.min(...later.map(({ until }) => until - now), POLL_MS);
  }

  async #purge(): Promise<void> {
    const now = this.#app.now().getTime();
    if (now - this.#purgedAt < PURGE_MS) return;
    await purge(this.#app);
    this.#purgedAt = now;
    // Removes old entries. Their messages were delivered by another node or deleted.
    for (const [id, { until }] of this.#setAside) if (now - until > PURGE_MS) this.#setAside.delete(id);
  }
}
