import { setImmediate as nextTurn } from 'node:timers/promises';
import type { App } from '../../access/context.ts';
import { apart } from '../../events/act.ts';
import { RequestTimeoutError } from '../../platform/errors.ts';
import { deliverInOrder, giveUp } from './delivery.ts';
import { type Due, purge, TOGETHER, untilNextDue, whatIsDue } from './queue.ts';

/**
 * Time between polls, in milliseconds. If a node dies, messages scheduled on it are delayed by at most this. Each poll is
 * one indexed query.
 */
const POLL_MS = 5_000;
/** Delay if another node has locked the due rows. */
const AGAIN_MS = 250;
/** Delay if the database is unavailable. */
const TROUBLE_MS = 1_000;
/**
 * Number of owners whose messages are delivered in parallel. One owner's messages are never delivered in parallel. In one
 * organization, more would only wait for each other. With twice as many, its senders and other organizations waited 1.5
 * times as long.
 */
const MAX_LANES = 2;
/** After a batch timed out, messages are delivered one by one for this time, in milliseconds. */
const SINGLY_MS = 5_000;
/** Messages that fail unexpectedly are tried once more, because an unknown kind of broken connection looks the same. */
const ATTEMPTS = 2;
const SET_ASIDE_MS = 1_000;
/** Delay if a message cannot even be marked as failed. The operator must act, and the log must not fill up. */
const GIVEN_UP_MS = 60_000;
const PURGE_MS = 3_600_000;

/** A message that could not be delivered now. */
interface SetAside {
  /** Time until which it is skipped, in milliseconds since the epoch. */
  readonly until: number;
  /** Number of unexpected failures. */
  readonly failures: number;
}

/** One read of due messages, and its outcome. */
interface Pass {
  /** Whether something was delivered or set aside. */
  isProgress: boolean;
  isOver: boolean;
}

/**
 * Delivers scheduled messages and reminders when they are due. Any number of nodes can do so on one database.
 *
 * Sleeps until the next known delivery, but polls every few seconds for those that other nodes have added since.
 *
 * @see src/messages/README.md
 */
export class DeliveryWorker {
  readonly #app: App;
  readonly #setAside = new Map<number, SetAside>();
  #state: 'new' | 'running' | 'stopped' = 'new';
  #timer: NodeJS.Timeout | undefined;
  /** Next wake-up, by `performance.now()`. */
  #wakesAt = Number.POSITIVE_INFINITY;
  #working: Promise<number> = Promise.resolve(POLL_MS);
  #isInTrouble = false;
  /** Start of the current period in which something was always due. */
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

  /** Stops, after the deliveries in progress. */
  async stop(): Promise<void> {
    this.#state = 'stopped';
    clearTimeout(this.#timer);
    this.#wakesAt = Number.POSITIVE_INFINITY;
    await this.#working;
  }

  /** Schedules a wake-up for something new that is due at `at`. */
  wake(at: Date): void {
    this.#wakeIn(Math.max(0, at.getTime() - this.#app.now().getTime()));
  }

  /**
   * Delivers all that is due and not locked by another node.
   *
   * @returns Milliseconds until the next poll.
   */
  deliverDue(): Promise<number> {
    // Runs are sequential: parallel ones would only lock each other's rows.
    this.#working = this.#working.then(() => this.#deliverDue());
    return this.#working;
  }

  /** Sets the only timer. An earlier wake-up replaces a later one. */
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
    // Detached: the delivery is not part of the request that schedules the wake-up.
    this.#timer = apart(() => setTimeout(deliver, ms).unref());
  }

