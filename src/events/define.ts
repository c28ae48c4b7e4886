import { Prisma } from '../generated/prisma/client.ts';
import type { AuditEntry } from './audit.ts';
import type { EventView, QueueOptions } from './view.ts';

/** An event as a client receives it, in the names and units of the wire format. Its id is added after rendering. */
export interface RenderedEvent {
  readonly type: string;
  readonly op?: string;
  readonly [field: string]: unknown;
}

/** An event that is not logged yet. */
export interface EventDraft {
  readonly type: string;
  readonly op: string | undefined;
  /** Data of the event, as JSON. Contains all data that any rendering needs: nothing is looked up at delivery. */
  readonly payload: object;
  /** Number of ids that the event takes: the maximum number of events as which it can be rendered. */
  readonly width: number;
  readonly ephemeral: boolean;
  /** Entries that the change adds to the audit log. They are not stored with the event. */
  readonly audit?: readonly AuditEntry[] | undefined;
}

/** Side effect of an event on each node that adds the event to a log tail. */
export type Effect =
  | UserEffect
  /**
   * Some payloads of events up to the id `through` have changed in the table, so existing copies of these events must not be
   * used.
   */
  | { readonly kind: 'erased'; readonly through: number };

/** Side effect of an event on the open streams of one user. */
export type UserEffect =
  | { readonly kind: 'subscribed' | 'unsubscribed'; readonly userId: number; readonly channelIds: readonly number[] }
  | { readonly kind: 'role'; readonly userId: number; readonly oldRole: number; readonly newRole: number }
  | { readonly kind: 'revoked'; readonly userId: number; readonly credentials: RevokedCredentials };

/**
 * Credentials that became invalid: the default API key of a user, the sessions with these ids, the named API keys with these ids,
 * or all credentials of the user.
 */
export type RevokedCredentials = 'all' | 'key' | readonly number[] | { readonly namedKeys: readonly number[] };

interface Definition {
  readonly type: string;
  readonly op: string | undefined;
  /** Renders the payload for `view`: as one event, as several (each gets an id), or null for none. */
  render(payload: never, view: EventView): RenderedEvent | readonly RenderedEvent[] | null;
  /**
   * Returns the data from which event projections (the fields that an event alone provides) are made: everything in the payload
   * that `view` can see, even if the options of the queue omit some of it. Undefined if the result of `render` already contains
   * all of it.
   */
  readonly facts: ((payload: never, view: EventView) => object) | undefined;
  /** Returns a key for the viewer. Viewers with equal roles, equal options and equal keys share one rendering of the event. */
  readonly viewerClass: (payload: never, view: EventView) => number | string;
  /**
   * Returns whether the event passes a queue's narrow (message filter). Undefined if narrows do not apply to this kind of
   * event.
   */
  readonly matches: ((payload: never, narrow: QueueOptions['narrow'], userId: number) => boolean) | undefined;
  /** Returns SQL conditions that hold for every event that `matches` accepts. Undefined if there are none. */
  readonly mayMatch: ((narrow: QueueOptions['narrow'], userId: number) => readonly Prisma.Sql[]) | undefined;
  readonly effect: ((payload: never) => Effect | readonly Effect[] | undefined) | undefined;
}

/** A function that creates an event of one kind. The event is logged only if a change emits it. */
export interface EventType<A extends unknown[]> {
  (...happened: A): EventDraft;
  readonly type: string;
  readonly op: string | undefined;
}

