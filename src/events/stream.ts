import { AsyncLocalStorage } from 'node:async_hooks';
import { ChatError } from '../platform/errors.ts';
import { keepingSpan } from '../platform/tracing.ts';
import { receives } from './audience.ts';
import type { LogContext } from './context.ts';
import { BadEventQueueIdError } from './errors.ts';
import type { LiveReader } from './live-readers.ts';
import type { LogTail, ReadContext } from './log-tail.ts';
import { PrunedError, readPage } from './page.ts';
import type { Queue, QueueReader, ReaderAccess, ReaderEnd } from './queue.ts';
import type { EventRecipient } from './recipient.ts';
import { type EventPiece, forgetRenderings, heartbeat, piecesOf } from './rendering.ts';
import type { StoredEvent } from './stored.ts';
import type { EventView, QueueOptions } from './view.ts';

/** Runs a function outside the context of any request. */
const detached = AsyncLocalStorage.snapshot();

/** The destination of a stream's events: a socket or a response. */
export interface StreamSink {
  /** Returns whether the events can be sent as they are, without a database read for this client. */
  isReady(pieces: readonly EventPiece[]): boolean;
  /**
   * Loads the data that the sink needs to write the next events. If the data for all events would exceed the sink's limit,
   * loads the data for the first events only.
   *
   * @returns Number of prepared events, at least one. Rejects if the data cannot be loaded now.
   */
  prepare(pieces: readonly EventPiece[]): Promise<number>;
  /** Sends at least one event, in id order. All of them are ready or prepared. Must not throw. */
  send(pieces: readonly EventPiece[]): void;
  /**
   * Resolves when the client has read enough of the sent data. Awaited only while the stream reads missed events page by page.
   */
  writable(): Promise<void>;
  /** Ends the output to the client, because the stream has ended for the reason `why`. */
  end(why: ReaderEnd): void;
}

/** Renders one event for the owner of a queue, with the role that the owner had when the event happened. */
export function piecesFor(
  { log }: LogContext,
  event: StoredEvent,
  { queue, recipient }: { readonly queue: Pick<Queue, 'id' | 'options'>; readonly recipient: EventRecipient },
): readonly EventPiece[] {
  return piecesOf(event, new ReaderView(event, queue, recipient), log);
}

/**
 * The viewer and options that one event is rendered for. It is a class, because one instance is created for every delivery, and
 * instances of classes are cheap.
 */
class ReaderView implements EventView {
  readonly role: number;
  readonly userId: number;
  readonly queueId: string;
  readonly options: QueueOptions;
  readonly #event: StoredEvent;
  readonly #recipient: EventRecipient;

  constructor(event: StoredEvent, queue: Pick<Queue, 'id' | 'options'>, recipient: EventRecipient) {
    this.role = recipient.roleAt(event.id);
    this.userId = recipient.userId;
    this.queueId = queue.id;
    this.options = queue.options;
    this.#event = event;
    this.#recipient = recipient;
  }

