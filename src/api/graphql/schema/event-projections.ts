import { toGlobalId } from './global-ids.ts';
import { loadNode } from './node.ts';
import { MAX_PAGE_SIZE } from './page-size.ts';

type Args = Readonly<Record<string, unknown>>;
type FieldFunction<V> = (value: V, args: Args) => unknown;

/** A field whose value is another object in the event, or a list of them, with the projection of these objects. */
interface Related<V> {
  readonly facts: EventProjection;
  readonly of: (value: V) => unknown;
}

/** The fields of an event projection, each with the function that computes it. */
export type ProjectedFields<V> = Readonly<Record<string, FieldFunction<V> | Related<V>>>;

interface Identity<V> {
  /**
   * Returns the part of the global id that follows the type name. Null if the objects have no id, because they are only parts
   * of other objects.
   */
  readonly idOf: ((value: V) => number | string) | null;
  /**
   * False if some recipients of the event may not see the object. It is then always read from the database, with the rights of
   * each reader.
   */
  readonly isSeen?: false;
}

/**
 * An event projection: the fields of an object that can be computed from the event alone. Every recipient of the event must be
 * allowed to see all of them. Values that depend on the viewer must be in the event as rendered for that viewer.
 *
 * If a document selects no other fields of the object, it is answered without the database, once for all recipients. Otherwise
 * the object is loaded from the database for each reader, with that reader's rights.
 */
// biome-ignore lint/suspicious/noExplicitAny: each projection receives only values of its own type.
export class EventProjection<V = any> {
  static readonly #all: EventProjection[] = [];
  /** Unique number of this projection. */
  readonly key = EventProjection.#all.push(this) - 1;
  readonly typename: string;
  readonly #fields: ReadonlyMap<string, FieldFunction<V> | Related<V>>;
  readonly #idOf: Identity<V>['idOf'];
  readonly #isSeen: boolean;

  constructor(typename: string, { idOf, isSeen }: Identity<V>, fields: ProjectedFields<V>) {
    this.typename = typename;
    this.#idOf = idOf;
    this.#isSeen = isSeen !== false;
    this.#fields = new Map(Object.entries(fields));
  }

  /** All event projections. */
  static get all(): readonly EventProjection[] {
    return EventProjection.#all;
  }

