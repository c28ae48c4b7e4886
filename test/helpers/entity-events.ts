import {
  type GraphQLObjectType,
  getNamedType,
  isEnumType,
  isObjectType,
  isRequiredArgument,
  isScalarType,
  isUnionType,
} from 'graphql';
import { expect, vi } from 'vitest';
import { EventOperation } from '../../src/api/graphql/execution/event-operation.ts';
import { EventProjection, projectionOptionsOf } from '../../src/api/graphql/schema/event-projections.ts';
import { eventTypeName } from '../../src/api/graphql/schema/event-types.ts';
import { users } from '../../src/events/audience.ts';
import { transact } from '../../src/events/log.ts';
import type { EventPiece } from '../../src/events/rendering.ts';
import { buildSchema } from '../../src/server/registries/schema.ts';
import type { Json } from './http.ts';
import type { InProcess } from './in-process.ts';
import type { Parameters, Person } from './person.ts';

const schema = buildSchema();

const objectType = (name: string): GraphQLObjectType => {
  const type = schema.getType(name);
  if (!isObjectType(type)) throw new Error(`There is no type ${name}`);
  return type;
};

/**
 * Fields answered from event projections (`EventProjection`) since `watchProjections` was called, by the names that failure
 * messages use.
 */
const answered = new Set<string>();

const nameOf = (facts: EventProjection, field: string) => `${facts.typename} (facts ${facts.key}): ${field}`;

/** Starts recording each field that is answered from an event projection. */
export function watchProjections(): void {
  const answer = EventProjection.prototype.answer;
  vi.spyOn(EventProjection.prototype, 'answer').mockImplementation(function (
    this: EventProjection,
    value,
    field,
    args,
  ) {
    answered.add(nameOf(this, field));
    return answer.call(this, value, field, args);
  });
}

/** Returns the fields of all event projections that were not read since `watchProjections` was called. */
export const notAsked = (except: readonly EventProjection[]): string[] =>
  EventProjection.all
    .filter((facts) => !except.includes(facts))
    .flatMap((facts) => facts.known.map((field) => nameOf(facts, field)))
    .filter((name) => !answered.has(name));

/** Returns the fields of event projections that do not exist in their GraphQL types. */
export const notThere = (): string[] =>
  EventProjection.all.flatMap((facts) => {
    const fields = objectType(facts.typename).getFields();
    return facts.known.filter((field) => fields[field] === undefined).map((field) => nameOf(facts, field));
  });

const isEntity = (type: GraphQLObjectType) =>
  type.getInterfaces().some(({ name }) => name === 'Node') || type.extensions['pothosPrismaModel'] !== undefined;

/** Returns a selection of all fields of an object, recursively. Entities are selected by type name only. */
function selectAll(type: GraphQLObjectType): string {
  const fields = Object.values(type.getFields()).map((field) => {
    const of = getNamedType(field.type);
    if (isScalarType(of) || isEnumType(of)) return field.name;
    if (isUnionType(of)) return `${field.name} { __typename }`;
    return isObjectType(of) ? `${field.name} { ${isEntity(of) ? '__typename' : selectAll(of)} }` : '';
  });
  return fields.join(' ');
}

/** Returns a selection of all fields in an event projection. */
function selectKnown(facts: EventProjection): string {
  const fields = objectType(facts.typename).getFields();
  const known = facts.known.map((name) => {
    const behind = facts.behind(name);
    if (behind !== undefined) return `${name} { ${selectKnown(behind)} }`;
    const field = fields[name];
    const of = field === undefined ? undefined : getNamedType(field.type);
    return isObjectType(of) ? `${name} { ${selectAll(of)} }` : name;
  });
  return ['__typename', ...(facts.has('id') && fields['id'] !== undefined ? ['id'] : []), ...known].join(' ');
}

/**
 * Returns a field that the event projection does not contain and that has no required arguments. Undefined if there is
 * none.
 */
function unknownOf(facts: EventProjection): string | undefined {
  const field = Object.values(objectType(facts.typename).getFields()).find(
    ({ name, args, type }) =>
      !facts.has(name) &&
      !args.some(isRequiredArgument) &&
      (name.startsWith('viewerCan') || isScalarType(getNamedType(type))),
  );
  if (field !== undefined) return field.name;
  const object = Object.values(objectType(facts.typename).getFields()).find(
    ({ name, args }) => !facts.has(name) && !args.some(isRequiredArgument),
  );
  return object === undefined ? undefined : `${object.name} { __typename }`;
}