interface Rules<P, A extends unknown[] = never[]> {
  /**
   * Returns the entries of the audit log for the action that the event reports: one for each changed object. Called with the
   * arguments of the event, which can have values that the payload does not contain. Undefined if the event reports no
   * administrative action.
   */
  readonly audit?: ((...happened: A) => AuditEntry | readonly AuditEntry[] | undefined) | undefined;
  /** Renders the payload for `view`. Absent: the payload is sent unchanged. Must be a pure function of its two arguments. */
  readonly render?: (payload: P, view: EventView) => RenderedEvent | readonly RenderedEvent[] | null;
  /**
   * For events that contain entities: returns the data from which event projections (the fields that an event alone provides)
   * are made: everything in the payload that `view` can see. `render` omits the parts that the queue was not registered for.
   * Must be a pure function of its arguments. May read every field of `view` that `render` reads, except the options.
   */
  readonly facts?: (payload: P, view: EventView) => object;
  /**
   * Returns the maximum number of events that `render` can return for this payload. If this function is absent, the number is
   * 1.
   */
  readonly width?: (payload: P) => number;
  /**
   * Required if `render` reads other fields of `view` than role and options. True: the event is rendered for each user
   * separately. A function: returns a key; viewers with equal keys share one rendering. Absent: `render` reads only role and
   * options.
   */
  readonly perUser?: true | ((payload: P, view: EventView) => number | string);
  /** Returns whether the event passes a queue's narrow. Absent for types that narrows do not apply to. */
  readonly matches?: (payload: P, narrow: QueueOptions['narrow'], userId: number) => boolean;
  /**
   * Returns conditions on the column `payload` that hold for every event that `matches` accepts. The database skips all other
   * events, because no reader with this narrow receives them. `matches` checks the remaining events. If in doubt, return no
   * conditions.
   */
  readonly mayMatch?: (narrow: QueueOptions['narrow'], userId: number) => readonly Prisma.Sql[];
  /** Whether replay skips the event when it is older than 60 s, because it is then useless (for example typing). */
  readonly ephemeral?: boolean;
  /** Returns the side effects of the event. Required for events that change who receives later events. */
  readonly effect?: (payload: P) => Effect | readonly Effect[] | undefined;
}

const definitions = new Map<string, Definition>();
const nameOf = (type: string, op: string | null | undefined) => (op == null ? type : `${type}/${op}`);

/**
 * Defines a kind of event, once, in a feature's `events.ts`.
 *
 * @param type The value of the field `type` on the wire.
 * @param op The value of the field `op` on the wire. Undefined for types without operations.
 * @param build Returns the payload of an event as self-contained JSON. Fields that are equal for all viewers have the names and
 *   units of the wire format.
 * @throws Error if this kind of event is defined already.
 */
export function defineEvent<A extends unknown[], P extends object>(
  type: string,
  op: string | undefined,
  build: (...happened: A) => P,
  { audit, render, facts, width, perUser, matches, mayMatch, ephemeral = false, effect }: Rules<P, NoInfer<A>> = {},
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
    const entries = audit?.(...happened);
    return { type, op, payload, width: width?.(payload) ?? 1, ephemeral, ...(entries && { audit: [entries].flat() }) };
  };
  return Object.assign(make, { type, op });
}

/** Returns the `type` and `op` of every defined kind of event. */
export function definedEvents(): readonly { type: string; op: string | undefined }[] {
  return [...definitions.values()].map(({ type, op }) => ({ type, op }));
}

/** Returns the `type` and `op` of every kind of event with side effects, such as a change of the recipients of later events. */
export function eventsWithEffects(): readonly { type: string; op: string | undefined }[] {
  return [...definitions.values()].filter(({ effect }) => effect !== undefined).map(({ type, op }) => ({ type, op }));
}

/**
 * Returns the definition of a logged event. Undefined if this version does not define the kind of event, for example if a later
 * version wrote the event.
 */
export function definitionOf(type: string, op: string | null): Definition | undefined {
  return definitions.get(nameOf(type, op));
}

/**
 * Returns conditions on a row of the log that hold for every event that passes a queue's narrow. An event that meets the
 * conditions need not pass the narrow: `matches` decides.
 */
export function mayPass(narrow: QueueOptions['narrow'], userId: number): Prisma.Sql[] {
  if (narrow.length === 0) return [];
  return [...definitions.values()].flatMap(({ type, op, mayMatch }) => {
    const conditions = mayMatch?.(narrow, userId) ?? [];
    if (conditions.length === 0) return [];
    const isAnother = Prisma.sql`type <> ${type} OR op IS DISTINCT FROM ${op ?? null}::text`;
    return Prisma.sql`(${isAnother} OR (${Prisma.join([...conditions], ' AND ')}))`;
  });
}
