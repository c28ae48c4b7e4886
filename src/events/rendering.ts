import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { shareOfHeap } from '../platform/memory.ts';
import { definitionOf, type RenderedEvent } from './define.ts';
import type { StoredEvent } from './stored.ts';
import { type EventView, optionsKey } from './view.ts';

/** One event as a client gets it: its id, and the rest as on the wire. */
export interface EventPiece {
  readonly id: number;
  readonly event: RenderedEvent;
  /** What the viewer may know of it beyond `event`, for events that are defined with `facts`. */
  readonly facts: unknown;
  /** `{"id": …, "type": …, …}`, made once for all who see the same. */
  readonly json: string;
}

const NOTHING: readonly EventPiece[] = [];
/** By the viewer's role, by what else tells viewers apart, by the key of the queue's options. */
type Renderings = Map<number, Map<number | string, RenderingsByOptions>>;
type RenderingsByOptions = Map<string, readonly EventPiece[]>;

/** What is made of an event for those who read it. */
interface Made {
  readonly definition: ReturnType<typeof definitionOf>;
  readonly renderings: Renderings;
  readonly bytes: number;
}

/**
 * Our choice: twice what a window holds for some tens of kinds of viewers. Clients choose the options of their queues, and
 * what they ask of events, so that there is no end to what could be made; what nobody asked for lately is made again. A
 * process with a heap of less than a gigabyte keeps less.
 */
const MAX_RENDERED_BYTES = shareOfHeap(1 / 16, 64 * 1024 * 1024);
const MAX_RESULT_BYTES = shareOfHeap(1 / 32, 32 * 1024 * 1024);

/** About what the maps and objects around something take. */
const OVERHEAD = 500;

const made = new LRUCache<StoredEvent, Made>({ maxSize: MAX_RENDERED_BYTES, sizeCalculation: ({ bytes }) => bytes });
const results = new LRUCache<EventPiece, { readonly byMaker: Map<object, Buffer>; readonly bytes: number }>({
  maxSize: MAX_RESULT_BYTES,
  sizeCalculation: ({ bytes }) => bytes,
});

/**
 * The event as `view` sees it: one piece, several, or none. Made once for each distinct view, not once for each reader.
 *
 * An event of several pieces uses the last of the ids reserved for it. An event whose rendering fails is a bug: it is
 * logged once and skipped, because it would hold up everything after it for ever.
 */
export function piecesOf(stored: StoredEvent, view: EventView, log: Logger): readonly EventPiece[] {
  let entry = made.get(stored);
  if (entry === undefined) {
    entry = { definition: definitionOf(stored.type, stored.op), renderings: new Map(), bytes: stored.bytes + OVERHEAD };
    made.set(stored, entry);
  }
  const { definition, renderings } = entry;
  if (definition === undefined) return NOTHING;
  const byOptions = renderingsFor(renderings, view.role, definition.viewerClass(stored.payload as never, view));
  const key = optionsKey(view.options);
  let pieces = byOptions.get(key);
  if (pieces === undefined) {
    try {
      const rendered = definition.render(stored.payload as never, view);
      const facts = definition.facts?.(stored.payload as never, view);
      pieces = toPieces(stored, rendered === null ? [] : isSeveral(rendered) ? rendered : [rendered], facts);
    } catch (err) {
      log.error({ err, event: stored.id, type: stored.type, op: stored.op }, 'an event could not be rendered');
      pieces = NOTHING;
    }
    byOptions.set(key, pieces);
    // Another object, whose size is looked at.
    made.set(stored, { ...entry, bytes: entry.bytes + sizeOf(pieces) });
  }
  return pieces;
}

function renderingsFor(renderings: Renderings, role: number, viewerClass: number | string): RenderingsByOptions {
  let byClass = renderings.get(role);
  if (byClass === undefined) {
    byClass = new Map();
    renderings.set(role, byClass);
  }
  let byOptions = byClass.get(viewerClass);
  if (byOptions === undefined) {
    byOptions = new Map();
    byClass.set(viewerClass, byOptions);
  }
  return byOptions;
}

/** The text, and about as much for the objects it was made of. */
const sizeOf = (pieces: readonly EventPiece[]) =>
  pieces.reduce((sum, { json }) => sum + 2 * json.length + OVERHEAD, OVERHEAD);

function toPieces(
  { id, type, width }: StoredEvent,
  events: readonly RenderedEvent[],
  facts: unknown,
): readonly EventPiece[] {
  if (events.length > width) throw new Error(`Event ${type} reserved ${width} ids only`);
  return events.map((event, i) => pieceOf(id - events.length + 1 + i, event, facts));
}

/** What `maker` made of a piece, such as a GraphQL operation its result; undefined where it made nothing, or that was let go of. */
export const keptResult = (piece: EventPiece, maker: object): Buffer | undefined =>
  results.get(piece)?.byMaker.get(maker);

/** Keeps what `maker` made of a piece for whoever is to be sent the same, as long as there is room. */
export function keepResult(piece: EventPiece, maker: object, result: Buffer): void {
  const { byMaker, bytes } = results.get(piece) ?? { byMaker: new Map<object, Buffer>(), bytes: piece.json.length };
  // Cut from what Node shares among short buffers, each would keep 64 KiB from being freed.
  const own = Buffer.allocUnsafeSlow(result.length);
  result.copy(own);
  byMaker.set(maker, own);
  results.set(piece, { byMaker, bytes: bytes + result.length + OVERHEAD });
}

/** Lets go of what was made of an event's pieces: once it has been delivered live, few ask for it again. */
export function forgetResults(stored: StoredEvent): void {
  for (const byClass of made.peek(stored)?.renderings.values() ?? []) {
    for (const byOptions of byClass.values()) {
      for (const pieces of byOptions.values()) for (const piece of pieces) results.delete(piece);
    }
  }
}

/** Lets go of all that was made of an event: it is in no window any more, and whoever reads it from the log has another copy. */
export function forgetRenderings(stored: StoredEvent): void {
  forgetResults(stored);
  made.delete(stored);
}

/** Of how many events something is kept. */
export const keptRenderings = (): number => made.size;

/** A heartbeat: no row of the log, but with an id like every event. */
export function heartbeat(id: number): EventPiece {
  return pieceOf(id, { type: 'heartbeat' });
}

function pieceOf(id: number, event: RenderedEvent, facts?: unknown): EventPiece {
  return { id, event, facts, json: JSON.stringify({ id, ...event }) };
}

function isSeveral(rendered: RenderedEvent | readonly RenderedEvent[]): rendered is readonly RenderedEvent[] {
  return Array.isArray(rendered);
}
