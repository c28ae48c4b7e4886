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
import { EntityFacts, fromEventOf } from '../../src/api/graphql/entity-facts.ts';
import { EventOperation } from '../../src/api/graphql/event-operation.ts';
import { eventTypeName } from '../../src/api/graphql/event-types.ts';
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

/** What was asked of facts since `watchFacts`, as they are named in failures. */
const answered = new Set<string>();

const nameOf = (facts: EntityFacts, field: string) => `${facts.typename} (facts ${facts.key}): ${field}`;

/** Takes note of each field that any event answers from here on. */
export function watchFacts(): void {
  const answer = EntityFacts.prototype.answer;
  vi.spyOn(EntityFacts.prototype, 'answer').mockImplementation(function (this: EntityFacts, value, field, args) {
    answered.add(nameOf(this, field));
    return answer.call(this, value, field, args);
  });
}

/** All that events are said to know, and nobody asked of them since `watchFacts`. */
export const notAsked = (except: readonly EntityFacts[]): string[] =>
  EntityFacts.all
    .filter((facts) => !except.includes(facts))
    .flatMap((facts) => facts.known.map((field) => nameOf(facts, field)))
    .filter((name) => !answered.has(name));

/** What events are said to know of fields that their types do not have. */
export const notThere = (): string[] =>
  EntityFacts.all.flatMap((facts) => {
    const fields = objectType(facts.typename).getFields();
    return facts.known.filter((field) => fields[field] === undefined).map((field) => nameOf(facts, field));
  });

const isEntity = (type: GraphQLObjectType) =>
  type.getInterfaces().some(({ name }) => name === 'Node') || type.extensions['pothosPrismaModel'] !== undefined;

/** Everything in an object that is no entity, however deep; of entities it leads to, their type alone. */
function selectAll(type: GraphQLObjectType): string {
  const fields = Object.values(type.getFields()).map((field) => {
    const of = getNamedType(field.type);
    if (isScalarType(of) || isEnumType(of)) return field.name;
    if (isUnionType(of)) return `${field.name} { __typename }`;
    return isObjectType(of) ? `${field.name} { ${isEntity(of) ? '__typename' : selectAll(of)} }` : '';
  });
  return fields.join(' ');
}

/** All that is known of an object. */
function selectKnown(facts: EntityFacts): string {
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

/** Something of an object that facts do not know and that needs no arguments; undefined where they know all of that. */
function unknownOf(facts: EntityFacts): string | undefined {
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

/** An event as one reader was shown it. */
export interface Shown {
  readonly type: string;
  readonly position: number;
  /** As the event itself answers it, with all that it knows. */
  readonly event: Json;
}

/** The entities that an event shows, by the names of its fields. */
function entitiesIn(piece: EventPiece): { readonly field: string; readonly facts: EntityFacts }[] {
  const type = objectType(eventTypeName(piece.event.type, piece.event.op) ?? '');
  return Object.values(type.getFields()).flatMap(({ name, extensions }) => {
    const told = fromEventOf(extensions);
    const facts = told?.factsIn(piece);
    // Of some the event does not know whether who hears of them sees them.
    return facts === undefined || !facts.has('__typename') ? [] : [{ field: name, facts }];
  });
}

/** What was decided of the events that somebody is sent: whether it is shared. */
async function deciding<T>(
  work: () => Promise<T>,
): Promise<{ result: T; decided: Map<number, [EventPiece, boolean]> }> {
  const decided = new Map<number, [EventPiece, boolean]>();
  const isShared = EventOperation.prototype.isShared;
  const spy = vi.spyOn(EventOperation.prototype, 'isShared').mockImplementation(function (this: EventOperation, piece) {
    const shared = isShared.call(this, piece);
    decided.set(piece.id, [piece, shared]);
    return shared;
  });
  try {
    return { result: await work(), decided };
  } finally {
    spy.mockRestore();
  }
}

/**
 * Does something, and checks for each of those who may hear of it that every event shows the same whichever way it takes:
 * answered from the event with all that it knows, read for them because a document asks for more, and as the entities
 * show themselves to them. For acts after which the entities are as the last event tells.
 *
 * @param register Of the queues.
 * @returns What each of them heard, in the order of the readers.
 */
export async function expectShownAlike(
  readers: readonly Person[],
  act: () => Promise<unknown>,
  register: Parameters = {},
): Promise<Shown[][]> {
  const options = { fetch_event_types: [], ...register };
  // Positions of a queue only rise, and each way reads them from the start.
  const queues = await Promise.all(
    readers.map(async (reader) => ({
      reader,
      ...{ plain: await reader.register(options), known: await reader.register(options) },
      read: await reader.register(options),
    })),
  );
  await act();
  const heard: Shown[][] = [];
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
        (field) => fromEventOf(field.extensions) === undefined,
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
      const select = (more: (facts: EntityFacts) => string) =>
        entities.map(({ field, facts }) => `${field} { ${selectKnown(facts)} ${more(facts)} }`).join(' ');
      const shared = await take(known.queue_id, `${values.join(' ')} ${select(() => '')}`);
      expect(shared.decided.get(id)?.[1], `${name} answers ${select(() => '')}`).toBe(true);
      const event = shared.result;
      expect(event.position).toBe(id);
      if (entities.some(({ facts }) => unknownOf(facts) !== undefined)) {
        const more = select((facts) => unknownOf(facts) ?? '');
        const apart = await take(read.queue_id, more);
        expect(apart.decided.get(id)?.[1], `${name} has to read ${more}`).toBe(false);
        for (const { field } of entities) {
          expect(apart.result[field], `${name}.${field} as it is read for ${reader.name}`).toEqual(
            loosely(event[field]),
          );
        }
      }
      for (const { field, facts } of entities) await expectAsThemselves(reader, event[field], { name, field, facts });
      shown.push({ type: name, position: id, event });
    }
    heard.push(shown);
  }
  return heard;
}

/** Does something, and checks that the event itself answers what is asked of it. @returns What the reader was shown. */
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

/** The same and maybe more, at every object. */
function loosely(value: Json): Json {
  if (Array.isArray(value)) return value.map(loosely);
  if (typeof value !== 'object' || value === null) return value;
  return expect.objectContaining(
    Object.fromEntries(Object.entries(value).map(([key, of]) => [key, loosely(of as Json)])),
  );
}

interface Place {
  readonly name: string;
  readonly field: string;
  readonly facts: EntityFacts;
}

async function expectAsThemselves(reader: Person, shown: Json, { name, field, facts }: Place): Promise<void> {
  const all: Json[] = [shown].flat().filter((one: Json) => one !== null);
  const { nodes } = await reader.query(
    `query ($ids: [ID!]!) { nodes(ids: $ids) { ... on ${facts.typename} { ${selectKnown(facts)} } } }`,
    { ids: all.map(({ id }) => id) },
  );
  expect(nodes, `${name}.${field} as it shows itself to ${reader.name}`).toEqual(all);
}

/** Logs an event with a payload as a version before this one made it, for these people. */
export function logAsBefore(
  { app }: Pick<InProcess, 'app'>,
  realmId: number,
  { type, op, ...payload }: Readonly<Record<string, unknown>> & { readonly type: string; readonly op?: string },
  people: readonly Person[],
): Promise<void> {
  const event = { type, op, payload, width: 1, ephemeral: false };
  return transact({ app, realmId }, async (_tx, emit) => emit(event, users(people.map(({ id }) => id))));
}
