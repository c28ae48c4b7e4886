import { setImmediate as nextTurn } from 'node:timers/promises';
import type { App } from '../../access/context.ts';
import { apart } from '../../events/act.ts';
import { RequestTimeoutError } from '../../platform/errors.ts';
import { deliverInOrder, giveUp } from './delivery.ts';
import { type Due, purge, TOGETHER, untilNextDue, whatIsDue } from './queue.ts';

/**
 * Our choice: how long what another node was told of may wait for this one, should that node die. One indexed question
 * each time.
 */
const POLL_MS = 5_000;
/** Our choice: when something is due that another node has in hand. */
const AGAIN_MS = 250;
/** Our choice: when the database is away. */
const TROUBLE_MS = 1_000;
/**
 * Our choice: how many are delivered at once. Of one owner's, never two. In one organisation more would only wait for each other,
 * and twice as many had its senders and the neighbours wait half as long again.
 */
const MAX_LANES = 2;
/** Our choice: so long they are delivered one by one after a change of several was not made in time. */
const SINGLY_MS = 5_000;
/** Our choices: what fails in an unexpected way is tried once more, because a new kind of broken connection looks so. */
const ATTEMPTS = 2;
const SET_ASIDE_MS = 1_000;
/** Our choice: what cannot even be noted as failed is for the operator, and must not fill the log. */
const GIVEN_UP_MS = 60_000;
const PURGE_MS = 3_600_000;

/** Something that could not be delivered just now. */
interface SetAside {
  /** Milliseconds: it is passed over until then. */
  readonly until: number;
  /** How often it failed in a way nobody expected. */
  readonly failures: number;
}

/** One look at what is due, and what came of it. */
interface Pass {
  /** Whether something was delivered, or set aside. */
  isProgress: boolean;
  isOver: boolean;
}

/**
 * Delivers scheduled messages and reminders when they are due. Any number of nodes do so on one database.
 *
 * It sleeps until the earliest one it knows of is due, but looks every few seconds for those that came by other nodes.
 *
 * @see src/messages/README.md
 */
export class DeliveryWorker {
  readonly #app: App;
  readonly #setAside = new Map<number, SetAside>();
  #state: 'new' | 'running' | 'stopped' = 'new';
  #timer: NodeJS.Timeout | undefined;
  /** By `performance.now()`. */
  #wakesAt = Number.POSITIVE_INFINITY;
  #working: Promise<number> = Promise.resolve(POLL_MS);
  #isInTrouble = false;
  /** Since when there has always been something due. */
  #busySince: Date | undefined;
  /** Milliseconds. */
  #singlyUntil = Number.NEGATIVE_INFINITY;
  #purgedAt = Number.NEGATIVE_INFINITY;

  constructor(app: App) {
    this.#app = app;
  }

  start(): void {
    this.#state = 'running';
    this.#wakeIn(0);
  }

  /** Lets what is being delivered come to its end; nothing is begun any more. */
  async stop(): Promise<void> {
    this.#state = 'stopped';
    clearTimeout(this.#timer);
    this.#wakesAt = Number.POSITIVE_INFINITY;
    await this.#working;
  }

  /** Says that something is due at `at`, that was not before. */
  wake(at: Date): void {
    this.#wakeIn(Math.max(0, at.getTime() - this.#app.now().getTime()));
  }

  /**
   * Delivers all that is due and that no other node has in hand.
   *
   * @returns In how many milliseconds to look again.
   */
  deliverDue(): Promise<number> {
    // One after the other: two would only take from each other.
    this.#working = this.#working.then(() => this.#deliverDue());
    return this.#working;
  }

  /** The one timer: an earlier time takes the place of a later one. */
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
    // The request that wakes it has not sent what is due.
    this.#timer = apart(() => setTimeout(deliver, ms).unref());
  }

  async #deliverDue(): Promise<number> {
    try {
      while (this.#state !== 'stopped' && (await this.#deliverSome()));
      await this.#purge();
      const ms = (await untilNextDue(this.#app, this.#passedOver())) ?? POLL_MS;
      this.#isInTrouble = false;
      // A timer may be a millisecond early, and what is not due by then would have to wait for the next look.
      return Math.min(ms <= 0 ? AGAIN_MS : ms + 1, this.#untilPassed());
    } catch (error) {
      if (!this.#isInTrouble) this.#app.log.warn({ err: error }, 'could not deliver what is due; trying again');
      this.#isInTrouble = true;
      this.#busySince = undefined;
      return TROUBLE_MS;
    }
  }

  /** Delivers some of what is due, the owners in parallel. @returns Whether to go on at once. */
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

  /** Delivers one owner's messages, until one is in another node's hands. */
  async #deliverInOrder(own: readonly Due[], pass: Pass): Promise<void> {
    for (let at = 0; at < own.length; ) {
      const some = own.slice(at, at + this.#atOnce);
      const delivered = await this.#deliverTogether(some, pass);
      if (delivered < some.length) return;
      at += delivered;
    }
  }

  /** @returns How many are done with: delivered, or set aside. Fewer than all: the others are to wait. */
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
      // The database may be away: to ask it for each of the others would take as many time-outs.
      if (isTimeout) pass.isOver = true;
      if (others.length > 0) {
        // Which of them it was is to be found, and is not to keep the others.
        if (!isTimeout) return this.#deliverEach(some, pass);
        this.#singlyUntil = this.#app.now().getTime() + SINGLY_MS;
        return 0;
      }
      if (first !== undefined) await this.#recover(first, error);
    }
    if (delivered > 0) pass.isProgress = true;
    // The embedded database answers in this very turn: requests would wait until all is delivered.
    await nextTurn();
    return delivered;
  }

  async #deliverEach(some: readonly Due[], pass: Pass): Promise<number> {
    for (const [i, one] of some.entries()) if ((await this.#deliverTogether([one], pass)) === 0) return i;
    return some.length;
  }

  /** Sees to it that what cannot be delivered does not stand in the way of the rest. */
  async #recover(due: Due, error: unknown): Promise<void> {
    const { log } = this.#app;
    const { failures: before = 0 } = this.#setAside.get(due.id) ?? {};
    // The database was busy, or away: no failure of the message's.
    if (error instanceof RequestTimeoutError) return this.#wait(due.id, SET_ASIDE_MS, before);
    log.error({ err: error, scheduledMessage: due.id }, 'a scheduled message failed unexpectedly');
    const failures = before + 1;
    if (failures < ATTEMPTS) return this.#wait(due.id, SET_ASIDE_MS, failures);
    try {
      await giveUp(this.#app, due, this.#passedOver());
      this.#setAside.delete(due.id);
    } catch (reason) {
      if (reason instanceof RequestTimeoutError) return this.#wait(due.id, SET_ASIDE_MS, before);
      log.error({ err: reason, scheduledMessage: due.id }, 'a scheduled message could not be noted as failed');
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

  /** Milliseconds until something set aside is to be tried again. */
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
    // What has waited that long is delivered by another node, or gone.
    for (const [id, { until }] of this.#setAside) if (now - until > PURGE_MS) this.#setAside.delete(id);
  }
}
