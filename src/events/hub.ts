import type { Bus } from './bus.ts';
import type { LogContext } from './context.ts';
import type { UserEffect } from './define.ts';
import type { EpochState } from './epoch.ts';
import type { EpochReason } from './epoch-rules.ts';
import { EpochWatch } from './epoch-watch.ts';
import { readCounter, readCounters } from './log-reads.ts';
import { LogTail } from './log-tail.ts';
import type { StoredEvent } from './stored.ts';
import { TailMemory } from './tail-memory.ts';

/**
 * Interval, in milliseconds, at which log tails are compared with the event counters in the database, in case notifications
 * were lost.
 */
const POLL_MS = 1_000;
/** Number of intervals of `POLL_MS` without a successful read of the log after which the database counts as unreachable. */
const MAX_MISSED = 10;
/**
 * Time, in milliseconds, after which the roles and subscriptions of a user without readers are dropped from memory. Clients
 * that poll return within seconds.
 */
const FORGET_MS = 120_000;

/** Callbacks of the service that the event hub calls. */
export interface HubListeners {
  /** Called for each side effect of an event, after the waiting readers of the user concerned have received the event. */
  onEffect(organizationId: number, effect: UserEffect): void;
  /**
   * Called once a second while the log cannot be read, to end the readers of this node. Otherwise they would wait, and their
   * clients would receive no error.
   */
  onCutOff(): void;
  /**
   * Called once a second with the organizations whose logs are in another database, to end their readers. Clients reconnect
   * there, and their queues remain.
   */
  onAway(organizationIds: readonly number[]): void;
  /** Called when another epoch of the log has begun: all earlier positions and all queues are lost. */
  onEpoch(): void;
}

/**
 * The in-memory tails of the event logs that are read on this node.
 *
 * Events that are committed on this node are added to the tail directly. A hint (a notification from another node that a log
 * has grown) only triggers a read of the table. Once a second, each tail is compared with the event counter of its
 * organization.
 */
export class EventHub {
  readonly #app: LogContext;
  readonly #bus: Bus;
  readonly #tails = new Map<number, Promise<LogTail>>();
  readonly #open = new Map<number, LogTail>();
  readonly #memory = new TailMemory();
  readonly #epoch: EpochWatch;
  #epochsBegun = 0;
  #stopped = false;
  #timer: NodeJS.Timeout | undefined;
  #watch: NodeJS.Timeout | undefined;
  /**
   * Number of intervals of `POLL_MS` since the database last answered. Not an elapsed time, which would include the time for
   * which a paused process did not run.
   */
  #missed = 0;
  #listeners: HubListeners | undefined;

  /** @param epoch The epoch of the log at the start of the node. */
  constructor(app: LogContext, bus: Bus, epoch: EpochState) {
    this.#app = app;
    this.#bus = bus;
    this.#epoch = new EpochWatch(app, epoch);
  }

