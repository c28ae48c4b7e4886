import { BadEventQueueIdError } from './errors.ts';
import type { LiveReader } from './live-readers.ts';
import type { LogTail, ReadContext } from './log-tail.ts';
import { PrunedError, readPage } from './page.ts';
import type { Queue, QueueReader, ReaderAccess, ReaderEnd } from './queue.ts';
import type { EventRecipient } from './recipient.ts';
import { type EventPiece, forgetRenderings, heartbeat } from './rendering.ts';
import type { StoredEvent } from './stored.ts';
import { HEARTBEAT_RETRY_MS, heartbeatDelay, piecesFor } from './stream.ts';
import type { QueueOptions } from './view.ts';

/** The answer to a long poll. */
export interface Polled {
  readonly pieces: readonly EventPiece[];
  /** Whether a newer reader has taken the queue. There are then no events, and the queue continues for that reader. */
  readonly isDisplaced: boolean;
}

/**
 * Runs one round of a long poll. Returns the queue's events after `known`: immediately if there are any, otherwise when the
 * next one arrives. If none arrives in time, returns a heartbeat. If a newer reader takes the queue, or the queue is deleted,
 * or the server stops, returns no events.
 *
 * @param known The id up to which the client has all its events. The call acknowledges these events.
 * @param block If false, returns immediately, possibly without events.
 * @param signal Aborts when the client disconnects.
 * @param access The credentials of the client. They are checked again after a second of waiting, because a revocation during
 *   the start of the poll is missed. Once the poll waits, a revocation ends it.
 * @throws BadEventQueueIdError `pruned` if the log does not reach back to `known`, `expired` if the queue ends, `restored` if
 *   another epoch of the log begins.
 * @see src/events/README.md#queues
 */
export async function longPoll(
  app: ReadContext,
  queue: Queue,
  { known, block, signal, access }: { known: number; block: boolean; signal: AbortSignal; access: ReaderAccess },
): Promise<Polled> {
  queue.acknowledge(known);
  const tail = await app.hub.tail(queue.organizationId);
  let position = queue.positionFor(known);
  const recipient = await tail.recipient(queue.userId, position);
  const poll = new Poll(app, queue, { tail, recipient, known, access });
  queue.take(poll);
  signal.addEventListener('abort', poll.abandon, { once: true });
  if (signal.aborted) poll.abandon();
  try {
    while (!poll.over) {
      const page = await readPage(app, tail, {
        recipient,
        options: queue.options,
        position,
        now: app.now(),
        isOver: () => poll.over,
      });
      // The read may have waited for a permit. A newer reader may have taken the queue meanwhile, or the epoch may have
      // changed.
      if (poll.over) break;
      const pieces = poll.rendered(page.events);
      if (page.isFromLog) for (const event of page.events) forgetRenderings(event);
      position = page.through;
      if (pieces.length > 0) return poll.answer(pieces);
      queue.passed(position);
      if (position !== tail.through) continue;
      if (!block) return poll.answer([]);
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

/**
 * Time, in milliseconds, after which a waiting poll checks its credentials again, once. Polls that end earlier skip the check.
 */
const RECHECK_MS = 1_000;

class Poll implements LiveReader, QueueReader {
  readonly recipient: EventRecipient;
  readonly access: ReaderAccess;
  notifiedThrough = Number.POSITIVE_INFINITY;
  readonly #app: ReadContext;
  readonly #queue: Queue;
  readonly #tail: LogTail;
  readonly #known: number;
  readonly #answer = Promise.withResolvers<Polled>();
  #over = false;
  #heartbeat: NodeJS.Timeout | undefined;
  #recheck: NodeJS.Timeout | undefined;

  constructor(
    app: ReadContext,
    queue: Queue,
    {
      tail,
      recipient,
      known,
      access,
    }: { tail: LogTail; recipient: EventRecipient; known: number; access: ReaderAccess },
  ) {
    this.access = access;
    this.#app = app;
    this.#queue = queue;
    this.#tail = tail;
    this.recipient = recipient;
    this.#known = known;
    // Without this handler, a rejection before any caller waits for the answer would count as unhandled.
    this.#answer.promise.catch(() => {});
  }

  get options(): QueueOptions {
    return this.#queue.options;
  }

  get over(): boolean {
    return this.#over;
  }

  /**
   * Attaches the poll to the end of the log tail, and returns the answer. Must be called in the same iteration of the event
   * loop in which `readPage` found nothing left to read.
   */
  wait(): Promise<Polled> {
    if (!this.#over) {
      this.#tail.attach(this);
      this.#recheck = setTimeout(() => void this.#endIfRevoked(), RECHECK_MS).unref();
      this.#heartbeat = setTimeout(() => void this.#beat(), heartbeatDelay(this.#app)).unref();
    }
    return this.#answer.promise;
  }

  async #endIfRevoked(): Promise<void> {
    try {
      if (!(await this.access.mayStay())) this.answer([]);
    } catch (error) {
      this.#app.log.warn({ err: error }, 'long poll access check failed');
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

  answer(pieces: readonly EventPiece[], { isDisplaced = false } = {}): Polled {
    this.#over = true;
    const last = pieces.at(-1);
    if (last !== undefined) this.#queue.sent(last.id);
    const answer = { pieces, isDisplaced };
    this.#answer.resolve(answer);
    this.close();
    return answer;
  }

  receive(events: readonly StoredEvent[], through: number): void {
    const pieces = this.rendered(events);
    if (pieces.length > 0) this.answer(pieces);
    else this.pass(through);
  }

  pass(through: number): void {
    this.#queue.passed(through);
  }

  /**
   * Answers the poll with a heartbeat, unless pending events answer it first. The id of the heartbeat is new to the client, and
   * all events before it were read.
   */
  async #beat(): Promise<void> {
    try {
      while (!this.#over && this.#tail.through <= this.#known) await this.#tail.advance();
      if (!this.#over) this.#tail.deliverTo(this);
      if (!this.#over) this.answer([heartbeat(this.#tail.through)]);
    } catch (error) {
      this.#app.log.warn({ err: error }, 'heartbeat failed, retrying');
      if (!this.#over) this.#heartbeat = setTimeout(() => void this.#beat(), HEARTBEAT_RETRY_MS).unref();
    }
  }

  end(why: ReaderEnd): void {
    if (why instanceof BadEventQueueIdError && why.data.reason === 'displaced') this.answer([], { isDisplaced: true });
    else if (why instanceof BadEventQueueIdError) {
      this.#over = true;
      this.#answer.reject(why);
      this.close();
    } else this.answer([]);
  }

  /** Ends the poll without events, because the client has disconnected. */
  readonly abandon = (): void => {
    this.answer([]);
  };

  close(): void {
    clearTimeout(this.#heartbeat);
    clearTimeout(this.#recheck);
    this.#tail.detach(this);
    this.#queue.release(this);
  }
}
