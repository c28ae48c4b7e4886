import type { Logger } from 'pino';
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
  /** What GraphQL operations make of this piece, by operation. */
  readonly results: Map<object, Buffer>;
}

const NOTHING: readonly EventPiece[] = [];
/** By who looks (a role, and what else tells viewers apart), then by the key of the queue's options. */
type Renderings = Map<string, Map<string, readonly EventPiece[]>>;

const cache = new WeakMap<StoredEvent, { definition: ReturnType<typeof definitionOf>; renderings: Renderings }>();

/**
 * The event as `view` sees it: one piece, several, or none. Made once for each distinct view, not once for each reader.
 *
 * An event of several pieces uses the last of the ids reserved for it. An event whose rendering fails is a bug: it is
 * logged once and skipped, because it would hold up everything after it for ever.
 */
export function piecesOf(stored: StoredEvent, view: EventView, log: Logger): readonly EventPiece[] {
  let entry = cache.get(stored);
  if (entry === undefined) {
    entry = { definition: definitionOf(stored.type, stored.op), renderings: new Map() };
    cache.set(stored, entry);
  }
  const { definition, renderings } = entry;
  if (definition === undefined) return NOTHING;
  const viewer = `${view.role} ${definition.viewerClass(stored.payload as never, view)}`;
  let byOptions = renderings.get(viewer);
  if (byOptions === undefined) {
    byOptions = new Map();
    renderings.set(viewer, byOptions);
  }
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
  }
  return pieces;
}

function toPieces(
  { id, type, width }: StoredEvent,
  events: readonly RenderedEvent[],
  facts: unknown,
): readonly EventPiece[] {
  if (events.length > width) throw new Error(`Event ${type} reserved ${width} ids only`);
  return events.map((event, i) => pieceOf(id - events.length + 1 + i, event, facts));
}

/** Lets go of what GraphQL operations made of an event: once it has been delivered live, few ask for it again. */
export function forgetResults(stored: StoredEvent): void {
  for (const byOptions of cache.get(stored)?.renderings.values() ?? []) {
    for (const pieces of byOptions.values()) for (const { results } of pieces) results.clear();
  }
}

/** A heartbeat: no row of the log, but with an id like every event. */
export function heartbeat(id: number): EventPiece {
  return pieceOf(id, { type: 'heartbeat' });
}

function pieceOf(id: number, event: RenderedEvent, facts?: unknown): EventPiece {
  return { id, event, facts, json: JSON.stringify({ id, ...event }), results: new Map() };
}

function isSeveral(rendered: RenderedEvent | readonly RenderedEvent[]): rendered is readonly RenderedEvent[] {
  return Array.isArray(rendered);
}
