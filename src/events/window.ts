import { bumpCounter } from './append.ts';
import type { LogContext } from './context.ts';
import { definitionOf, type Effect } from './define.ts';
import { type LiveReader, LiveReaders } from './live-readers.ts';
import { readLogAfter } from './log-reads.ts';
import { EventRecipient } from './recipient.ts';
import { forgetRenderings, forgetResults } from './rendering.ts';
import type { StoredEvent } from './stored.ts';
import { type EventHolder, type WindowMemory, weightOf } from './window-memory.ts';

/** Our choice: enough for clients that reconnect at once. What all windows hold together is bounded besides. */
const MAX_EVENTS = 4_096;
const MAX_BYTES = 16 * 1024 * 1024;
/** Of what has passed unheard, as much at once: a node that was away finds the logs of all organisations longer. */
const READ_AT_ONCE = { limit: 2_000, maxBytes: 4 * 1024 * 1024 };
/** How long an event that arrived before its predecessor waits for it before the table is read. */
const GAP_PATIENCE_MS = 5;

/** What an event of the log does to what is known of a user. */
interface PlacedEffect {
  readonly id: number;
  readonly effect: Effect;
}

interface WindowStart {
  readonly lastId: number;
  readonly memory: WindowMemory;
  readonly onEffect: (effect: Effect) => void;
  readonly onWentBack: () => Promise<void>;
}

/**
 * The end of one realm's log, in memory: every event after `from` and up to `through`, in order and without a hole, and
 * the readers that wait at its end.
 */
export class RealmWindow implements EventHolder {
  readonly realmId: number;
  readonly #app: LogContext;
  readonly #memory: WindowMemory;
  readonly #events: StoredEvent[] = [];
  /** By weight: what the events count for. */
  #bytes = 0;
  #from: number;
  #through: number;
  /** Events that arrived before their predecessors. */
  readonly #early = new Map<number, StoredEvent[]>();
  #filling: Promise<void> | undefined;
  #nextFill: Promise<void> | undefined;
  #isTelling = false;
  #advancing: Promise<void> | undefined;
  readonly #recipients = new Map<number, { recipient: EventRecipient; lastUsed: number }>();
  readonly #readers: LiveReaders;
  readonly #onEffect: (effect: Effect) => void;
  readonly #onWentBack: () => Promise<void>;

