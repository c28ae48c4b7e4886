import { toGlobalId } from './global-ids.ts';
import { loadNode } from './node.ts';
import { MAX_PAGE_SIZE } from './page-size.ts';
import { ReaderField, type ReaderSource } from './reader-values.ts';

type Args = Readonly<Record<string, unknown>>;
type FieldFunction<V> = (value: V, args: Args) => unknown;

/**
 * An object in an event that is the value of a field of another object, or a list of such objects. `of` returns them from the
 * value that has the field.
 */
interface Related<V> {
  readonly projection: EventProjection;
  readonly of: (value: V) => unknown;
}

type ProjectedField<V> = FieldFunction<V> | Related<V> | ReaderField<V>;

/**
 * The fields of an event projection (the fields that an event alone provides) by name, each with the function, projection or
 * reader field that provides its value.
 */
export type ProjectedFields<V> = Readonly<Record<string, ProjectedField<V>>>;

interface Identity<V> {
  /**
   * Returns the part of the global id that follows the type name. Null if the objects have no id, because they are only parts
   * of other objects. If each recipient has an object with another id: a reader field of the whole global id.
   */
  readonly idOf: ((value: V) => number | string) | ReaderField<V> | null;
  /**
   * False if some recipients of the event cannot see the object. The object is then always read from the database, with the
   * rights of each recipient.
   */
  readonly isSeen?: false;
  /** Source of the reader's state, if the objects themselves, and not only their fields, depend on the reader. */
  readonly source?: ReaderSource<unknown>;
}

/**
 * Event projection: the fields of an object that an event alone provides. Every recipient of the event must be allowed to see
 * all these fields. Values that depend on the viewer must be in the event as rendered for that viewer, or be reader fields,
 * whose values are taken from the state of the reader when the event is sent.
 *
 * If a document selects only these fields of the object, its result is computed without the database, once for all recipients;
 * only the values of reader fields are filled in for each recipient. Otherwise the object is loaded from the database for each
 * recipient, with the rights of that user.
 */
// biome-ignore lint/suspicious/noExplicitAny: each projection receives only values of its own type.
export class EventProjection<V = any> {
  static readonly #all: EventProjection[] = [];
  /** A number that identifies this projection. */
  readonly key = EventProjection.#all.push(this) - 1;
  readonly typename: string;
  readonly #fields: ReadonlyMap<string, ProjectedField<V>>;
  readonly #idOf: Identity<V>['idOf'];
  readonly #isSeen: boolean;
  readonly #source: ReaderSource<unknown> | undefined;