/** An event as delivered to one reader. */
export interface Shown {
  readonly type: string;
  readonly position: number;
  /** The event with all fields that its projection declares, resolved from the stored event alone. */
  readonly event: Json;
}

/** Returns the entities of an event with their projections, by field name. */
function entitiesIn(piece: EventPiece): { readonly field: string; readonly facts: EventProjection }[] {
  const type = objectType(eventTypeName(piece.event.type, piece.event.op) ?? '');
  return Object.values(type.getFields()).flatMap(({ name, extensions }) => {
    const declared = projectionOptionsOf(extensions);
    const facts = declared?.projectionOf(piece);
    // A projection without `__typename` does not determine whether the recipient can see the entity.
    return facts === undefined || !facts.has('__typename') ? [] : [{ field: name, facts }];
  });
}

/**
 * Runs `work`. Records for each event that is delivered meanwhile whether its result was computed from event projections, without
 * executing the operation for the recipient, by event id.
 */
async function deciding<T>(
  work: () => Promise<T>,
): Promise<{ result: T; decided: Map<number, [EventPiece, boolean]> }> {
  const decided = new Map<number, [EventPiece, boolean]>();
  const { readyResultOf, ownResultOf } = EventOperation.prototype;
  const spies = [
    vi.spyOn(EventOperation.prototype, 'readyResultOf').mockImplementation(function (
      this: EventOperation,
      ...[piece, reader]
    ) {
      if (!decided.has(piece.id)) decided.set(piece.id, [piece, true]);
      return readyResultOf.call(this, piece, reader);
    }),
    vi.spyOn(EventOperation.prototype, 'ownResultOf').mockImplementation(function (
      this: EventOperation,
      ...[piece, ctx]
    ) {
      decided.set(piece.id, [piece, false]);
      return ownResultOf.call(this, piece, ctx);
    }),
  ];
  try {
    return { result: await work(), decided };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

/**
 * Makes a change and checks, for each reader, that every event shows the same entities in three ways. First, they are answered
 * from the event projection with all its fields. Second, they are loaded from the database, because the document selects more
 * fields. Third, they are queried as nodes. Only for changes after which the entities match the last event.
 *
 * @param register Options of the queues.
 * @returns The events of each reader, in the order of the readers.
 */
export async function expectShownAlike(
  readers: readonly Person[],
  act: () => Promise<unknown>,
  register: Parameters = {},
): Promise<Shown[][]> {
  const options = { fetch_event_types: [], ...register };
  // Each of the three ways has its own queue and reads it from the start, because the position of a queue can only increase.
  const queues = await Promise.all(
    readers.map(async (reader) => ({
      reader,
      ...{ plain: await reader.register(options), known: await reader.register(options) },
      read: await reader.register(options),
    })),
  );
  await act();
  const shownByReader: Shown[][] = [];
  for (const { reader, plain, known, read } of queues) {
    const count = (await reader.poll(plain.queue_id, plain.last_event_id, { dontBlock: true })).length;
    const { decided } = await deciding(async () => {
      await using stream = await reader.events('__typename', { queueId: plain.queue_id, after: plain.last_event_id });
      await stream.take(count);
    });
    const shown: Shown[] = [];
    for (const [id, [piece]] of decided) {
      const name = eventTypeName(piece.event.type, piece.event.op) ?? '';
      if (name === 'HeartbeatEvent') continue;
      const entities = entitiesIn(piece);
      const own = Object.values(objectType(name).getFields()).filter(
        (field) => projectionOptionsOf(field.extensions) === undefined,
      );
      const values = own.map((field) => {
        const of = getNamedType(field.type);
        return isObjectType(of) ? `own_${field.name}: ${field.name} { ${selectAll(of)} }` : field.name;
      });
      const take = (queueId: string, selection: string) =>
        deciding(async () => {
          await using stream = await reader.events(`position ... on ${name} { ${selection} }`, {
            queueId,
            after: id - 1,
          });
          return await stream.next();
        });
      const select = (more: (facts: EventProjection) => string) =>
        entities.map(({ field, facts }) => `${field} { ${selectKnown(facts)} ${more(facts)} }`).join(' ');
      const shared = await take(known.queue_id, `${values.join(' ')} ${select(() => '')}`);
      expect(shared.decided.get(id)?.[1], `${name} answers ${select(() => '')}`).toBe(true);
      const event = shared.result;
      expect(event.position).toBe(id);
      if (entities.some(({ facts }) => unknownOf(facts) !== undefined)) {
        const more = select((facts) => unknownOf(facts) ?? '');
        const apart = await take(read.queue_id, more);
        expect(apart.decided.get(id)?.[1], `${name} has to read ${more}`).toBe(false);
        for (const { field, facts } of entities) {
          // Objects without an id are parts of the event. Their entities are compared below.
          if (!facts.has('id')) continue;
          expect(apart.result[field], `${name}.${field} as it is read for ${reader.name}`).toEqual(
            loosely(event[field]),
          );
        }
      }
      for (const { field, facts } of entities) await expectAsThemselves(reader, event[field], { name, field, facts });
      shown.push({ type: name, position: id, event });
    }
    shownByReader.push(shown);
  }
  return shownByReader;
}

/**
 * Makes a change and checks that its event is answered from the event projection.
 *
 * @returns The event as delivered to the reader.
 */
export async function expectAnswered(
  reader: Person,
  selection: string,
  act: () => Promise<unknown>,
  register: Parameters,
): Promise<Json> {
  const { queue_id: queueId } = await reader.register({ fetch_event_types: [], ...register });
  await act();
  const { result, decided } = await deciding(async () => {
    await using stream = await reader.events(selection, { queueId });
    return await stream.next();
  });
  expect([...decided.values()].map(([, isShared]) => isShared)).toEqual([true]);
  return result;
}

/** Returns a matcher for objects that have at least the fields of `value`, at every level. */
function loosely(value: Json): Json {
  if (Array.isArray(value)) return value.map(loosely);
  if (typeof value !== 'object' || value === null) return value;
  return expect.objectContaining(
    Object.fromEntries(Object.entries(value).map(([key, of]) => [key, loosely(of as Json)])),
  );
}

interface EntityField {
  readonly name: string;
  readonly field: string;
  readonly facts: EventProjection;
}

async function expectAsThemselves(reader: Person, shown: Json, { name, field, facts }: EntityField): Promise<void> {
  const all: Json[] = [shown].flat().filter((one: Json) => one !== null);
  if (!facts.has('id')) return expectPartsAsThemselves(reader, all, { name, field, facts });
  expect(await asThemselves(reader, all, facts), `${name}.${field} as it shows itself to ${reader.name}`).toEqual(all);
}

/** Returns the entities with these ids, with all fields of the projection. Null for each that does not exist. */
async function asThemselves(reader: Person, all: readonly Json[], facts: EventProjection): Promise<Json[]> {
  const { nodes } = await reader.query(
    `query ($ids: [ID!]!) { nodes(ids: $ids) { ... on ${facts.typename} { ${selectKnown(facts)} } } }`,
    { ids: all.map(({ id }) => id) },
  );
  return nodes;
}

/** Compares the entities in objects without an id. Some do not exist any more, such as topics whose messages were deleted. */
async function expectPartsAsThemselves(
  reader: Person,
  all: readonly Json[],
  { name, facts }: EntityField,
): Promise<void> {
  for (const part of facts.known) {
    const behind = facts.behind(part);
    const shown: Json[] = all.flatMap((one) => one[part]);
    if (behind === undefined) continue;
    const nodes = await asThemselves(reader, shown, behind);
    const existing = shown.filter((_, i) => nodes[i] !== null);
    const found = nodes.filter((node) => node !== null);
    expect(found, `${name}.${part} as it shows itself to ${reader.name}`).toEqual(existing);
  }
}

/** Logs an event for these recipients, with the given payload, as a previous version of the service would. */
export function logAsBefore(
  { app }: Pick<InProcess, 'app'>,
  organizationId: number,
  { type, op, ...payload }: Readonly<Record<string, unknown>> & { readonly type: string; readonly op?: string },
  people: readonly Person[],
): Promise<void> {
  const event = { type, op, payload, width: 1, ephemeral: false };
  return transact({ work: app.work, organizationId }, async (_tx, emit) =>
    emit(event, users(people.map(({ id }) => id))),
  );
}
