import type { Bus } from './bus.ts';
import type { LogContext } from './context.ts';
import type { Effect } from './define.ts';
import type { EpochState } from './epoch.ts';
import type { EpochReason } from './epoch-rules.ts';
import { EpochWatch } from './epoch-watch.ts';
import { readCounter, readCounters } from './log-reads.ts';
import type { StoredEvent } from './stored.ts';
import { RealmWindow } from './window.ts';
import { WindowMemory } from './window-memory.ts';

/** How often the counters of realms with readers are compared with the log, which makes up for lost wake-ups. */
const POLL_MS = 1_000;
/** Our choice: after so many of them in vain the database is taken for out of reach. */
const MAX_MISSED = 10;
/** Our choice: clients poll again within seconds; after this nobody is expected back. */
const FORGET_MS = 120_000;

/** Whom the hub tells what. */
export interface HubListeners {
  /** Of each effect as its event passes, after the event was delivered. */
  onEffect(realmId: number, effect: Effect): void;
  /** Again and again while the log cannot be read: whoever reads here would wait in silence. */
  onCutOff(): void;
  /** That another epoch of the log has begun: all positions of before are lost, and all queues with them. */
  onEpoch(): void;
}

/**
 * What this node knows of the end of each realm's log that somebody here reads.
 *
 * A wake-up, from a commit here or a hint from another node, only says when to look: the log table is the truth, and
 * once a second every realm with readers is compared with its counter.
 */
export class EventHub {
  readonly #app: LogContext;
  readonly #bus: Bus;
  readonly #windows = new Map<number, Promise<RealmWindow>>();
  readonly #open = new Map<number, RealmWindow>();
  readonly #memory = new WindowMemory();
  readonly #epoch: EpochWatch;
  #epochsBegun = 0;
  #stopped = false;
  #timer: NodeJS.Timeout | undefined;
  #watch: NodeJS.Timeout | undefined;
  /** Turns since the database last answered. Turns and not a time: a process that was paused has missed none. */
  #missed = 0;
  #listeners: HubListeners | undefined;

  /** @param epoch The log's, as the node found it when it started. */
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
    this.#bus.onHint((realmId) => void this.#fill(this.#open.get(realmId)));
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

  /** Whether the log was compared within the last seconds. */
  get ready(): boolean {
    return this.#timer !== undefined && this.#missed < MAX_MISSED;
  }

  /** Clients waiting here, over all realms and transports. */
  get readerCount(): number {
    let count = 0;
    for (const window of this.#open.values()) count += window.readerCount;
    return count;
  }

  /** Organisations whose log is read here. */
  get windowCount(): number {
    return this.#open.size;
  }

  /** What their windows hold in memory. */
  get windowBytes(): number {
    return this.#memory.bytes;
  }

  /** Takes in events just committed here, and tells the other nodes that there are some. */
  publish(realmId: number, events: readonly StoredEvent[]): void {
    this.#epoch.note(realmId, events.at(-1)?.id ?? 0);
    try {
      this.#open.get(realmId)?.publish(events);
    } catch (err) {
      // The change is committed and must be acknowledged. Readers get its events at the next comparison with the table.
      this.#app.log.error({ err, realm: realmId }, 'could not hand on events');
    }
    this.#bus.publish(realmId);
  }

  /**
   * The realm's window, opened at the log's present end if nobody here read it yet. It holds all that was committed and
   * acknowledged here before.
   */
  async window(realmId: number): Promise<RealmWindow> {
    let opening = this.#windows.get(realmId);
    if (opening === undefined) {
      opening = this.#openWindow(realmId);
      this.#windows.set(realmId, opening);
      const opened = opening;
      opened.catch(() => this.#windows.get(realmId) === opened && this.#windows.delete(realmId));
    }
    const window = await opening;
    window.takeIn();
    return window;
  }

  async #openWindow(realmId: number): Promise<RealmWindow> {
    // Of before the counter is read: commits move both on meanwhile.
    const [epoch, seen] = [this.#epochsBegun, this.#epoch.seen(realmId)];
    const { lastId } = await readCounter(this.#app.db, realmId);
    if (epoch === this.#epochsBegun && lastId < seen) await this.beginEpoch('positions');
    if (epoch !== this.#epochsBegun) return this.window(realmId);
    const onEffect = (effect: Effect) => this.#listeners?.onEffect(realmId, effect);
    const onWentBack = async () => void (await this.beginEpoch('positions'));
    const window = new RealmWindow(this.#app, realmId, { lastId, memory: this.#memory, onEffect, onWentBack });
    this.#open.set(realmId, window);
    return window;
  }

  /**
   * Begins a new epoch of the log, in which nothing that was read of it before counts any more.
   *
   * @returns How many queues it has ended; undefined where another node has begun it.
   */
  async beginEpoch(reason: EpochReason): Promise<number | undefined> {
    const ended = await this.#epoch.begin(reason);
    this.#startAnew();
    return ended;
  }

  /** Ends all who read, and what they would read on from. */
  #startAnew(): void {
    this.#epochsBegun++;
    this.#listeners?.onEpoch();
    const windows = [...this.#open.values()];
    this.#open.clear();
    this.#windows.clear();
    for (const window of windows) window.abandon();
  }

  /** The embedded database is this process's alone: nobody restores it under its hands. */
  async #lookAtEpoch(): Promise<void> {
    if (this.#app.database.kind === 'embedded') return;
    for (const { realmId, through } of this.#open.values()) this.#epoch.note(realmId, through);
    if (await this.#epoch.look()) this.#startAnew();
  }

  async #poll(): Promise<void> {
    try {
      await this.#lookAtEpoch();
      const windows = [...this.#open.values()];
      if (windows.length > 0) {
        const before = new Map(windows.map(({ realmId, through }) => [realmId, through]));
        const counters = await readCounters(this.#app.db, [...before.keys()]);
        this.#missed = 0;
        const isApart = ({ realmId, through }: RealmWindow) => {
          const lastId = counters.get(realmId);
          // Behind the log, or ahead of it because the database was put back to an earlier state under our hands:
          // reading the table decides.
          return lastId !== undefined && (lastId > through || lastId < (before.get(realmId) ?? 0));
        };
        await Promise.all(windows.filter(isApart).map((window) => this.#fill(window)));
      }
      this.#missed = 0;
      for (const window of windows) {
        if (window.forget(Date.now() - FORGET_MS)) continue;
        this.#open.delete(window.realmId);
        this.#windows.delete(window.realmId);
        window.letGo();
      }
    } catch (error) {
      this.#app.log.warn({ err: error }, 'could not compare the event log; trying again');
    }
  }

  async #fill(window: RealmWindow | undefined): Promise<void> {
    try {
      await window?.fill();
      if (window !== undefined) this.#missed = 0;
    } catch (error) {
      this.#app.log.warn({ err: error }, 'could not read the event log; trying again');
    }
  }
}