  /**
   * @param start Where the log ends now, the memory that all windows share, who is told of effects, and who has to do with it
   *   when the log is found shorter than it was (after that this window is of no use).
   */
  constructor(app: LogContext, realmId: number, { lastId, memory, onEffect, onWentBack }: WindowStart) {
    this.#app = app;
    this.realmId = realmId;
    this.#memory = memory;
    this.#from = lastId;
    this.#through = lastId;
    this.#onEffect = onEffect;
    this.#onWentBack = onWentBack;
    this.#readers = new LiveReaders({
      ...{ log: app.log, realmId },
      waiting: () => this.#early.size,
      onTold: (events) => this.#letGoOf(events),
    });
  }

  /** Every event up to here has passed. */
  get through(): number {
    return this.#through;
  }

  /** Whether everything after `position` is in memory. */
  covers(position: number): boolean {
    return position >= this.#from;
  }

  get readerCount(): number {
    return this.#readers.count;
  }

  /** The events in memory after `position`. */
  after(position: number): readonly StoredEvent[] {
    return this.#events.slice(this.#indexAfter(position));
  }

  /**
   * Takes in events just committed here, and tells readers of them after whoever made the change was answered, a slice at a
   * time. Those that come before their predecessors wait for them, or for the table.
   */
  publish(events: readonly StoredEvent[]): void {
    const first = events[0];
    if (first === undefined) return;
    const start = first.id - first.width + 1;
    if (start <= this.#through) return; // read from the table already
    this.#early.set(start, [...events]);
    this.#tellSoon();
  }

  #tellSoon(): void {
    if (this.#isTelling) return;
    this.#isTelling = true;
    const tell = () => {
      // Looked at when the turn has come: those told last may still have been written to before.
      const { restMs } = this.#readers;
      if (restMs > 0) {
        setTimeout(tell, restMs);
        return;
      }
      // Those who are being told are told first, and then of all that has come meanwhile.
      if (this.#readers.isTelling) {
        setImmediate(tell);
        return;
      }
      this.#isTelling = false;
      this.takeIn();
      if (this.#early.size === 0) return;
      // What cannot be read now, the hub reads at its next comparison, which reports failures.
      setTimeout(() => this.#early.size > 0 && void this.fill().catch(() => {}), GAP_PATIENCE_MS).unref();
    };
    setImmediate(tell);
  }

  /** Takes in at once what waits to be told: who reads now is to find all that was acknowledged before. */
  takeIn(): void {
    if (this.#early.size === 0) return;
    try {
      this.#takeEarly();
    } catch (err) {
      // Nobody is there to be told. Readers get these events at the next comparison with the table.
      this.#app.log.error({ err, realm: this.realmId }, 'could not hand on events');
    }
  }

  #takeEarly(): void {
    // Read from the table since.
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
   * Reads from the table what is missing up to the realm's last id, by a read that begins after the call: one under way
   * may have looked before what the caller knows of was committed. All who ask meanwhile share the next one.
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
      // What was read of the log before: commits here move the end on while the answer is on its way.
      const after = this.#through;
      const { lastId, events, isWhole } = await readLogAfter(this.#app.db, this.realmId, { after, ...READ_AT_ONCE });
      if (lastId < after) {
        this.#app.log.error({ realm: this.realmId, lastId, through: after }, 'the event log went back');
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
   * Moves the counter on by one and reads the log up to it, so that `through` is an id no client has seen and nothing
   * before it is missing: what a heartbeat in a silent realm needs. Bumping before reading is the only order that loses
   * nothing. Callers that join a call under way may already know the id when it is done.
   */
  advance(): Promise<void> {
    // Callers meanwhile share it: each bump waits for the counter, which a change under way may hold.
    this.#advancing ??= this.#advance().finally(() => {
      this.#advancing = undefined;
    });
    return this.#advancing;
  }

  async #advance(): Promise<void> {
    const { database, db } = this.#app;
    await database.turns.take(this.realmId, () => bumpCounter(db, this.realmId));
    await this.fill();
  }

  /**
   * Ends whoever still reads here: the log is another. Those whose queue the registry has let go of already, and asks the
   * database why, are told here.
   */
  abandon(): void {
    this.letGo();
    this.#early.clear();
    this.#readers.drop();
    for (const reader of this.#readers.all()) reader.restored();
  }

  /** Nothing in here may throw: a failure of one event or reader must not keep others from being served. */
  #extend(events: readonly StoredEvent[], through: number): void {
    let [part, effects]: [StoredEvent[], PlacedEffect[]] = [[], []];
    for (const event of events) {
      const own = this.#effectsOf(event);
      part.push(event);
      effects.push(...own.map((effect) => ({ id: event.id, effect })));
      // Whoever reads by what is revoked hears nothing of later, also where both are found at once.
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
    for (const { id, effect } of effects) this.#recipients.get(effect.userId)?.recipient.apply(id, effect);
    this.#trim();
    this.#readers.announce(events, through);
    // At once, so that nobody is told of what stands behind the end of their access.
    for (const { effect } of effects) this.#actOn(effect);
    this.#readers.start();
  }

  #actOn(effect: Effect): void {
    for (const reader of this.#readers.of(effect.userId)) this.tellAll(reader);
    try {
      this.#onEffect(effect);
    } catch (err) {
      this.#app.log.error({ err, realm: this.realmId }, 'an effect of an event was not acted on');
    }
  }

  /** Of what was made of events for those who were told: for others there is no need of it. */
  #letGoOf(events: readonly StoredEvent[]): void {
    for (const event of events) {
      // What was made of an event that the window gave up meanwhile was made for nobody else.
      if (event.id > this.#from) forgetResults(event);
      else forgetRenderings(event);
    }
  }

  /** Tells a reader at once all that it is still to be told: it has everything up to the window's end then. */
  tellAll(reader: LiveReader): void {
    this.#readers.tellAll(reader);
  }

  #effectsOf(event: StoredEvent): readonly Effect[] {
    try {
      return [definitionOf(event.type, event.op)?.effect?.(event.payload as never) ?? []].flat();
    } catch (err) {
      this.#app.log.error({ err, event: event.id, type: event.type }, 'the effect of an event could not be worked out');
      return [];
    }
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

  /** Gives up all events: the window is closed, or begins anew. */
  letGo(): void {
    this.giveUp(this.#bytes);
  }

  /** Drops the oldest events: what is more than a window may have, and as long as they are too many bytes. */
  #drop(isTooMuch: () => boolean): void {
    let count = 0;
    while (this.#events.length - count > MAX_EVENTS || isTooMuch()) {
      const event = this.#events[count++];
      if (event === undefined) break;
      this.#bytes -= weightOf(event);
      this.#from = event.id;
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

  /** The facts about a user, complete for every id above `after`, and for every event that is still to pass here. */
  async recipient(userId: number, after: number): Promise<EventRecipient> {
    this.#memory.use(this);
    // Another node was ahead of this one when it noted how far the queue is read.
    if (after > this.#through) await this.fill();
    const entry = this.#recipients.get(userId) ?? { recipient: new EventRecipient(this.realmId, userId), lastUsed: 0 };
    entry.lastUsed = Date.now();
    this.#recipients.set(userId, entry);
    await entry.recipient.know(this.#app.db, after);
    return entry.recipient;
  }

  /** Lets a reader wait at the end of the window. It must have read everything up to `through`. */
  attach(reader: LiveReader): void {
    this.#readers.add(reader, this.#through);
  }

  detach(reader: LiveReader): void {
    this.#readers.remove(reader);
    const entry = this.#recipients.get(reader.recipient.userId);
    if (entry !== undefined) entry.lastUsed = Date.now();
  }

  /** Forgets users nobody has read for since `before` (milliseconds). Returns whether anybody is left. */
  forget(before: number): boolean {
    for (const [userId, { lastUsed }] of this.#recipients) {
      if (lastUsed < before && !this.#readers.has(userId)) this.#recipients.delete(userId);
    }
    return this.#recipients.size > 0;
  }
}

/** What a reader of the log needs of a running service: the log, and its windows. */
export interface ReadContext extends LogContext {
  readonly hub: {
    /** The realm's window, opened at the log's present end if nobody here read it yet. */
    window(realmId: number): Promise<RealmWindow>;
  };
}
