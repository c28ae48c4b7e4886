import { bumpCounter } from './append.ts';
import type { LogContext } from './context.ts';
import { definitionOf, type Effect, type UserEffect } from './define.ts';
import { type LiveReader, LiveReaders } from './live-readers.ts';
import { readLogAfter } from './log-reads.ts';
import { EventRecipient } from './recipient.ts';
import { forgetRenderings, forgetResults } from './rendering.ts';
import type { StoredEvent } from './stored.ts';
import { type EventHolder, type TailMemory, weightOf } from './tail-memory.ts';

/**
 * Maximum number of events, and maximum bytes, of one log tail: enough for clients that reconnect immediately. Beyond them, the
 * oldest events are dropped, and readers read these from the table. `TailMemory` limits the bytes of all log tails together.
 */
const MAX_EVENTS = 4_096;
const MAX_BYTES = 16 * 1024 * 1024;
/**
 * Maximum number of events, and maximum bytes, of one read of missed events. Further events are read next. After an outage, the
 * logs of many organizations have grown and are read concurrently.
 */
const READ_AT_ONCE = { limit: 2_000, maxBytes: 4 * 1024 * 1024 };
/** Time, in milliseconds, for which an event waits for missing earlier events. Then these are read from the table. */
const GAP_PATIENCE_MS = 5;

/** A side effect of an event, with the id of the event. */
interface PlacedEffect {
  readonly id: number;
  readonly effect: Effect;
}

interface TailStart {
  readonly lastId: number;
  readonly memory: TailMemory;
  readonly onEffect: (effect: UserEffect) => void;
  readonly onWentBack: () => Promise<void>;
}

/**
 * The in-memory tail of one organization's log: every event after `from` and up to `through`, in order and without gaps. Also
 * holds the readers that wait at the end of the log.
 */
export class LogTail implements EventHolder {
  readonly organizationId: number;
  readonly #app: LogContext;
  readonly #memory: TailMemory;
  readonly #events: StoredEvent[] = [];
  /** Bytes of all events in the tail, as `weightOf` counts them. */
  #bytes = 0;
  #from: number;
  #through: number;
  /** Committed events that are not in the tail yet, by the first id of each commit. */
  readonly #early = new Map<number, StoredEvent[]>();
  #filling: Promise<void> | undefined;
  #nextFill: Promise<void> | undefined;
  #isNotifying = false;
  #advancing: Promise<void> | undefined;
  readonly #recipients = new Map<number, { recipient: EventRecipient; lastUsed: number }>();
  readonly #readers: LiveReaders;
  readonly #onEffect: (effect: UserEffect) => void;
  readonly #onWentBack: () => Promise<void>;

