import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { shareOfHeap } from '../platform/memory.ts';
import { definitionOf, type RenderedEvent } from './define.ts';
import type { StoredEvent } from './stored.ts';
import { type EventView, optionsKey } from './view.ts';

/** One event as a client receives it: its id, and the content in the wire format. */
export interface EventPiece {
  readonly id: number;
  readonly event: RenderedEvent;
  /**
   * Data from which event projections (the fields that an event alone provides) are made: everything in the event that the
   * viewer can see, even if `event` omits some of it. Undefined unless the event is defined with `facts`.
   */
  readonly facts: unknown;
  /**
   * User who made the change. Null if the service, the server's operator or a client that was not signed in made it. Also null
   * for new messages, and for events that an earlier version logged.
   */
  readonly actorId: number | null;
  /** `{"id": …, "type": …, …}`, serialized once for all viewers with the same rendering. */
  readonly json: string;
}

const NOTHING: readonly EventPiece[] = [];
/** Renderings by the viewer's role, then by viewer class, then by the key of the queue's options. */
type Renderings = Map<number, Map<number | string, RenderingsByOptions>>;
type RenderingsByOptions = Map<string, readonly EventPiece[]>;

/** The cached renderings of an event: for each kind of viewer, the events that such a viewer is sent. */
interface Made {
  readonly definition: ReturnType<typeof definitionOf>;
  readonly renderings: Renderings;
  readonly bytes: number;
}

/**
 * Maximum bytes of the cache of renderings, and of the cache of results computed from them. Clients choose the options of their
 * queues and the fields of events, so the number of possible renderings is unlimited. Renderings that were not used
 * recently are evicted, and rendered again when needed. A process with a heap of less than a gigabyte keeps less.
 */
const MAX_RENDERED_BYTES = shareOfHeap(1 / 16, 64 * 1024 * 1024);
const MAX_RESULT_BYTES = shareOfHeap(1 / 32, 32 * 1024 * 1024);

/** A result that was computed from a rendered event and is cached with it, such as the result of a GraphQL operation. */
export interface KeptResult {
  /** Size in bytes. */
  readonly length: number;
}

/** Approximate bytes that a cache entry takes in addition to its texts. */
const OVERHEAD = 500;

const made = new LRUCache<StoredEvent, Made>({ maxSize: MAX_RENDERED_BYTES, sizeCalculation: ({ bytes }) => bytes });
const results = new LRUCache<EventPiece, { readonly byMaker: Map<object, KeptResult>; readonly bytes: number }>({
  maxSize: MAX_RESULT_BYTES,
  sizeCalculation: ({ bytes }) => bytes,
});

/**
 * Renders the event for `view`: as one event, several, or none. Renders once for each distinct view, not for each reader.
 *
 * If the result is several events, they use the last of the ids reserved for the event. If the rendering fails, which is a bug,
 * the event is logged once and skipped. Otherwise this event would block all later events forever.
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
      log.error({ err, event: stored.id, type: stored.type, op: stored.op }, 'event rendering failed');
      pieces = NOTHING;
    }
    byOptions.set(key, pieces);
    // The entry is replaced by a new object: the cache measures the size of new objects only.
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

/**
 * Returns the approximate bytes of renderings: twice the length of their JSON text. The objects from which the text was made
 * take about as much memory as the text.
 */
const sizeOf = (pieces: readonly EventPiece[]) =>
  pieces.reduce((sum, { json }) => sum + 2 * json.length + OVERHEAD, OVERHEAD);

function toPieces(
  { id, type, width, actorId }: StoredEvent,
  events: readonly RenderedEvent[],
  facts: unknown,
): readonly EventPiece[] {
  if (events.length > width)
    throw new Error(`Event ${type} was rendered as more events than its ${width} reserved ids`);
  return events.map((event, i) => pieceOf(id - events.length + 1 + i, event, actorId, facts));
}

/**
 * Returns the cached result that `maker`, such as a GraphQL operation, computed from a rendered event. Undefined if there is
 * none, or it was evicted. `R` must be the type of the results that the maker caches.
 */
export const keptResult = <R extends KeptResult>(piece: EventPiece, maker: object): R | undefined =>
  results.get(piece)?.byMaker.get(maker) as R | undefined;

/**
 * Caches the result that `maker`, such as a GraphQL operation, computed from a rendered event, within the memory limit. All
 * readers that receive this rendering share the result. Replaces the maker's previous result for the rendered event.
 */
export function keepResult(piece: EventPiece, maker: object, result: KeptResult): void {
  const { byMaker, bytes } = results.get(piece) ?? { byMaker: new Map<object, KeptResult>(), bytes: piece.json.length };
  const previous = byMaker.get(maker);
  const added = result.length - (previous?.length ?? -OVERHEAD);
  byMaker.set(maker, result);
  results.set(piece, { byMaker, bytes: bytes + added });
}

/**
 * Returns a copy in memory of its own. A slice of the pool that Node shares among short buffers would keep 64 KiB in memory.
 */
export function inOwnMemory(bytes: Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(own);
  return own;
}

/** Drops the cached result that `maker` computed from a rendered event. */
export function forgetResult(piece: EventPiece, maker: object): void {
  results.get(piece)?.byMaker.delete(maker);
}

/** Drops the cached results of an event's renderings. After live delivery, few readers need these results again. */
export function forgetResults(stored: StoredEvent): void {
  for (const byClass of made.peek(stored)?.renderings.values() ?? []) {
    for (const byOptions of byClass.values()) {
      for (const pieces of byOptions.values()) for (const piece of pieces) results.delete(piece);
    }
  }
}

/**
 * Drops everything cached for an event object that is in no log tail. Nothing reads the object again: the caches are keyed by
 * object, and the next read of the table creates another one.
 */
export function forgetRenderings(stored: StoredEvent): void {
  forgetResults(stored);
  made.delete(stored);
}

/** Returns the number of events with cached renderings. */
export const keptRenderings = (): number => made.size;

/** Returns a heartbeat. It is not a row of the log, but has an id like every event. */
export function heartbeat(id: number): EventPiece {
  return pieceOf(id, { type: 'heartbeat' }, null);
}

function pieceOf(id: number, event: RenderedEvent, actorId: number | null, facts?: unknown): EventPiece {
  return { id, event, facts, actorId, json: JSON.stringify({ id, ...event }) };
}

function isSeveral(rendered: RenderedEvent | readonly RenderedEvent[]): rendered is readonly RenderedEvent[] {
  return Array.isArray(rendered);
}
