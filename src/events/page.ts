import { hears } from './audience.ts';
import type { LogContext } from './context.ts';
import { wants } from './live-readers.ts';
import { readCounter, readLogFor } from './log-reads.ts';
import type { EventRecipient } from './recipient.ts';
import type { StoredEvent } from './stored.ts';
import type { QueueOptions } from './view.ts';
import type { RealmWindow } from './window.ts';

/** Bounds of one page: our choice, a second of work for a slow client. */
const MAX_EVENTS = 500;
const MAX_BYTES = 1024 * 1024;
const ROWS_PER_READ = 1_000;
/** Our choice: of what is passed over, some pages at once; of long events, little more than is sent. */
const BYTES_PER_READ = 4 * MAX_BYTES;
/** How many ids one read covers at first: each of a user's channels is read, and must not return a full page each. */
const FIRST_SPAN = 4_000;
/** The most, our choice: a tenth of a second of the database's time where none of them is wanted. */
const MAX_SPAN = 128_000;
/** Our choice: others wait for a step that takes longer, so the next is half as long; where it takes less than half, twice. */
const STEP_MS = 100;
/** Our choice: who looks for longer notes how far they came, so that nobody looks there again. */
const LOOKING_MS = 500;
/** Events like typing are of no use after this. */
const EPHEMERAL_MS = 60_000;

/** The position is below what the log still holds. */
export class PrunedError extends Error {
  override name = 'PrunedError';
}

/** Some of what a queue hears after a position. */
export interface EventPage {
  /** In order; bounded by count and bytes. */
  readonly events: readonly StoredEvent[];
  /** Everything for this queue up to here is in `events`. */
  readonly through: number;
  /** Whether they are copies for this one page, which nobody else is sent. */
  readonly isFromLog: boolean;
}

/**
 * What the queue hears after `position`: the next page, from memory where it reaches, else from the table.
 *
 * When the page is empty and `through` is the window's end, that is so in the same turn of the event loop: a reader that
 * attaches at once misses nothing. An empty page that ends before is what took long to look through; the reader asks on.
 *
 * @param isOver Whether the reader is gone, who has an empty page then. Asked when it is their turn: clients that gave up must not
 *   keep those waiting who have not.
 * @throws PrunedError when the log does not reach back to `position`.
 */
export async function readPage(
  { database, db }: Pick<LogContext, 'database' | 'db'>,
  window: RealmWindow,
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
  const isHeard = (event: StoredEvent) =>
    wants(options, event, recipient.userId) &&
    hears(event.audience, recipient, event.id, options.allPublicChannels) &&
    !(event.ephemeral && now.getTime() - event.createdAt.getTime() > EPHEMERAL_MS);
  let tookMs = 0;
  let from = position;
  for (let span = FIRST_SPAN; ; ) {
    if (window.covers(from))
      return { ...bounded(window.after(from).filter(isHeard), window.through), isFromLog: false };
    const end = Math.min(window.through, from + span);
    // One turn for each step: who has a short way to go waits for one step of each of the others at most.
    const step = await database.catchUps.take(window.realmId, async () => {
      if (isOver()) return undefined;
      const began = performance.now();
      const read = await readLogFor(
        db,
        window.realmId,
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
    // Read after the rows, so that pruning in between is noticed.
    const { prunedThrough } = await readCounter(db, window.realmId);
    if (prunedThrough > from) throw new PrunedError();
    const through = isWhole ? end : (rows.at(-1) as StoredEvent).id;
    if (stepMs > STEP_MS) span = Math.max(span / 2, FIRST_SPAN);
    else if (stepMs < STEP_MS / 2 && isWhole && rows.length < ROWS_PER_READ / 4) span = Math.min(span * 2, MAX_SPAN);
    const events = rows.filter(isHeard);
    if (events.length > 0) return { ...bounded(events, through), isFromLog: true };
    from = through;
    if (from === window.through || tookMs > LOOKING_MS) return { events: [], through: from, isFromLog: true };
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