  /** Whether the user is in the audience of the event. Computed on demand, because few kinds of events need it. */
  get isRecipient(): boolean {
    return !this.options.allPublicChannels || receives(this.#event.audience, this.#recipient, this.#event.id, false);
  }
}

/**
 * Delay before a failed heartbeat is retried, in milliseconds. It is short, because clients time out soon after a heartbeat is
 * due.
 */
export const HEARTBEAT_RETRY_MS = 1_000;

/**
 * Maximum time, in milliseconds, that a client takes to read the sent data without a new check of its credentials. During
 * shorter waits the log tail stays open, and a revocation ends the stream.
 */
const LONG_MS = 1_000;

/**
 * Returns the time, in milliseconds, after the last sent event at which a heartbeat is due. Adds up to 22 % at random, so that
 * heartbeats of many clients do not coincide.
 */
export function heartbeatDelay({ config }: LogContext): number {
  return config.heartbeatMs * (1 + Math.random() * 0.22);
}

/**
 * Reads one queue while a client is connected: first the events that it has missed, then each event after its commit. Sends
 * each event once and in id order, with heartbeats in between.
 */
export class EventStream implements LiveReader, QueueReader {
  readonly queue: Queue;
  readonly access: ReaderAccess;
  readonly #app: ReadContext;
  readonly #sink: StreamSink;
  #tail!: LogTail;
  #recipient!: EventRecipient;
  /** Id up to which every event for this queue was sent. */
  #position: number;
  /** Id of the last event or heartbeat that was sent. At first, the id up to which the client has all its events. */
  #lastSent: number;
  #over = false;
  /**
   * Whether the credentials of the client must be checked again. An attached reader is notified of a revocation. A reader
   * misses revocations that occur before it took the queue, or while no log tail is open. A tail is closed if no reader is
   * attached to it for a while.
   */
  #mayBeRevoked = true;
  notifiedThrough = Number.POSITIVE_INFINITY;
  /** Whether new events are delivered to this stream when they are logged. Otherwise the stream reads them page by page. */
  #attached = false;
  #heartbeat: NodeJS.Timeout | undefined;
  /** Time at which an event or heartbeat was last sent, on the clock of `performance`. */
  #lastSentAt = 0;

  /** @param known Id up to which the client has received all events. */
  constructor(
    app: ReadContext,
    queue: Queue,
    { known, sink, access }: { known: number; sink: StreamSink; access: ReaderAccess },
  ) {
    this.#app = app;
    this.queue = queue;
    this.#sink = sink;
    this.access = access;
    this.#position = queue.positionFor(known);
    this.#lastSent = known;
  }

  get recipient(): EventRecipient {
    return this.#recipient;
  }

  get options(): QueueOptions {
    return this.queue.options;
  }

  /** Id of the last event or heartbeat that was sent. By acknowledging it, the client acknowledges everything that was sent. */
  get lastSent(): number {
    return this.#lastSent;
  }