  /**
   * @param start The current end of the log, the memory limit that all tails share, and the callbacks. `onEffect` is called for
   *   each effect. `onWentBack` is called if the last id in the table is lower than an id that was read before; this tail is
   *   then unusable.
   */
  constructor(app: LogContext, organizationId: number, { lastId, memory, onEffect, onWentBack }: TailStart) {
    this.#app = app;
    this.organizationId = organizationId;
    this.#memory = memory;
    this.#from = lastId;
    this.#through = lastId;
    this.#onEffect = onEffect;
    this.#onWentBack = onWentBack;
    this.#readers = new LiveReaders({
      ...{ log: app.log, organizationId },
      waiting: () => this.#early.size,
      onNotified: (events) => this.#letGoOf(events),
    });
  }

  /** Id up to which all events of the log were added to the tail. */
  get through(): number {
    return this.#through;
  }

  /** Returns whether all events after `position` are in memory. */
  covers(position: number): boolean {
    return position >= this.#from;
  }

  get readerCount(): number {
    return this.#readers.count;
  }

  /** Returns the events after `position` that the tail holds in memory. */
  after(position: number): readonly StoredEvent[] {
    return this.#events.slice(this.#indexAfter(position));
  }

  /**
   * Accepts events that were just committed on this node. They are delivered in time slices, after the client that made the
   * change was answered. If earlier events are missing, the events wait for these, or for a read of the table.
   */
  publish(events: readonly StoredEvent[]): void {
    const first = events[0];
    if (first === undefined) return;
    const start = first.id - first.width + 1;
    if (start <= this.#through) return; // already read from the table
    this.#early.set(start, [...events]);
    this.#notifySoon();
  }

  #notifySoon(): void {
    if (this.#isNotifying) return;
    this.#isNotifying = true;
    const notify = () => {
      // `restMs` is read only in this callback: when the callback was scheduled, the previous batch was perhaps not written
      // yet, so the pause after it was unknown.
      const { restMs } = this.#readers;
      if (restMs > 0) {
        setTimeout(notify, restMs);
        return;
      }
      // Batches in progress are delivered first, then all events that have arrived meanwhile.
      if (this.#readers.isNotifying) {
        setImmediate(notify);
        return;
      }
      this.#isNotifying = false;
      this.takeIn();
      if (this.#early.size === 0) return;
      // If this read fails, the hub reads again at its next comparison, which logs failures.
      setTimeout(() => this.#early.size > 0 && void this.fill().catch(() => {}), GAP_PATIENCE_MS).unref();
    };
    setImmediate(notify);
  }

  /**
   * Adds the waiting events to the tail immediately, up to the first missing event. A new reader must find every event whose
   * change was acknowledged before the reader attached.
   */
  takeIn(): void {
    if (this.#early.size === 0) return;
    try {
      this.#takeEarly();
    } catch (err) {
      // Not rethrown, because no caller could handle the error. Readers receive these events after the next comparison with the
      // table.
      this.#app.log.error({ err, organization: this.organizationId }, 'event delivery failed');
    }
  }

  #takeEarly(): void {
    // Drops the events that were read from the table meanwhile.
    for (const start of this.#early.keys()) if (start <= this.#through) this.#early.delete(start);
    const fresh: StoredEvent[] = [];
    let end = this.#through;
    for (let next = this.#early.get(end + 1); next !== undefined; next = this.#early.get(end + 1)) {
      this.#early.delete(end + 1);
      fresh.push(...next);
      end = (next.at(-1) as StoredEvent).id;
    }
    if (fresh.length > 0) this.#extend(fresh, end);
  }

  /**
   * Reads from the table the events that are missing up to the organization's last id. The read begins after the call: a read
   * in progress may have begun before the caller's events were committed. All callers during a read share the next read.
   */
  fill(): Promise<void> {
    if (this.#filling === undefined) {
      this.#filling = this.#fill().finally(() => {
        this.#filling = undefined;
      });
      return this.#filling;
    }
    this.#nextFill ??= this.#filling
      .catch(() => {})
      .then(() => {
        this.#nextFill = undefined;
        return this.fill();
      });
    return this.#nextFill;
  }

  async #fill(): Promise<void> {
    for (let isMore = true; isMore; ) {
      // The end of the tail is noted before the read, because commits on this node advance it before the result arrives.
      const after = this.#through;
      const { lastId, events, isWhole } = await readLogAfter(this.#app.db, this.organizationId, {
        after,
        ...READ_AT_ONCE,
      });
      if (lastId < after) {
        this.#app.log.error(
          { organization: this.organizationId, lastId, through: after },
          'event log position decreased',
        );
        return await this.#onWentBack();
      }
      isMore = !isWhole;
      const through = isMore ? (events.at(-1) as StoredEvent).id : lastId;
      const passed = this.#through;
      if (through > passed) {
        this.#extend(
          events.filter(({ id }) => id > passed),
          through,
        );
      }
    }
    this.#takeEarly();
  }

  /**
   * Increments the organization's counter by one, then reads the log up to it. Afterwards, `through` is an id without an event,
   * and all events before it are in the tail. A heartbeat in a silent organization needs such an id. If the read came first,
   * events that commit before the increment would be missing. A caller that joins a call in progress may already have sent the
   * resulting id, and then must call again.
   */
  advance(): Promise<void> {
    // Concurrent callers share one call: each increment waits for the counter, which a change in progress may have locked.
    this.#advancing ??= this.#advance().finally(() => {
      this.#advancing = undefined;
    });
    return this.#advancing;
  }

  async #advance(): Promise<void> {
    const { database, db } = this.#app;
    await database.permits.run(this.organizationId, () => bumpCounter(db, this.organizationId));
    await this.fill();
  }

  /**
   * Ends all remaining readers, because a new epoch of the log has begun, or because the log is in another database
   * (`unavailable`). The queue registry does not end all of them: it may have dropped a queue already, and still query the
   * database for the reason.
   */
  abandon(why: 'restored' | 'unavailable'): void {
    this.letGo();
    this.#early.clear();
    this.#readers.drop();
    for (const reader of this.#readers.all()) {
      if (why === 'restored') reader.restored();
      else reader.broken();
    }
  }

  /**
   * Adds events to the tail and applies their effects. Must not throw: a failure of one event or reader must not affect others.
   */
  #extend(events: readonly StoredEvent[], through: number): void {
    let [part, effects]: [StoredEvent[], PlacedEffect[]] = [[], []];
    for (const event of events) {
      const own = this.#effectsOf(event);
      part.push(event);
      effects.push(...own.map((effect) => ({ id: event.id, effect })));
      // Events after a revocation are added separately: a reader with revoked credentials receives none of them, even if one
      // read returned the revocation and later events.
      if (event === events.at(-1) || !own.some(({ kind }) => kind === 'revoked')) continue;
      this.#take(part, event.id, effects);
      [part, effects] = [[], []];
    }
    this.#take(part, through, effects);
  }

  #take(events: readonly StoredEvent[], through: number, effects: readonly PlacedEffect[]): void {
    for (const event of events) {
      this.#events.push(event);
      this.#bytes += weightOf(event);
    }
    this.#through = through;
    for (const { id, effect } of effects) {
      if (effect.kind !== 'erased') this.#recipients.get(effect.userId)?.recipient.apply(id, effect);
    }
    this.#trim();
    this.#readers.announce(events, through);
    // Effects are applied before the delivery begins, so that no reader receives events after its access has ended.
    for (const { effect } of effects) {
      if (effect.kind === 'erased') this.#dropThrough(effect.through);
      else this.#actOn(effect);
    }
    this.#readers.start();
  }

  #actOn(effect: UserEffect): void {
    for (const reader of this.#readers.of(effect.userId)) this.deliverTo(reader);
    try {
      this.#onEffect(effect);
    } catch (err) {
      this.#app.log.error({ err, organization: this.organizationId }, 'event side effect failed');
    }
  }

  /** Drops the cached results of delivered events. If the tail no longer holds an event, its renderings are dropped as well. */
  #letGoOf(events: readonly StoredEvent[]): void {
    for (const event of events) {
      // Later readers use the objects in the tail. They never use an object that has left the tail.
      if (event.id > this.#from) forgetResults(event);
      else forgetRenderings(event);
    }
  }

  /** Delivers all pending batches to a reader now. Afterwards, the reader has all its events up to the end of the tail. */
  deliverTo(reader: LiveReader): void {
    this.#readers.deliverTo(reader);
  }

  #effectsOf(event: StoredEvent): readonly Effect[] {
    try {
      return [definitionOf(event.type, event.op)?.effect?.(event.payload as never) ?? []].flat();
    } catch (err) {
      this.#app.log.error({ err, event: event.id, type: event.type }, 'event side effect could not be determined');
      return [];
    }
  }

  /** Drops the events up to an id and their renderings. Readers that still need these events read the table. */
  #dropThrough(id: number): void {
    this.#drop((oldest) => oldest.id <= id);
    this.#memory.note(this, this.#bytes);
  }

  #trim(): void {
    this.#drop(() => this.#bytes > MAX_BYTES);
    this.#memory.note(this, this.#bytes);
    this.#memory.use(this);
    this.#memory.makeRoom();
  }

  giveUp(bytes: number): void {
    const enough = this.#bytes - bytes;
    this.#drop(() => this.#bytes > enough);
    this.#memory.note(this, this.#bytes);
  }

  /** Releases the memory of all events, because the tail is closed or replaced. */
  letGo(): void {
    this.giveUp(this.#bytes);
  }

  /** Drops the oldest event as long as the tail exceeds its limits, or `isTooMuch` returns true for that event. */
  #drop(isTooMuch: (oldest: StoredEvent) => boolean): void {
    let count = 0;
    for (;;) {
      const oldest = this.#events[count];
      if (oldest === undefined || !(this.#events.length - count > MAX_EVENTS || isTooMuch(oldest))) break;
      count++;
      this.#bytes -= weightOf(oldest);
      this.#from = oldest.id;
    }
    for (const event of this.#events.splice(0, count)) forgetRenderings(event);
  }

  #indexAfter(position: number): number {
    let low = 0;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#events[middle] as StoredEvent).id <= position) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Returns the roles and subscriptions of a user, complete for every id above `after`, and updated by every later event. */
  async recipient(userId: number, after: number): Promise<EventRecipient> {
    this.#memory.use(this);
    // The position of the queue is beyond this tail if another node had read further when it stored the position.
    if (after > this.#through) await this.fill();
    const entry = this.#recipients.get(userId) ?? {
      recipient: new EventRecipient(this.organizationId, userId),
      lastUsed: 0,
    };
    entry.lastUsed = Date.now();
    this.#recipients.set(userId, entry);
    await entry.recipient.load(this.#app.db, after);
    return entry.recipient;
  }

  /**
   * Returns the roles and subscriptions of a user if they are in memory, as for every user with a reader. They can be
   * incomplete: see `EventRecipient.isKnownAt`.
   */
  knownRecipient(userId: number): EventRecipient | undefined {
    return this.#recipients.get(userId)?.recipient;
  }

  /** Attaches a reader to the end of the tail. The reader must have received all its events up to `through`. */
  attach(reader: LiveReader): void {
    this.#readers.add(reader, this.#through);
  }

  detach(reader: LiveReader): void {
    this.#readers.remove(reader);
    const entry = this.#recipients.get(reader.recipient.userId);
    if (entry !== undefined) entry.lastUsed = Date.now();
  }

  /**
   * Drops the roles and subscriptions of users that had no reader since the time `before`, in milliseconds since 1970. Returns
   * whether data of any user is left.
   */
  forget(before: number): boolean {
    for (const [userId, { lastUsed }] of this.#recipients) {
      if (lastUsed < before && !this.#readers.has(userId)) this.#recipients.delete(userId);
    }
    return this.#recipients.size > 0;
  }
}

/** The parts of a running service that a reader of the log needs: the log, and its in-memory tails. */
export interface ReadContext extends LogContext {
  readonly hub: {
    /**
     * Returns the organization's log tail. If no client of this node has read the log yet, opens the tail at the current end of
     * the log.
     */
    tail(organizationId: number): Promise<LogTail>;
  };
}
