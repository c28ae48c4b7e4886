import { receives } from './audience.ts';
import type { LogContext } from './context.ts';
import { matchesQueue } from './live-readers.ts';
import { readCounter, readLogFor } from './log-reads.ts';
import type { LogTail } from './log-tail.ts';
import type { EventRecipient } from './recipient.ts';
import type { StoredEvent } from './stored.ts';
import type { QueueOptions } from './view.ts';

/**
 * Maximum number of events, and maximum bytes, of one page of events. Further events are on the next page. A slow client
 * processes a page in about a second.
 */
const MAX_EVENTS = 500;
const MAX_BYTES = 1024 * 1024;
const ROWS_PER_READ = 1_000;
/**
 * Maximum bytes of one read of the table: several pages, because the read also returns events that do not match the queue.
 * Further events are read next.
 */
const BYTES_PER_READ = 4 * MAX_BYTES;
/**
 * Number of event ids that the first read of the table covers. A read queries each of the user's channels separately, so a
 * larger range could return up to `ROWS_PER_READ` rows for each channel.
 */
const FIRST_SPAN = 4_000;
/**
 * Maximum number of event ids that one read of the table covers. Such a read takes a tenth of a second of database time if no
 * event matches.
 */
const MAX_SPAN = 128_000;
/**
 * Intended maximum duration of one read, in milliseconds, because other readers wait for the permit of this read. After a
 * longer read, the next read covers half as many ids. After a read of less than half this duration that returned few rows, the
 * next read covers twice as many.
 */
const STEP_MS = 100;
/**
 * Time, in milliseconds, after which a scan that has found no matching event returns its position. The next scan for the queue
 * continues there.
 */
const LOOKING_MS = 500;
/** Maximum age, in milliseconds, at which ephemeral events, such as typing, are still sent. Older ones are skipped. */
const EPHEMERAL_MS = 60_000;

/** The error for a position below the oldest event that the log still holds. */
export class PrunedError extends Error {
  override name = 'PrunedError';
}

/** A page of the events that a queue receives after a position. */
export interface EventPage {
  /** The events in id order. At most 500 events and 1 MiB; a larger event is on a page by itself. */
  readonly events: readonly StoredEvent[];
  /** Id up to which `events` contains all events for this queue. */
  readonly through: number;
  /** Whether the events were read from the table, as objects that no other reader uses. False if they are from the log tail. */
  readonly isFromLog: boolean;
}

/**
 * Returns the next page of events that the queue receives after `position`, from memory if the log tail covers it, else from
 * the table.
 *
 * If the page is empty and its `through` is the end of the log tail, the reader is up to date in this iteration of the event
 * loop. A reader that attaches to the tail within this iteration misses no event. An empty page that ends earlier means that
 * the scan took long: call again from its `through`.
 *
 * @param isOver Returns whether the reader has ended; the page is then empty. Checked when a permit to read the table is
 *   granted, so that clients that have disconnected do not delay other readers.
 * @throws PrunedError if the log does not reach back to `position`.
 */
export async function readPage(
  { database, db }: Pick<LogContext, 'database' | 'db'>,
  tail: LogTail,
  {
    recipient,
    options,
    position,
    now,
    isOver = () => false,
  }: {
    recipient: EventRecipient;
    options: QueueOptions;
    position: number;
    now: Date;
    isOver?: () => boolean;
  },
): Promise<EventPage> {
  const isReceived = (event: StoredEvent) =>
    matchesQueue(options, event, recipient.userId) &&
    receives(event.audience, recipient, event.id, options.allPublicChannels) &&
    !(event.ephemeral && now.getTime() - event.createdAt.getTime() > EPHEMERAL_MS);
  let tookMs = 0;
  let from = position;
  for (let span = FIRST_SPAN; ; ) {
    if (tail.covers(from)) return { ...bounded(tail.after(from).filter(isReceived), tail.through), isFromLog: false };
    const end = Math.min(tail.through, from + span);
    // One permit of `database.catchUps` per step: a reader that is almost up to date waits for at most one step of each other
    // reader.
    const step = await database.catchUps.run(tail.organizationId, async () => {
      if (isOver()) return undefined;
      const began = performance.now();
      const read = await readLogFor(
        db,
        tail.organizationId,
        {
          userId: recipient.userId,
          stretches: recipient.stretchesAfter(from),
          allPublicChannels: options.allPublicChannels,
          types: options.eventTypes,
          narrow: options.narrow,
        },
        { after: from, through: end, limit: ROWS_PER_READ, maxBytes: BYTES_PER_READ },
      );
      return { ...read, stepMs: performance.now() - began };
    });
    if (step === undefined) return { events: [], through: from, isFromLog: true };
    const { events: rows, isWhole, stepMs } = step;
    tookMs += stepMs;
    // The counter is read after the rows, so that pruning during the read is noticed.
    const { prunedThrough } = await readCounter(db, tail.organizationId);
    if (prunedThrough > from) throw new PrunedError();
    const through = isWhole ? end : (rows.at(-1) as StoredEvent).id;
    if (stepMs > STEP_MS) span = Math.max(span / 2, FIRST_SPAN);
    else if (stepMs < STEP_MS / 2 && isWhole && rows.length < ROWS_PER_READ / 4) span = Math.min(span * 2, MAX_SPAN);
    const events = rows.filter(isReceived);
    if (events.length > 0) return { ...bounded(events, through), isFromLog: true };
    from = through;
    if (from === tail.through || tookMs > LOOKING_MS) return { events: [], through: from, isFromLog: true };
  }
}

function bounded(events: readonly StoredEvent[], through: number): Pick<EventPage, 'events' | 'through'> {
  let bytes = 0;
  for (const [i, event] of events.entries()) {
    bytes += event.bytes;
    const last = events[i - 1];
    if (last !== undefined && (i >= MAX_EVENTS || bytes > MAX_BYTES))
      return { events: events.slice(0, i), through: last.id };
  }
  return { events, through };
}
