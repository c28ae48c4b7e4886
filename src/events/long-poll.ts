import { BadEventQueueIdError } from './errors.ts';
import type { LiveReader } from './live-readers.ts';
import { PrunedError, readPage } from './page.ts';
import type { Queue, QueueReader, ReaderAccess, ReaderEnd } from './queue.ts';
import type { EventRecipient } from './recipient.ts';
import { type EventPiece, forgetRenderings, heartbeat } from './rendering.ts';
import type { StoredEvent } from './stored.ts';
import { HEARTBEAT_RETRY_MS, heartbeatDelay, piecesFor } from './stream.ts';
import type { QueueOptions } from './view.ts';
import type { ReadContext, RealmWindow } from './window.ts';

/**
 * One round of a long poll: what the queue holds after `known`, at once if there is something, else as soon as there
 * is, else a heartbeat. A newer reader of the queue, its end, or a stop of the server ends the wait with nothing.
 *
 * @param known The id up to which the client has everything; this acknowledges it.
 * @param block False: answers at once, perhaps with nothing.
 * @param signal Aborts when the client is gone.
 * @param access Asked again a second into the wait: a revocation that passed while the poll was being opened was not
 *   heard. Later ones are.
 * @throws BadEventQueueIdError `pruned` when the log does not reach back to `known`, `expired` when the queue ends.
 * @see src/events/README.md#queues
 */
export async function longPoll(
  app: ReadContext,
  queue: Queue,
  { known, block, signal, access }: { known: number; block: boolean; signal: AbortSignal; access: ReaderAccess },
): Promise<readonly EventPiece[]> {
  queue.acknowledge(known);
  const window = await app.hub.window(queue.realmId);
  let position = queue.positionFor(known);
  const recipient = await window.recipient(queue.userId, position);
  const poll = new Poll(app, queue, { window, recipient, known, access });
  queue.take(poll);
  signal.addEventListener('abort', poll.abandon, { once: true });
  if (signal.aborted) poll.abandon();
  try {
    while (!poll.over) {
      const page = await readPage(app, window, {
        recipient,
        options: queue.options,
        position,
        now: app.now(),
        isOver: () => poll.over,
      });
      // It may have waited for its turn: a newer reader has the queue, or the log is another.
      if (poll.over) break;
      const pieces = poll.rendered(page.events);
      if (page.isFromLog) for (const event of page.events) forgetRenderings(event);
      position = page.through;
      if (pieces.length > 0) return poll.answer(pieces);
      queue.passed(position);
      if (position !== window.through) continue;
      if (!block) return [];
      return await poll.wait();
    }
    return await poll.wait();
  } catch (error) {
    if (error instanceof PrunedError) throw new BadEventQueueIdError(queue.id, 'pruned');
    throw error;
  } finally {
    signal.removeEventListener('abort', poll.abandon);
    poll.close();
  }
}

/** Long enough that a poll answered soon costs nothing more; short enough to end access within seconds. */
const RECHECK_MS = 1_000;

class Poll implements LiveReader, QueueReader {
  readonly recipient: EventRecipient;
  readonly access: ReaderAccess;
  toldThrough = Number.POSITIVE_INFINITY;
  readonly #app: ReadContext;
  readonly #queue: Queue;
  readonly #window: RealmWindow;
  readonly #known: number;
  readonly #answer = Promise.withResolvers<readonly EventPiece[]>();
  #over = false;
  #heartbeat: NodeJS.Timeout | undefined;
  #recheck: NodeJS.Timeout | undefined;

  constructor(
    app: ReadContext,
    queue: Queue,
    {
      window,
      recipient,
      known,
      access,
    }: { window: RealmWindow; recipient: EventRecipient; known: number; access: ReaderAccess },
  ) {
    this.access = access;
    this.#app = app;
    this.#queue = queue;
    this.#window = window;
    this.recipient = recipient;
    this.#known = known;
    // A refusal may come before anybody waits for the answer.
    this.#answer.promise.catch(() => {});
  }

  get options(): QueueOptions {
    return this.#queue.options;
  }

  get over(): boolean {
    return this.#over;
  }

  /** Waits at the window's end. To be called in the same turn of the event loop in which nothing was left to read. */
  wait(): Promise<readonly EventPiece[]> {
    if (!this.#over) {
      this.#window.attach(this);
      this.#recheck = setTimeout(() => void this.#leaveIfOver(), RECHECK_MS).unref();
      this.#heartbeat = setTimeout(() => void this.#beat(), heartbeatDelay(this.#app)).unref();
    }
    return this.#answer.promise;
  }

  async #leaveIfOver(): Promise<void> {
    try {
      if (!(await this.access.mayStay())) this.answer([]);
    } catch (error) {
      this.#app.log.warn({ err: error }, 'could not check whether a poll may go on');
      this.answer([]);
    }
  }

  broken(): void {
    this.answer([]);
  }

  restored(): void {
    this.end(new BadEventQueueIdError(this.#queue.id, 'restored'));
  }

  rendered(events: readonly StoredEvent[]): readonly EventPiece[] {
    return events.flatMap((event) =>
      piecesFor(this.#app, event, { queue: this.#queue, recipient: this.recipient }).filter(
        ({ id }) => id > this.#known,
      ),
    );
  }

  answer(pieces: readonly EventPiece[]): readonly EventPiece[] {
    this.#over = true;
    const last = pieces.at(-1);
    if (last !== undefined) this.#queue.sent(last.id);
    this.#answer.resolve(pieces);
    this.close();
    return pieces;
  }

  hear(events: readonly StoredEvent[], through: number): void {
    const pieces = this.rendered(events);
    if (pieces.length > 0) this.answer(pieces);
    else this.pass(through);
  }

  pass(through: number): void {
    this.#queue.passed(through);
  }

  /**
   * A heartbeat goes only to a silent queue, with an id that the client has not had, after everything before it was
   * read.
   */
  async #beat(): Promise<void> {
    try {
      while (!this.#over && this.#window.through <= this.#known) await this.#window.advance();
      if (!this.#over) this.#window.tellAll(this);
      if (!this.#over) this.answer([heartbeat(this.#window.through)]);
    } catch (error) {
      this.#app.log.warn({ err: error }, 'could not send a heartbeat; trying again');
      if (!this.#over) this.#heartbeat = setTimeout(() => void this.#beat(), HEARTBEAT_RETRY_MS).unref();
    }
  }

  end(why: ReaderEnd): void {
    if (why instanceof BadEventQueueIdError) {
      this.#over = true;
      this.#answer.reject(why);
      this.close();
    } else this.answer([]);
  }

  /** The client is gone: there is nobody to answer. */
  readonly abandon = (): void => {
    this.answer([]);
  };

  close(): void {
    clearTimeout(this.#heartbeat);
    clearTimeout(this.#recheck);
    this.#window.detach(this);
    this.#queue.release(this);
  }
}