  /** Whether the projection contains the field. */
  has(field: string): boolean {
    if (!this.#isSeen) return false;
    return field === 'id' ? this.#idOf !== null : field === '__typename' || this.#fields.has(field);
  }

  /** Returns the projection of the objects that are the value of a field. Undefined if the value is a scalar. */
  behind(field: string): EventProjection | undefined {
    const known = this.#fields.get(field);
    return typeof known === 'object' ? known.facts : undefined;
  }

  /** Names of all fields in the projection, except `id`. */
  get known(): readonly string[] {
    return [...this.#fields.keys()];
  }

  globalIdOf(value: V): string {
    if (this.#idOf === null) throw new Error(`${this.typename} has no id`);
    return toGlobalId(this.typename, this.#idOf(value));
  }

  /**
   * Returns the value of a field, computed from the event.
   *
   * @throws Error if the projection does not contain the field. Callers must check `has` first.
   */
  answer(value: V, field: string, args: Args): unknown {
    if (field === 'id') return this.globalIdOf(value);
    const known = this.#fields.get(field);
    if (known === undefined) throw new Error(`The event projection does not contain ${this.typename}.${field}`);
    return typeof known === 'function' ? known(value, args) : knownAll(known.facts, known.of(value));
  }
}

/** An object in an event, with its projection. Resolvers of the schema for shared events receive it as their source. */
export class ProjectedEntity {
  readonly #facts: EventProjection;
  readonly #value: unknown;

  constructor(facts: EventProjection, value: unknown) {
    this.#facts = facts;
    this.#value = value;
  }

  answer(field: string, args: Args): unknown {
    return this.#facts.answer(this.#value, field, args);
  }
}

function knownAll(facts: EventProjection, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each) => knownAll(facts, each));
  return value === null || value === undefined ? null : new ProjectedEntity(facts, value);
}

/** Creates a projection that contains only the ids of an object. @param withNumber Whether the type has a `databaseId`. */
export function referenceProjection(typename: string, { withNumber = true } = {}): EventProjection<number> {
  const databaseId = (id: number) => id;
  return new EventProjection<number>(typename, { idOf: (id) => id }, withNumber ? { databaseId } : {});
}

/**
 * Converts projected fields of a part to fields of the value that contains the part.
 *
 * @param partOf Returns the part of a value.
 */
export function projectedWithin<V, P>(known: ProjectedFields<P>, partOf: (value: V) => P): ProjectedFields<V> {
  const within = (of: FieldFunction<P> | Related<P>): FieldFunction<V> | Related<V> =>
    typeof of === 'function'
      ? (value, args) => of(partOf(value), args)
      : { facts: of.facts, of: (value) => of.of(partOf(value)) };
  return Object.fromEntries(Object.entries(known).map(([field, of]) => [field, within(of)]));
}

/**
 * Returns a function that returns the projection of an object for a kind of change. For a kind that is not in `changes`, the
 * projection contains only the ids.
 */
export function changeProjections<V>(
  typename: string,
  idOf: (value: V) => number,
  changes: Readonly<Record<string, ProjectedFields<V>>>,
): (change: string) => EventProjection<V> {
  const make = (known: ProjectedFields<V>) =>
    new EventProjection<V>(typename, { idOf }, { databaseId: idOf, ...known });
  const byChange = new Map(Object.entries(changes).map(([change, known]) => [change, make(known)]));
  const nothingMore = make({});
  return (change) => byChange.get(change) ?? nothingMore;
}

/**
 * Returns a time in an event, with milliseconds if the event contains them.
 *
 * @param precise ISO 8601. Undefined in events that were logged before this field was added.
 * @param seconds UNIX time.
 */
export const instantOf = (precise: string | undefined, seconds: number): Date => new Date(precise ?? seconds * 1000);

/** Options of an event field that shows an entity: how its value is read from an event. */
export interface ProjectionOptions {
  /** Returns the projection for the entity in an event. */
  readonly projectionOf: (source: unknown) => EventProjection;
  /** Returns the projected entity of the event, or a list of them. Null if the event has none. */
  readonly known: (source: unknown) => unknown;
}

const FROM_EVENT = 'fromEvent';

/** Option for a field that shows a list of entities. */
interface Length {
  /**
   * Maximum length, which is the cost of the list. Default: the largest page size. A few events contain more entities, such as
   * the move of a topic, or the subscription of a whole organization.
   */
  readonly atMost?: number;
}

/** Returns the `projectedFromEvent` options of a field; undefined if it has none. */
export const projectionOptionsOf = (extensions: object | null | undefined): ProjectionOptions | undefined =>
  (extensions as { [FROM_EVENT]?: ProjectionOptions } | null | undefined)?.[FROM_EVENT];

/**
 * Returns the options of an event field that shows an entity, or a list of entities.
 *
 * If the projection covers the selection, the field is answered from the event. Otherwise the current entity is loaded for the
 * reader. It is null if it was deleted or the reader cannot see it.
 *
 * @param facts The event projection of the entity, or a function that returns it for an event.
 * @param of Returns the value in the event that is projected; null if there is none. Default: the `facts` of the event's
 *   definition, which are not part of the REST event.
 */
export function projectedFromEvent<Source, V>(
  facts: EventProjection<V> | ((source: Source) => EventProjection<V>),
  of: (source: Source) => V | readonly V[] | null = (source) => (source as { readonly facts: V }).facts,
  { atMost = MAX_PAGE_SIZE }: Length = {},
) {
  const projectionIn = facts instanceof EventProjection ? () => facts : facts;
  const projected: ProjectionOptions = {
    projectionOf: projectionIn as ProjectionOptions['projectionOf'],
    known: (source) => knownAll(projectionIn(source as Source), of(source as Source)),
  };
  return {
    extensions: { [FROM_EVENT]: projected },
    complexity: { field: 1, multiplier: atMost },
    resolve: (source: Source, _args: object, ctx: Parameters<typeof loadNode>[0]): never => {
      const facts = projectionIn(source);
      const load = (value: V) => loadNode(ctx, facts.globalIdOf(value));
      const value = of(source);
      if (value === null) return null as never;
      return (Array.isArray(value) ? value.map(load) : load(value as V)) as never;
    },
  };
}
