import { AsyncLocalStorage } from 'node:async_hooks';
import { ChatError } from '../platform/errors.ts';
import { hears } from './audience.ts';
import type { LogContext } from './context.ts';
import { BadEventQueueIdError } from './errors.ts';
import type { LiveReader } from './live-readers.ts';
import { PrunedError, readPage } from './page.ts';
import type { Queue, QueueReader, ReaderAccess, ReaderEnd } from './queue.ts';
import type { EventRecipient } from './recipient.ts';
import { type EventPiece, forgetRenderings, heartbeat, piecesOf } from './rendering.ts';
import type { StoredEvent } from './stored.ts';
import type { EventView, QueueOptions } from './view.ts';
import type { ReadContext, RealmWindow } from './window.ts';

/** Runs something as part of no request. */
const apart = AsyncLocalStorage.snapshot();

/** Where a stream's events go: a socket, a response. */
export interface StreamSink {
  /** Whether events can be sent as they are: nothing has to be read for this client first. */
  isReady(pieces: readonly EventPiece[]): boolean;
  /**
   * Reads what is to be read for events that are sent next, or for so many of the first of them as can be held at once:
   * how many, at least one. Rejects when it cannot be read now.
   */
  prepare(pieces: readonly EventPiece[]): Promise<number>;
  /** Sends events, at least one, in id order, that are ready or prepared. Must not throw. */
  send(pieces: readonly EventPiece[]): void;
  /** Resolves when the client has taken enough of what was sent for more to follow. Only a backlog waits for it. */
  writable(): Promise<void>;
  /** The stream is over. */
  end(why: ReaderEnd): void;
}

/** How one event looks to the owner of a queue: by the role they had when it happened. */
export function piecesFor(
  { log }: LogContext,
  event: StoredEvent,
  { queue, recipient }: { readonly queue: Pick<Queue, 'id' | 'options'>; readonly recipient: EventRecipient },
): readonly EventPiece[] {
  return piecesOf(event, new ReaderView(event, queue, recipient), log);
}

/** For whom one event is rendered. A class, because one is made for every delivery. */
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

  /** Worked out when asked for, because few kinds of event need it. */
  get isRecipient(): boolean {
    return !this.options.allPublicChannels || hears(this.#event.audience, this.#recipient, this.#event.id, false);
  }
}

/** Clients give up soon after a heartbeat is due. */
export const HEARTBEAT_RETRY_MS = 1_000;

/** Our choice: a window is kept for much longer, and a client that reads is quicker. */
const LONG_MS = 1_000;

/**
 * The silence before a heartbeat, with up to a fifth more at random, so that heartbeats of many clients do not
 * coincide.
 */
export function heartbeatDelay({ config }: LogContext): number {
  return config.heartbeatMs * (1 + Math.random() * 0.22);
}

/**
 * Reads one queue for as long as somebody listens: first what the client has not got, then each event as it commits,
 * each once and in id order, with heartbeats in between.
 */
export class EventStream implements LiveReader, QueueReader {
  readonly queue: Queue;
  readonly access: ReaderAccess;
  readonly #app: ReadContext;
  readonly #sink: StreamSink;
  #window!: RealmWindow;
  #recipient!: EventRecipient;
  /** Everything up to here was sent, or was not for this queue. */
  #position: number;
  /** The last id the client has seen or is about to. */
  #lastSent: number;
  #over = false;
  /**
   * Whether it is to be asked that they still may read. A revocation is heard as it passes, but not one from before the queue
   * was taken, nor in a window that nobody reads at the end of, which is forgotten after a while.
   */
  #mayBeRevoked = true;
  toldThrough = Number.POSITIVE_INFINITY;
  /** Whether events are heard as they pass; otherwise they are read from the window, page by page. */
  #attached = false;
  #heartbeat: NodeJS.Timeout | undefined;
  /** When the client was last sent something, on the clock that timers run by. */
  #lastSentAt = 0;

  /** @param known The id up to which the client has everything. */
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

  /** The last id sent: what an acknowledgement of everything so far acknowledges. */
  get lastSent(): number {
    return this.#lastSent;
  }

  /** Takes the queue and starts to send. Resolves once the client is up to date, or the stream is over. */
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
      this.#app.log.warn({ err: error }, 'an event stream could not be read');
      this.#finish('unavailable');
    }
  }

  /** Sends what the client has not got, and waits at the window's end then. */
  async #readOn(): Promise<void> {
    while (!this.#over) {
      // Asked for again with each page: a recipient that nobody waits for is forgotten after a while, and a client may
      // be slow.
      this.#window = await this.#app.hub.window(this.queue.realmId);
      if (this.#mayBeRevoked) {
        if (!(await this.access.mayStay())) return this.#finish('revoked');
        this.#mayBeRevoked = false;
      }
      this.#recipient = await this.#window.recipient(this.queue.userId, this.#position);
      // The log went back while something was read for the client: what comes now has ids that it has seen.
      if (this.#position > this.#window.through) return this.broken();
      const page = await readPage(this.#app, this.#window, {
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
      // What is left of the page is read again after it.
      const through = ready < pieces.length ? (pieces[ready - 1] as EventPiece).id : page.through;
      this.#send(pieces.slice(0, ready), through);
      if (page.isFromLog) for (const event of page.events) forgetRenderings(event);
      if (page.events.length > 0) await this.#untilWritable();
      // In the same turn of the event loop in which nothing was left to read, no event can arrive before the reader is
      // attached.
      else if (this.#position === this.#window.through) break;
    }
    if (this.#over) return;
    this.#attached = true;
    this.#window.attach(this);
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
   * What takes reading first is read from the window instead, as by a stream that has just begun: so nothing that comes
   * meanwhile can overtake it, and what waits is held once for all.
   */
  hear(events: readonly StoredEvent[], through: number): void {
    const pieces = this.#unsent(events);
    if (pieces.length === 0 || this.#sink.isReady(pieces)) this.#send(pieces, through);
    else {
      this.#attached = false;
      this.#window.detach(this);
      // Not on behalf of whoever made the change, in whose request this may be.
      void apart(() => this.#catchUp());
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
    // The client may have stopped between two pieces of one event.
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

  /** Beats once nothing has been sent for `patience` milliseconds. One timer, that looks again when it was too early. */
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
      // What is being read for the client comes first: a heartbeat's id says that nothing before it is missing.
      while (this.#attached && this.#window.through <= this.#lastSent) await this.#window.advance();
      if (this.#attached) this.#window.tellAll(this);
      if (this.#attached && this.#lastSent === sentBefore) {
        const piece = heartbeat(this.#window.through);
        this.#sendPieces([piece], piece.id);
      }
    } catch (error) {
      this.#app.log.warn({ err: error }, 'could not send a heartbeat; trying again');
      this.#awaitSilence(0, HEARTBEAT_RETRY_MS);
      return;
    }
    this.#awaitSilence(heartbeatDelay(this.#app));
  }

  end(why: ReaderEnd): void {
    this.#finish(why);
  }

  /** The client is gone or wants no more. */
  stop(): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#heartbeat);
    if (this.#attached) this.#window.detach(this);
    this.#attached = false;
    this.queue.release(this);
  }

  #finish(why: ReaderEnd): void {
    if (this.#over) return;
    this.stop();
    this.#sink.end(why);
  }
}