  /** Becomes the reader of the queue and starts to send. Resolves when the client is up to date, or the stream is over. */
  async start(): Promise<void> {
    this.queue.take(this);
    await this.#catchUp();
    if (this.#over) return;
    this.#lastSentAt = performance.now();
    this.#awaitSilence(heartbeatDelay(this.#app));
  }

  async #catchUp(): Promise<void> {
    try {
      await this.#readOn();
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    if (error instanceof PrunedError) this.#finish(new BadEventQueueIdError(this.queue.id, 'pruned'));
    else if (error instanceof ChatError && error.status === 401) this.#finish('revoked');
    else {
      this.#app.log.warn({ err: error }, 'event stream read failed');
      this.#finish('unavailable');
    }
  }

  /** Sends the events that the client has missed, then waits at the end of the log tail. */
  async #readOn(): Promise<void> {
    while (!this.#over) {
      // The log tail is requested again for each page: between two pages of a slow client, no reader is attached, so the tail
      // may drop the user's roles and subscriptions.
      this.#tail = await this.#app.hub.tail(this.queue.organizationId);
      if (this.#mayBeRevoked) {
        if (!(await this.access.mayStay())) return this.#finish('revoked');
        this.#mayBeRevoked = false;
      }
      this.#recipient = await this.#tail.recipient(this.queue.userId, this.#position);
      // If the log was reset to an earlier state during a read, new events would have ids that the client has already received.
      if (this.#position > this.#tail.through) return this.broken();
      const page = await readPage(this.#app, this.#tail, {
        recipient: this.#recipient,
        options: this.options,
        position: this.#position,
        now: this.#app.now(),
        isOver: () => this.#over,
      });
      const pieces = this.#unsent(page.events);
      const isReady = pieces.length === 0 || this.#sink.isReady(pieces);
      const ready = isReady ? pieces.length : await this.#sink.prepare(pieces);
      if (this.#over) return;
      // Events of the page that are not prepared yet are read again with the next page.
      const through = ready < pieces.length ? (pieces[ready - 1] as EventPiece).id : page.through;
      this.#send(pieces.slice(0, ready), through);
      if (page.isFromLog) for (const event of page.events) forgetRenderings(event);
      if (page.events.length > 0) await this.#untilWritable();
      // Nothing was left to read in this iteration of the event loop, so no event can arrive before the reader is attached.
      else if (this.#position === this.#tail.through) break;
    }
    if (this.#over) return;
    this.#attached = true;
    this.#tail.attach(this);
  }

  async #untilWritable(): Promise<void> {
    const since = performance.now();
    await this.#sink.writable();
    if (performance.now() - since > LONG_MS) this.#mayBeRevoked = true;
  }

  broken(): void {
    this.#finish('unavailable');
  }

  restored(): void {
    this.#finish(new BadEventQueueIdError(this.queue.id, 'restored'));
  }

  /**
   * Sends the events if the sink is ready for them. Otherwise, the stream detaches and reads them from the log tail, as if it
   * had just begun. So no later event can overtake them, and waiting events are held in memory once for all readers.
   */
  receive(events: readonly StoredEvent[], through: number): void {
    const pieces = this.#unsent(events);
    if (pieces.length === 0 || this.#sink.isReady(pieces)) this.#send(pieces, through);
    else {
      this.#attached = false;
      this.#tail.detach(this);
      // Runs outside the context of the request that made the change, in which `receive` may be called.
      void detached(keepingSpan(() => this.#catchUp()));
    }
  }

  pass(through: number): void {
    this.#position = through;
    this.queue.passed(through);
  }

  #unsent(events: readonly StoredEvent[]): readonly EventPiece[] {
    const [only] = events;
    const isOne = only !== undefined && events.length === 1;
    const all = isOne ? piecesFor(this.#app, only, this) : events.flatMap((event) => piecesFor(this.#app, event, this));
    // If an event is rendered as several, the client may have received only the first of them.
    return (all[0]?.id ?? 0) > this.#lastSent ? all : all.filter(({ id }) => id > this.#lastSent);
  }

  #send(pieces: readonly EventPiece[], through: number): void {
    const last = pieces.at(-1);
    if (last !== undefined) this.#sendPieces(pieces, last.id);
    if (!this.#over) this.pass(through);
  }

  #sendPieces(pieces: readonly EventPiece[], lastId: number): void {
    this.#lastSent = lastId;
    this.#lastSentAt = performance.now();
    this.queue.sent(lastId);
    this.#sink.send(pieces);
  }

  /**
   * Sends a heartbeat once nothing has been sent for `patience` milliseconds. Uses one timer, which is set again if it fires
   * too early.
   */
  #awaitSilence(patience: number, delay = patience): void {
    if (this.#over) return;
    this.#heartbeat = setTimeout(() => {
      const left = this.#lastSentAt + patience - performance.now();
      if (left > 0) this.#awaitSilence(patience, left);
      else void this.#beat();
    }, delay).unref();
  }

  async #beat(): Promise<void> {
    try {
      const sentBefore = this.#lastSent;
      // No heartbeat is sent while the stream is detached to read events: its id means that no event before it is missing.
      while (this.#attached && this.#tail.through <= this.#lastSent) await this.#tail.advance();
      if (this.#attached) this.#tail.deliverTo(this);
      if (this.#attached && this.#lastSent === sentBefore) {
        const piece = heartbeat(this.#tail.through);
        this.#sendPieces([piece], piece.id);
      }
    } catch (error) {
      this.#app.log.warn({ err: error }, 'heartbeat failed, retrying');
      this.#awaitSilence(0, HEARTBEAT_RETRY_MS);
      return;
    }
    this.#awaitSilence(heartbeatDelay(this.#app));
  }

  end(why: ReaderEnd): void {
    this.#finish(why);
  }

  /** Ends the stream because the client has disconnected or unsubscribed. */
  stop(): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#heartbeat);
    if (this.#attached) this.#tail.detach(this);
    this.#attached = false;
    this.queue.release(this);
  }

  #finish(why: ReaderEnd): void {
    if (this.#over) return;
    this.stop();
    this.#sink.end(why);
  }
}