  async #deliverDue(): Promise<number> {
    try {
      while (this.#state !== 'stopped' && (await this.#deliverSome()));
      await this.#purge();
      const ms = (await untilNextDue(this.#app, this.#passedOver())) ?? POLL_MS;
      this.#isInTrouble = false;
      // A timer may fire a millisecond early. A message that is not due then would wait for the next poll.
      return Math.min(ms <= 0 ? AGAIN_MS : ms + 1, this.#untilPassed());
    } catch (error) {
      if (!this.#isInTrouble) this.#app.log.warn({ err: error }, 'scheduled message delivery failed, retrying');
      this.#isInTrouble = true;
      this.#busySince = undefined;
      return TROUBLE_MS;
    }
  }

  /** Delivers some of the due messages, several owners in parallel. @returns Whether to continue immediately. */
  async #deliverSome(): Promise<boolean> {
    const due = await whatIsDue(this.#app, this.#passedOver());
    this.#busySince = due.length === 0 ? undefined : (this.#busySince ?? this.#app.now());
    const owners = [...Map.groupBy(due, ({ ownerId }) => ownerId).values()];
    const pass: Pass = { isProgress: false, isOver: false };
    const lane = async () => {
      for (let own = owners.shift(); own !== undefined && !pass.isOver; own = owners.shift()) {
        await this.#deliverInOrder(own, pass);
      }
    };
    await Promise.all(Array.from({ length: Math.min(owners.length, this.#maxLanes) }, lane));
    return pass.isProgress;
  }

  get #maxLanes(): number {
    const { database, config } = this.#app;
    return database.kind === 'embedded' ? 1 : Math.min(MAX_LANES, Math.ceil(config.databasePoolSize / 2));
  }

  get #atOnce(): number {
    return this.#app.now().getTime() < this.#singlyUntil ? 1 : TOGETHER;
  }

  /** Delivers one owner's messages, until one is locked by another node. */
  async #deliverInOrder(own: readonly Due[], pass: Pass): Promise<void> {
    for (let at = 0; at < own.length; ) {
      const some = own.slice(at, at + this.#atOnce);
      const delivered = await this.#deliverTogether(some, pass);
      if (delivered < some.length) return;
      at += delivered;
    }
  }

  /**
   * Delivers a batch of one owner's messages.
   *
   * @returns Number of messages delivered or set aside. If fewer than all, the others must wait.
   */
  async #deliverTogether(some: readonly Due[], pass: Pass): Promise<number> {
    if (pass.isOver || this.#state === 'stopped') return 0;
    const turn = { passedOver: this.#passedOver(), busySince: this.#busySince ?? this.#app.now() };
    let delivered = some.length;
    try {
      delivered = await deliverInOrder(this.#app, some, turn);
      for (const { id } of some.slice(0, delivered)) this.#setAside.delete(id);
    } catch (error) {
      const [first, ...others] = some;
      const isTimeout = error instanceof RequestTimeoutError;
      // The database may be unavailable: each of the other messages would cause another timeout.
      if (isTimeout) pass.isOver = true;
      if (others.length > 0) {
        // One of them failed. Each is delivered by itself, so that the failing one is found and does not block the others.
        if (!isTimeout) return this.#deliverEach(some, pass);
        this.#singlyUntil = this.#app.now().getTime() + SINGLY_MS;
        return 0;
      }
      if (first !== undefined) await this.#recover(first, error);
    }
    if (delivered > 0) pass.isProgress = true;
    // Yields to the event loop. The embedded database answers without yielding: requests would wait for all deliveries.
    await nextTurn();
    return delivered;
  }

  async #deliverEach(some: readonly Due[], pass: Pass): Promise<number> {
    for (const [i, one] of some.entries()) if ((await this.#deliverTogether([one], pass)) === 0) return i;
    return some.length;
  }

  /** Handles a failed delivery, so that the message does not block the others. */
  async #recover(due: Due, error: unknown): Promise<void> {
    const { log } = this.#app;
    const { failures: before = 0 } = this.#setAside.get(due.id) ?? {};
    // The database was unavailable. This does not count as a failure of the message.
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

  /** Returns the milliseconds until something that was set aside is retried. */
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
    // After this long, another node has delivered the message, or it was deleted.
    for (const [id, { until }] of this.#setAside) if (now - until > PURGE_MS) this.#setAside.delete(id);
  }
}
