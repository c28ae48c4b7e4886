import { Prisma } from '../generated/prisma/client.ts';
import type { EventView, QueueOptions } from './view.ts';

/** What a client is sent of an event: wire names and units, without the id, which the transports add. */
export interface RenderedEvent {
  readonly type: string;
  readonly op?: string;
  readonly [field: string]: unknown;
}

/** An event on its way into the log. */
export interface EventDraft {
  readonly type: string;
  readonly op: string | undefined;
  /** JSON. All that any rendering needs: nothing is looked up when the event is delivered. */
  readonly payload: object;
  readonly width: number;
  readonly ephemeral: boolean;
}

/** What an event means for the streams that are open when it passes, besides being heard. */
export type Effect =
  | { readonly kind: 'subscribed' | 'unsubscribed'; readonly userId: number; readonly channelIds: readonly number[] }
  | { readonly kind: 'role'; readonly userId: number; readonly oldRole: number; readonly newRole: number }
  | { readonly kind: 'revoked'; readonly userId: number; readonly credentials: RevokedCredentials };

/** What a user may not sign in with any more: the key, the sessions of these numbers, or anything. */
export type RevokedCredentials = 'all' | 'key' | readonly number[];

interface Definition {
  readonly type: string;
  readonly op: string | undefined;
  /** The payload as `view` may see it, in one piece, in several (each gets an id), or null for nothing. */
  render(payload: never, view: EventView): RenderedEvent | readonly RenderedEvent[] | null;
  /** What `view` may know of the payload, whatever the queue was registered with; undefined where `render` says it all. */
  readonly facts: ((payload: never, view: EventView) => object) | undefined;
  /** What tells renderings for one role apart, besides the options. */
  readonly viewerClass: (payload: never, view: EventView) => number | string;
  /** Whether the event passes a queue's narrow; undefined where narrows do not apply. */
  readonly matches: ((payload: never, narrow: QueueOptions['narrow'], userId: number) => boolean) | undefined;
  /** What of it the database can tell; undefined where it can tell nothing. */
  readonly mayMatch: ((narrow: QueueOptions['narrow'], userId: number) => readonly Prisma.Sql[]) | undefined;
  readonly effect: ((payload: never) => Effect | readonly Effect[] | undefined) | undefined;
}

/** A kind of event: called with what happened, it makes the draft to emit. */
export interface EventType<A extends unknown[]> {
  (...happened: A): EventDraft;
  readonly type: string;
  readonly op: string | undefined;
}

interface Rules<P> {
  /** How `view` sees the payload; as it is, when absent. Must be a pure function of its two arguments. */
  readonly render?: (payload: P, view: EventView) => RenderedEvent | readonly RenderedEvent[] | null;
  /**
   * All that `view` may know of the payload, for events that carry entities: `render` leaves out what the queue was not
   * registered for. Must be a pure function of its arguments, of which it reads what `render` may, but for the options.
   */
  readonly facts?: (payload: P, view: EventView) => object;
  /** The most pieces `render` makes of this payload; 1 when absent. */
  readonly width?: (payload: P) => number;
  /**
   * What `render` reads of `view` besides role and options: true when each user has their own rendering, or the class of
   * viewers that see the same. Absent: nothing.
   */
  readonly perUser?: true | ((payload: P, view: EventView) => number | string);
  /** Whether the event passes a queue's narrow, for the types that narrows apply to. */
  readonly matches?: (payload: P, narrow: QueueOptions['narrow'], userId: number) => boolean;
  /**
   * Conditions over the column `payload` that hold for all that `matches` takes, so that the database passes over the rest: of
   * what they leave out nobody hears. `matches` judges what they let through. None where there is doubt.
   */
  readonly mayMatch?: (narrow: QueueOptions['narrow'], userId: number) => readonly Prisma.Sql[];
  /** True for what is of no use a minute later: skipped on replay after 60 s. */
  readonly ephemeral?: boolean;
  /** For events that change who hears what from their id on. */
  readonly effect?: (payload: P) => Effect | readonly Effect[] | undefined;
}

const definitions = new Map<string, Definition>();
const nameOf = (type: string, op: string | null | undefined) => (op == null ? type : `${type}/${op}`);

/**
 * Defines a kind of event, once, in a feature's `events.ts`.
 *
 * @param type As on the wire. @param op As on the wire, or undefined for types without operations.
 * @param build Makes the payload from what happened: JSON, self-contained, already in the wire's names and units as far
 *   as every viewer sees the same.
 */
export function defineEvent<A extends unknown[], P extends object>(
  type: string,
  op: string | undefined,
  build: (...happened: A) => P,
  { render, facts, width, perUser, matches, mayMatch, ephemeral = false, effect }: Rules<P> = {},
): EventType<A> {
  const name = nameOf(type, op);
  if (definitions.has(name)) throw new Error(`Event ${name} is defined twice`);
  const asIs = (payload: P): RenderedEvent => ({ type, ...(op !== undefined && { op }), ...payload });
  const viewerClass =
    typeof perUser === 'function' ? perUser : (_: P, { userId }: EventView) => (perUser === true ? userId : '');
  definitions.set(name, {
    ...{ type, op, render: render ?? asIs, facts, viewerClass, matches, mayMatch, effect },
  } as Definition);
  const make = (...happened: A): EventDraft => {
    const payload = build(...happened);
    return { type, op, payload, width: width?.(payload) ?? 1, ephemeral };
  };
  return Object.assign(make, { type, op });
}

/** Every kind of event defined, as `type` and `op`. */
export function definedEvents(): readonly { type: string; op: string | undefined }[] {
  return [...definitions.values()].map(({ type, op }) => ({ type, op }));
}

/** The definition of a logged event; undefined for an internal one, or one a later version wrote. */
export function definitionOf(type: string, op: string | null): Definition | undefined {
  return definitions.get(nameOf(type, op));
}

/** Conditions over a row of the log that hold for all that passes a queue's narrow. Only `matches` knows what passes. */
export function mayPass(narrow: QueueOptions['narrow'], userId: number): Prisma.Sql[] {
  if (narrow.length === 0) return [];
  return [...definitions.values()].flatMap(({ type, op, mayMatch }) => {
    const conditions = mayMatch?.(narrow, userId) ?? [];
    if (conditions.length === 0) return [];
    const isAnother = Prisma.sql`type <> ${type} OR op IS DISTINCT FROM ${op ?? null}::text`;
    return Prisma.sql`(${isAnother} OR (${Prisma.join([...conditions], ' AND ')}))`;
  });
}