  start(listeners: HubListeners): void {
    this.#listeners = listeners;
    this.#missed = 0;
    this.#watch = setInterval(() => {
      this.#missed++;
      if (!this.ready) listeners.onCutOff();
    }, POLL_MS);
    this.#bus.onHint((organizationId) => void this.#fill(this.#open.get(organizationId)));
    const tick = async () => {
      await this.#poll();
      if (!this.#stopped) this.#timer = setTimeout(tick, POLL_MS);
    };
    this.#timer = setTimeout(tick, POLL_MS);
  }

  stop(): void {
    this.#stopped = true;
    clearInterval(this.#watch);
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Whether the hub is running and has compared the log within the last 10 s. */
  get ready(): boolean {
    return this.#timer !== undefined && this.#missed < MAX_MISSED;
  }

  /** Number of readers that wait at the end of a log tail on this node, over all organizations and transports. */
  get readerCount(): number {
    let count = 0;
    for (const tail of this.#open.values()) count += tail.readerCount;
    return count;
  }

  /** Number of organizations that have a log tail on this node. */
  get tailCount(): number {
    return this.#open.size;
  }

  /** Bytes that all log tails of this node hold in memory. */
  get tailBytes(): number {
    return this.#memory.bytes;
  }

  /** Publishes events that were just committed here, and notifies the other nodes. */
  publish(organizationId: number, events: readonly StoredEvent[]): void {
    this.#epoch.note(organizationId, events.at(-1)?.id ?? 0);
    try {
      this.#open.get(organizationId)?.publish(events);
    } catch (err) {
      // The change is committed and must be acknowledged. Readers get its events at the next comparison with the table.
      this.#app.log.error({ err, organization: organizationId }, 'event delivery failed');
    }
    this.#bus.publish(organizationId);
  }

  /**
   * Returns the organization's log tail. If no client of this node has read the log yet, opens the tail at the current end of
   * the log. The tail contains all events whose change was acknowledged on this node before the call.
   */
  async tail(organizationId: number): Promise<LogTail> {
    let opening = this.#tails.get(organizationId);
    if (opening === undefined) {
      opening = this.#openTail(organizationId);
      this.#tails.set(organizationId, opening);
      const opened = opening;
      opened.catch(() => this.#tails.get(organizationId) === opened && this.#tails.delete(organizationId));
    }
    const tail = await opening;
    tail.takeIn();
    return tail;
  }

  /** Returns the organization's log tail if it is open. Undefined if no client of this node reads the log. */
  openedTail(organizationId: number): LogTail | undefined {
    return this.#open.get(organizationId);
  }

  async #openTail(organizationId: number): Promise<LogTail> {
    // Both values are noted before the counter is read from the database: a commit during that read could raise `seen` above
    // `lastId`.
    const [epoch, seen] = [this.#epochsBegun, this.#epoch.seen(organizationId)];
    const { lastId } = await readCounter(this.#app.db, organizationId);
    if (epoch === this.#epochsBegun && lastId < seen) await this.beginEpoch('positions');
    if (epoch !== this.#epochsBegun) return this.tail(organizationId);
    const onEffect = (effect: UserEffect) => this.#listeners?.onEffect(organizationId, effect);
    const onWentBack = async () => void (await this.beginEpoch('positions'));
    const tail = new LogTail(this.#app, organizationId, { lastId, memory: this.#memory, onEffect, onWentBack });
    this.#open.set(organizationId, tail);
    return tail;
  }

  /**
   * Begins a new epoch of the log, which invalidates everything that was read before.
   *
   * @returns Number of queues that ended with the previous epoch. Undefined if a new epoch had already begun.
   */
  async beginEpoch(reason: EpochReason): Promise<number | undefined> {
    const ended = await this.#epoch.begin(reason);
    this.#startAnew();
    return ended;
  }

  /** Ends all readers, and drops the log tails that they read from. */
  #startAnew(): void {
    this.#epochsBegun++;
    this.#listeners?.onEpoch();
    const tails = [...this.#open.values()];
    this.#open.clear();
    this.#tails.clear();
    for (const tail of tails) tail.abandon('restored');
  }

  /**
   * Ends all readers if a new epoch of the log has begun. Skipped for the embedded database: only this process opens it, so it
   * cannot be restored while the service runs.
   */
  async #lookAtEpoch(): Promise<void> {
    if (this.#app.database.kind === 'embedded') return;
    for (const { organizationId, through } of this.#open.values()) this.#epoch.note(organizationId, through);
    if (await this.#epoch.look()) this.#startAnew();
    this.#leave(this.#epoch.away);
  }

  /** Ends the readers of organizations whose logs are in another database, and drops their log tails. */
  #leave(organizationIds: readonly number[]): void {
    if (organizationIds.length === 0) return;
    this.#listeners?.onAway(organizationIds);
    for (const organizationId of organizationIds) {
      const tail = this.#open.get(organizationId);
      this.#open.delete(organizationId);
      this.#tails.delete(organizationId);
      tail?.abandon('unavailable');
    }
  }

  async #poll(): Promise<void> {
    try {
      await this.#lookAtEpoch();
      const tails = [...this.#open.values()];
      if (tails.length > 0) {
        const before = new Map(tails.map(({ organizationId, through }) => [organizationId, through]));
        const counters = await readCounters(this.#app.db, [...before.keys()]);
        this.#missed = 0;
        const isApart = ({ organizationId, through }: LogTail) => {
          const lastId = counters.get(organizationId);
          // The table must be read if the tail is behind the log. It must also be read if the tail is ahead, because then the
          // database was reset to an earlier state while in use.
          return lastId !== undefined && (lastId > through || lastId < (before.get(organizationId) ?? 0));
        };
        await Promise.all(tails.filter(isApart).map((tail) => this.#fill(tail)));
      }
      this.#missed = 0;
      for (const tail of tails) {
        if (tail.forget(Date.now() - FORGET_MS)) continue;
        this.#open.delete(tail.organizationId);
        this.#tails.delete(tail.organizationId);
        tail.letGo();
      }
    } catch (error) {
      this.#app.log.warn({ err: error }, 'event log comparison failed, retrying');
    }
  }

  async #fill(tail: LogTail | undefined): Promise<void> {
    try {
      await tail?.fill();
      if (tail !== undefined) this.#missed = 0;
    } catch (error) {
      this.#app.log.warn({ err: error }, 'event log read failed, retrying');
    }
  }
}
