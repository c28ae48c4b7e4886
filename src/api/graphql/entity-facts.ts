import { toGlobalId } from './global-ids.ts';
import { loadNode } from './node.ts';
import { MAX_PAGE_SIZE } from './page-size.ts';

type Args = Readonly<Record<string, unknown>>;
type Answer<V> = (value: V, args: Args) => unknown;

/** A field that shows another object, or several, of which something is known as well. */
interface Related<V> {
  readonly facts: EntityFacts;
  readonly of: (value: V) => unknown;
}

/** For each field that is known, how. */
export type KnownFields<V> = Readonly<Record<string, Answer<V> | Related<V>>>;

interface Identity<V> {
  /** What stands behind the type's name in the object's global id; null for a part of another object, which has none. */
  readonly idOf: ((value: V) => number | string) | null;
  /** False for an object that not everybody need see who hears of it: whether it is there at all is asked for each. */
  readonly isSeen?: false;
}

/**
 * What an event itself can say of an object: for each field that it knows, how it is worked out from the event alone. Who
 * may see the event may see all of it, whoever they are; what differs from viewer to viewer must be in the event already.
 *
 * Documents that ask for nothing else are answered without the database, once for all who hear the event. Where they ask
 * for more, the object itself is read, by what each reader may see.
 */
// biome-ignore lint/suspicious/noExplicitAny: a value is only ever given to the facts it was made for.
export class EntityFacts<V = any> {
  static readonly #all: EntityFacts[] = [];
  /** Tells these facts from all others. */
  readonly key = EntityFacts.#all.push(this) - 1;
  readonly typename: string;
  readonly #fields: ReadonlyMap<string, Answer<V> | Related<V>>;
  readonly #idOf: Identity<V>['idOf'];
  readonly #isSeen: boolean;

  constructor(typename: string, { idOf, isSeen }: Identity<V>, fields: KnownFields<V>) {
    this.typename = typename;
    this.#idOf = idOf;
    this.#isSeen = isSeen !== false;
    this.#fields = new Map(Object.entries(fields));
  }

  /** All that any event knows of anything. */
  static get all(): readonly EntityFacts[] {
    return EntityFacts.#all;
  }