  constructor(typename: string, { idOf, isSeen, source }: Identity<V>, fields: ProjectedFields<V>) {
    this.typename = typename;
    this.#idOf = idOf;
    this.#isSeen = isSeen !== false;
    this.#source = source;
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

  /** Returns the projection for the objects that a field contains. Undefined if the field is a scalar. */
  behind(field: string): EventProjection | undefined {
    const known = this.#fields.get(field);
    return typeof known === 'object' && !(known instanceof ReaderField) ? known.projection : undefined;
  }

  /** Returns the source of a field that differs between the recipients of an event. Undefined for other fields. */
  sourceOf(field: string): ReaderSource<unknown> | undefined {
    const known = field === 'id' ? this.#idOf : this.#fields.get(field);
    return known instanceof ReaderField ? known.source : this.#source;
  }

  /** Whether the value of the field is a slot that is filled in for each recipient of an event. */
  isReaderField(field: string): boolean {
    return (field === 'id' ? this.#idOf : this.#fields.get(field)) instanceof ReaderField;
  }

  /** Names of all fields in the projection, except `id`. */
  get known(): readonly string[] {
    return [...this.#fields.keys()];
  }

  globalIdOf(value: V): string {
    if (typeof this.#idOf !== 'function') throw new Error(`Objects of the type ${this.typename} have no common id`);
    return toGlobalId(this.typename, this.#idOf(value));
  }

  /**
   * Returns the value of a field, computed from the event. For a reader field: the slot of its value.
   *
   * @throws Error if the projection does not contain the field. Callers must check `has` first.
   */
  answer(value: V, field: string, args: Args): unknown {
    if (field === 'id') return this.#idOf instanceof ReaderField ? this.#idOf.slotFor(value) : this.globalIdOf(value);
    const known = this.#fields.get(field);
    if (known instanceof ReaderField) return known.slotFor(value);
    if (known === undefined) throw new Error(`The event projection does not contain ${this.typename}.${field}`);
    return typeof known === 'function' ? known(value, args) : knownAll(known.projection, known.of(value));
  }
}

/** An object in an event, with its projection. Resolvers in the schema of `eventSchemaOf` receive it as their source. */
export class ProjectedEntity {
  readonly #projection: EventProjection;
  readonly #value: unknown;

  constructor(projection: EventProjection, value: unknown) {
    this.#projection = projection;
    this.#value = value;
  }

  answer(field: string, args: Args): unknown {
    return this.#projection.answer(this.#value, field, args);
  }
}

function knownAll(projection: EventProjection | undefined, value: unknown): unknown {
  if (projection === undefined) return null;
  if (Array.isArray(value)) return value.map((each) => knownAll(projection, each));
  return value === null || value === undefined ? null : new ProjectedEntity(projection, value);
}

/**
 * Creates a projection that contains only the global id of an object, and its `databaseId`.
 *
 * @param options.withNumber Whether the type has a `databaseId`. Default: true.
 */
export function referenceProjection(typename: string, { withNumber = true } = {}): EventProjection<number> {
  const databaseId = (id: number) => id;
  return new EventProjection<number>(typename, { idOf: (id) => id }, withNumber ? { databaseId } : {});
}

/**
 * Converts the projected fields of an object to fields of a value that contains the object.
 *
 * @param partOf Returns the object in a value.
 */
export function projectedWithin<V, P>(known: ProjectedFields<P>, partOf: (value: V) => P): ProjectedFields<V> {
  const within = (of: ProjectedField<P>): ProjectedField<V> => {
    if (typeof of === 'function') return (value, args) => of(partOf(value), args);
    if (of instanceof ReaderField) return of.within(partOf);
    return { projection: of.projection, of: (value) => of.of(partOf(value)) };
  };
  return Object.fromEntries(Object.entries(known).map(([field, of]) => [field, within(of)]));
}

/**
 * Returns a function that maps a type of change to the projection of the changed object. If the type is not in `changes`, the
 * projection contains only the ids of the object.
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
 * @param seconds UNIX time in seconds. Used if `precise` is undefined.
 */
export const instantOf = (precise: string | undefined, seconds: number): Date => new Date(precise ?? seconds * 1000);

/** Functions that read the value of an event field from an event. The value is an entity or a list of entities. */
export interface ProjectionOptions {
  /** Returns the projection for the entity in an event. Undefined if the event has no entity, whatever a document selects. */
  readonly projectionOf: (source: unknown) => EventProjection | undefined;
  /** Returns the projected entity of the event, or a list of them. Null if the event has none. */
  readonly known: (source: unknown) => unknown;
}

const FROM_EVENT = 'fromEvent';

/** Option of an event field that shows a list of entities: the length that its cost assumes. */
interface ListOptions {
  /**
   * Number of entities that the cost of the field assumes: the maximum length of the list in most events. Default:
   * `MAX_PAGE_SIZE`. A few events contain more entities, such as the move of a topic, or the subscription of a whole
   * organization. They are sent in full at the same cost.
   */
  readonly atMost?: number;
}

/** Returns the `projectedFromEvent` options of a field; undefined if it has none. */
export const projectionOptionsOf = (extensions: object | null | undefined): ProjectionOptions | undefined =>
  (extensions as { [FROM_EVENT]?: ProjectionOptions } | null | undefined)?.[FROM_EVENT];

/**
 * Returns the options of an event field that shows an entity, or a list of entities.
 *
 * If the projection contains all selected fields, the field is answered from the event. Otherwise the current entity is loaded
 * for each recipient. The field is null if the entity was deleted or the recipient cannot see it.
 *
 * @param projection The event projection of the entity, or a function that returns it for an event. Undefined for an event
 *    without the entity.
 * @param of Returns the value in the event from which the entity is projected; null if there is none. Default: `facts`, the
 *    data that the event's definition adds for GraphQL. REST clients do not receive it.
 */
export function projectedFromEvent<Source, V>(
  projection: EventProjection<V> | ((source: Source) => EventProjection<V> | undefined),
  of: (source: Source) => V | readonly V[] | null = (source) => (source as { readonly facts: V }).facts,
  { atMost = MAX_PAGE_SIZE }: ListOptions = {},
) {
  const projectionIn = projection instanceof EventProjection ? () => projection : projection;
  const projected: ProjectionOptions = {
    projectionOf: projectionIn as ProjectionOptions['projectionOf'],
    known: (source) => knownAll(projectionIn(source as Source), of(source as Source)),
  };
  return {
    extensions: { [FROM_EVENT]: projected },
    complexity: { field: 1, multiplier: atMost },
    resolve: (source: Source, _args: object, ctx: Parameters<typeof loadNode>[0]): never => {
      const shown = projectionIn(source);
      const value = shown === undefined ? null : of(source);
      if (shown === undefined || value === null) return null as never;
      const load = (one: V) => loadNode(ctx, shown.globalIdOf(one));
      return (Array.isArray(value) ? value.map(load) : load(value as V)) as never;
    },
  };
}