  /** Whether the field is known. */
  has(field: string): boolean {
    if (!this.#isSeen) return false;
    return field === 'id' ? this.#idOf !== null : field === '__typename' || this.#fields.has(field);
  }

  /** What is known of the object, or of the objects, that a field shows; undefined for a field of another kind. */
  behind(field: string): EntityFacts | undefined {
    const known = this.#fields.get(field);
    return typeof known === 'object' ? known.facts : undefined;
  }

  /** The names of the fields that are known, but `id`. */
  get known(): readonly string[] {
    return [...this.#fields.keys()];
  }

  globalIdOf(value: V): string {
    if (this.#idOf === null) throw new Error(`${this.typename} has no id`);
    return toGlobalId(this.typename, this.#idOf(value));
  }

  /** @throws Error for a field that is not known: it must not have come to that. */
  answer(value: V, field: string, args: Args): unknown {
    if (field === 'id') return this.globalIdOf(value);
    const known = this.#fields.get(field);
    if (known === undefined) throw new Error(`An event does not know ${this.typename}.${field}`);
    return typeof known === 'function' ? known(value, args) : knownAll(known.facts, known.of(value));
  }
}

/** An object as an event knows it: what resolvers of the schema for events are given. */
export class KnownEntity {
  readonly #facts: EntityFacts;
  readonly #value: unknown;

  constructor(facts: EntityFacts, value: unknown) {
    this.#facts = facts;
    this.#value = value;
  }

  answer(field: string, args: Args): unknown {
    return this.#facts.answer(this.#value, field, args);
  }
}

function knownAll(facts: EntityFacts, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each) => knownAll(facts, each));
  return value === null || value === undefined ? null : new KnownEntity(facts, value);
}

/** Of an object whose id alone is known; `withNumber` where it has a `databaseId`. */
export function referenceFacts(typename: string, { withNumber = true } = {}): EntityFacts<number> {
  const databaseId = (id: number) => id;
  return new EntityFacts<number>(typename, { idOf: (id) => id }, withNumber ? { databaseId } : {});
}

/** What is known of a part of a value, as of the value. */
export function factsWithin<V, P>(known: KnownFields<P>, partOf: (value: V) => P): KnownFields<V> {
  const within = (of: Answer<P> | Related<P>): Answer<V> | Related<V> =>
    typeof of === 'function'
      ? (value, args) => of(partOf(value), args)
      : { facts: of.facts, of: (value) => of.of(partOf(value)) };
  return Object.fromEntries(Object.entries(known).map(([field, of]) => [field, within(of)]));
}

/** What an event knows of one object, by what kind of change it tells: a reference where nothing more is known. */
export function changeFacts<V>(
  typename: string,
  idOf: (value: V) => number,
  changes: Readonly<Record<string, KnownFields<V>>>,
): (change: string) => EntityFacts<V> {
  const make = (known: KnownFields<V>) => new EntityFacts<V>(typename, { idOf }, { databaseId: idOf, ...known });
  const byChange = new Map(Object.entries(changes).map(([change, known]) => [change, make(known)]));
  const nothingMore = make({});
  return (change) => byChange.get(change) ?? nothingMore;
}

/**
 * An instant in an event.
 *
 * @param precise ISO 8601; absent in events logged before they told it so. @param seconds UNIX.
 */
export const instantOf = (precise: string | undefined, seconds: number): Date => new Date(precise ?? seconds * 1000);

/** How a field of an event comes by its entity. */
export interface FromEvent {
  /** What this event knows of the entity. */
  readonly factsIn: (source: unknown) => EntityFacts;
  /** The entity as the event knows it, or the entities; null where there is none. */
  readonly known: (source: unknown) => unknown;
}

const FROM_EVENT = 'fromEvent';

/** How many entities a list in an event holds. */
interface Length {
  /**
   * Our choice where nothing bounds it: what the largest page holds. Longer are those of few events, where a topic is moved
   * or a whole organisation subscribed.
   */
  readonly atMost?: number;
}

/** What was said by `fromEvent` of a field. */
export const fromEventOf = (extensions: object | null | undefined): FromEvent | undefined =>
  (extensions as { [FROM_EVENT]?: FromEvent } | null | undefined)?.[FROM_EVENT];

/**
 * Options of a field of an event that shows an entity, or a list of them.
 *
 * It is answered from the event where that knows all that is asked for. Otherwise the entity is read for the reader, as it
 * is then: null where it is gone, or not for them to see.
 *
 * @param facts What the event knows of it: always the same, or as it depends on the event.
 * @param of What stands in the event for it, which `facts` are of; null where there is none. Default: what the event's
 *   definition says besides what REST is sent.
 * @param length Of a list, whose cost it is.
 */
export function fromEvent<Source, V>(
  facts: EntityFacts<V> | ((source: Source) => EntityFacts<V>),
  of: (source: Source) => V | readonly V[] | null = (source) => (source as { readonly facts: V }).facts,
  { atMost = MAX_PAGE_SIZE }: Length = {},
) {
  const factsIn = facts instanceof EntityFacts ? () => facts : facts;
  const told: FromEvent = {
    factsIn: factsIn as FromEvent['factsIn'],
    known: (source) => knownAll(factsIn(source as Source), of(source as Source)),
  };
  return {
    extensions: { [FROM_EVENT]: told },
    complexity: { field: 1, multiplier: atMost },
    resolve: (source: Source, _args: object, ctx: Parameters<typeof loadNode>[0]): never => {
      const facts = factsIn(source);
      const load = (value: V) => loadNode(ctx, facts.globalIdOf(value));
      const value = of(source);
      if (value === null) return null as never;
      return (Array.isArray(value) ? value.map(load) : load(value as V)) as never;
    },
  };
}
