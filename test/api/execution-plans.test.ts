import {
  buildSchema,
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLError,
  type GraphQLFieldResolver,
  type GraphQLObjectType,
  type GraphQLSchema,
  isObjectType,
  type OperationDefinitionNode,
  parse,
  validate,
} from 'graphql';
import { describe, expect, test } from 'vitest';
import { executorOf } from '../../src/api/graphql/execution/executor.ts';
import { compilePlan, MAX_PLANNED } from '../../src/api/graphql/execution/plans/compile.ts';
import { keptPlans, MAX_KEPT_BYTES } from '../../src/api/graphql/execution/plans/queries.ts';
import { batchResolver } from '../../src/api/graphql/loading/batch-resolvers.ts';
import { heldBytes } from '../helpers/heap.ts';

const executeByPlan = executorOf({ queryPlans: true });
const executeGenerally = executorOf({ queryPlans: false });

const SDL = `
  enum Color { RED GREEN }
  type Query { one: Thing, sure: Thing!, many: [Thing!], some: [Thing], grid: [[Thing!]], words: [String!]!, color: Color, id: ID! }
  type Thing {
    id: ID!, name: String, title: String!, count(by: Int = 1): Int, color: Color!
    next: Thing, must: Thing!, all: [Thing!]!, few: [Thing]!, rows: [[Thing]!], tags: [String!], marks(of: Kind): [Int]!
    place: String!
  }
  input Kind { word: String!, deep: [Int!] }
`;

/** Returns a generator of pseudorandom integers from 0 to below `below`. The sequence depends only on the seed. */
function seeded(seed: number): (below: number) => number {
  let state = seed * 2654435761 + 1;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 0x9e3779b9) | 0;
    return ((state >>> 8) & 0xffff) % below;
  };
}

interface Thing {
  readonly seed: number;
}

/**
 * Returns the result of a resolver, or throws its error. The outcome depends only on the seed, so that both executors get equal
 * outcomes.
 */
function outcome(seed: number, make: () => unknown, trouble: number): unknown {
  const chance = seeded(seed);
  chance(7);
  const kind = chance(trouble);
  if (kind === 0) throw new Error(`thrown ${seed}`);
  if (kind === 1) return Promise.reject(new Error(`rejected ${seed}`));
  if (kind === 2) return null;
  if (kind === 3) return new Error(`returned ${seed}`);
  if (kind === 4) return new Promise((resolve) => setImmediate(() => resolve(make())));
  if (kind === 5) return seed % 3 === 0 ? undefined : make();
  return kind % 2 === 0 ? Promise.resolve(make()) : make();
}

const hash = (seed: number, text: string): number =>
  [...text].reduce((sum, char) => (Math.imul(sum, 31) + char.charCodeAt(0)) >>> 0, seed + 17) % 1_000_003;

/** Names of fields whose resolver is called once for all objects of a list. */
const READ_TOGETHER = new Set(['next', 'title', 'must', 'color']);

/**
 * Converts a resolver for one object to a function for a list of objects. It returns the results, with exceptions as errors.
 */
const settled =
  (resolve: GraphQLFieldResolver<Thing | undefined, unknown>) => (sources: readonly (Thing | undefined)[]) =>
    Promise.all(
      sources.map(async (source) => {
        try {
          return await resolve(source, {}, undefined, undefined as never);
        } catch (error) {
          return error as Error;
        }
      }),
    );

/**
 * Creates a schema whose resolvers sometimes fail.
 *
 * @param trouble On average, one in `trouble` resolvers fails in each of the possible ways.
 */
function makeSchema(trouble: number) {
  const schema = buildSchema(SDL);
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith('__')) continue;
    for (const field of Object.values(type.getFields())) {
      const made = String(field.type);
      const resolve: GraphQLFieldResolver<Thing | undefined, unknown> = (source, args, _context, info) => {
        const seed = hash(source?.seed ?? 0, `${type.name}.${field.name} ${JSON.stringify(args)}`);
        if (field.name === 'place') {
          const names: (string | number)[] = [];
          for (let at: typeof info.path | undefined = info.path; at !== undefined; at = at.prev) names.unshift(at.key);
          return names.join('/');
        }
        return outcome(seed, () => madeOf(made, seed, trouble), trouble);
      };
      // Like most resolvers of the service, these declare only the parameters that they use.
      const { name } = field;
      if (name === 'place') field.resolve = resolve;
      else if (READ_TOGETHER.has(name)) field.resolve = batchResolver(settled(resolve));
      else field.resolve = (source, args, context) => resolve(source, args, context, undefined as never);
    }
  }
  return schema;
}

function madeOf(type: string, seed: number, trouble: number): unknown {
  const inner = /^\[(.*)\]!?$/.exec(type)?.[1];
  if (inner !== undefined) {
    const items = Array.from({ length: seed % 4 }, (_, i) => {
      const each = hash(seed, `item ${i}`);
      const value = madeOf(inner, each, trouble);
      const chance = each % (trouble * 2);
      if (chance === 0) return null;
      if (chance === 1) return new Error(`item ${each}`);
      if (chance === 2) return Promise.resolve(value);
      if (chance === 3) return Promise.reject(new Error(`late item ${each}`));
      return value;
    });
    return seed % 5 === 0 ? new Set(items) : items;
  }
  const name = type.replace('!', '');
  if (name === 'Thing') return { seed };
  if (name === 'Int') return seed % 11 === 0 ? 'no number' : seed;
  if (name === 'Color') return seed % 7 === 0 ? 'BLUE' : 'RED';
  return `text ${seed}`;
}

/**
 * Returns a random document with aliases, arguments and fragments. Variables determine whether some of its selections are
 * skipped.
 */
function documentOf(seed: number): string {
  const chance = seeded(seed);
  const fields = (depth: number): string => {
    const count = 2 + chance(4);
    return Array.from({ length: count }, () => field(depth)).join(' ');
  };
  const when = () => ['', '', '', ' @include(if: $yes)', ' @skip(if: $yes)', ' @skip(if: $no)'][chance(6)];
  const LEAVES = [
    'id',
    'name',
    'title',
    'count',
    'b: count(by: $n)',
    'count2: count(by: 2)',
    'color',
    'tags',
    '__typename',
  ];
  const MORE = ['marks(of: { word: "a", deep: [1, $n] })', 'place', 'at: place'];
  const OBJECTS = ['next', 'must', 'all', 'few', 'rows', 'other: all', 'third: next'];
  const field = (depth: number): string => {
    const kind = chance(depth > 3 ? 5 : 9);
    if (kind < 4) return `${LEAVES[chance(LEAVES.length)]}${when()}`;
    if (kind === 4) return `${MORE[chance(MORE.length)]}${when()}`;
    if (kind === 5) return `... on Thing${when()} { ${fields(depth + 1)} }`;
    if (kind === 6) return `...Named${when()}`;
    return `${OBJECTS[chance(OBJECTS.length)]}${when()} { ${fields(depth + 1)} }`;
  };
  const ROOTS = ['one', 'sure', 'many', 'some', 'grid', 'again: many'];
  const roots = Array.from({ length: 1 + chance(3) }, () => `${ROOTS[chance(ROOTS.length)]} { ${fields(1)} }`);
  if (chance(3) === 0) roots.push('words', 'color');
  return `query Q($yes: Boolean!, $no: Boolean!, $n: Int!) { unused: id @skip(if: $yes) u2: id @skip(if: $no) w: words @include(if: $no)
    ${roots.join(' ')} ...Root }
    fragment Root on Query { one { ...Named count(by: $n) } }
    fragment Named on Thing { id label: name next { id title } }`;
}

const shown = ({ message, path, locations }: GraphQLError) => JSON.stringify({ message, path, locations });

/**
 * Returns whether a value that encloses the field of an error is null. It depends on timing whether errors below such a value
 * are reported.
 */
function isGone(data: unknown, path: GraphQLError['path'] = []): boolean {
  let at = data;
  for (const key of path.slice(0, -1)) {
    if (at === null || at === undefined) return true;
    at = (at as Record<string | number, unknown>)[key];
  }
  return at === null || at === undefined;
}

describe('plans', () => {
  test('are counted with about as many bytes as they take', async () => {
    // The first test, because the others fill the cache.
    const schema = makeSchema(200);
    // The texts differ, because a front end that writes ids into its documents fills the cache.
    const textOf = (i: number) =>
      `query Q${i} { one { id name ${Array.from({ length: 20 }, (_, j) => `a${j}: marks(of: {word: "${i} ${j}", deep: [${j}]}) n${j}: next { id title count(by: ${j}) }`).join(' ')} } }`;
    const [before, counted] = [await heldBytes(), keptPlans().bytes];
    for (let i = 0; i < 250; i++) await executeByPlan({ schema, document: parse(textOf(i)), contextValue: {} });
    const [grown, added] = [(await heldBytes()) - before, keptPlans().bytes - counted];
    expect(added).toBeGreaterThan(10_000_000);
    // Memory that earlier code has released can be collected meanwhile, so the lower bound is wide.
    expect(grown / added).toBeGreaterThan(0.5);
    expect(grown / added).toBeLessThan(1.4);
  });

  test.each([6, 40, 200])('give the same result as the general executor, with one failure in %i', async (trouble) => {
    const schema = makeSchema(trouble);
    const compared = { documents: 0, errors: 0, voids: 0 };
    for (let seed = 1; seed <= 200; seed++) {
      const document = parse(documentOf(seed));
      if (validate(schema, document).length > 0) continue;
      const args = { schema, document, variableValues: { yes: true, no: seed % 2 === 0, n: seed % 3 } };
      const general = await executeGenerally(args);
      const planned = await executeByPlan({ ...args, contextValue: {} });
      const around = `document ${seed}: ${documentOf(seed)}`;
      // Compares the results as text, so that the order of the keys is compared, too.
      expect(JSON.stringify(planned.data), around).toBe(JSON.stringify(general.data));
      const certain = (errors: readonly GraphQLError[] = []) =>
        errors
          .filter(({ path }) => !isGone(general.data, path))
          .map(shown)
          .sort();
      expect(certain(planned.errors), around).toEqual(certain(general.errors));
      expect((planned.errors ?? []).length > 0, around).toBe((general.errors ?? []).length > 0);
      compared.documents++;
      compared.errors += general.errors?.length ?? 0;
      if (general.data === null) compared.voids++;
    }
    expect(compared.documents).toBeGreaterThan(60);
    expect(compared.errors).toBeGreaterThan(20);
    if (trouble === 6) expect(compared.voids).toBeGreaterThan(5);
  });

  test('fail for each object if a batched read fails', async () => {
    const schema = buildSchema(SDL);
    const [query, thing] = [
      schema.getQueryType()?.getFields(),
      (schema.getType('Thing') as GraphQLObjectType).getFields(),
    ];
    if (query?.['many'] === undefined || thing['name'] === undefined) throw new Error('No such fields');
    query['many'].resolve = () => [
      { seed: 1, id: 1 },
      { seed: 2, id: 2 },
    ];
    thing['name'].resolve = batchResolver(() => Promise.reject(new Error('gone')));
    const args = { schema, document: parse('{ many { id name } }') };
    const planned = await executeByPlan({ ...args, contextValue: {} });
    expect(planned.errors?.map(shown)).toHaveLength(2);
    const { data, errors } = await executeGenerally(args);
    expect(JSON.stringify(planned)).toBe(JSON.stringify({ errors, data }));
  });

  test('report the same errors of variables as the general executor', async () => {
    const schema = makeSchema(200);
    const document = parse('query ($n: Int!) { one { count(by: $n) } }');
    const args = { schema, document, variableValues: { n: 'many' } };
    expect(JSON.stringify(await executeByPlan({ ...args, contextValue: {} }))).toBe(
      JSON.stringify(await executeGenerally(args)),
    );
  });

  test('report a null condition like the general executor, whatever its previous value', async () => {
    const schema = makeSchema(200);
    const document = parse('query ($yes: Boolean = true) { sure { id title @include(if: $yes) } }');
    for (const yes of [false, true, null]) {
      const args = { schema, document, variableValues: { yes } };
      expect(JSON.stringify(await executeByPlan({ ...args, contextValue: {} }))).toBe(
        JSON.stringify(await executeGenerally(args)),
      );
    }
  });

  /** Returns a short document that selects very many fields, because each fragment contains the next one twice. */
  function doubled(times: number) {
    const names = Array.from({ length: times }, (_, i) => `F${i}`);
    const fragments = names.map((name, i) => `fragment ${name} on Thing { id ${below(names[i + 1])} }`);
    return parse(`{ one { ${below(names[0])} } } ${fragments.join(' ')}`);
  }
  const below = (name: string | undefined) =>
    name === undefined ? 'title' : `next { ...${name} } third: next { ...${name} }`;

  const compiled = (document: DocumentNode, schema: GraphQLSchema) => {
    const [operation, ...fragments] = document.definitions;
    const byName = new Map((fragments as FragmentDefinitionNode[]).map((one) => [one.name.value, one]));
    return compilePlan(schema, byName, operation as OperationDefinitionNode, {});
  };

  test('are not compiled for more fields than are worth caching', () => {
    const schema = makeSchema(200);
    expect(compiled(doubled(8), schema)?.size).toBeGreaterThan(500);
    expect(compiled(doubled(8), schema)?.size).toBeLessThan(MAX_PLANNED);
    expect(compiled(doubled(14), schema)).toBeUndefined();
  });

  test('are evicted if there are many', async () => {
    const schema = makeSchema(200);
    let documents = 0;
    // A field of a plan takes more than 300 bytes.
    for (let size = 0; size <= MAX_KEPT_BYTES; documents++) {
      const document = doubled(8);
      size += 300 * (compiled(document, schema)?.size ?? 0);
      await executeByPlan({ schema, document, contextValue: {} });
    }
    expect(keptPlans().bytes).toBeLessThanOrEqual(MAX_KEPT_BYTES);
    expect(keptPlans().plans).toBeLessThan(documents);
  });

  test('are evicted if their documents are large, too', async () => {
    const schema = makeSchema(200);
    const before = await heldBytes();
    for (let i = 0; i < 200; i++) {
      const document = parse(`{ one { ${'id '.repeat(2_000)} } }`);
      expect(await executeByPlan({ schema, document, contextValue: {} })).toHaveProperty('data');
    }
    expect((await heldBytes()) - before).toBeLessThan(100_000_000);
  });

  test('retain nothing for unknown operations, whatever their names', async () => {
    const schema = makeSchema(200);
    const document = parse('query Known { one { id } }');
    const before = await heldBytes();
    for (let i = 0; i < 100; i++) {
      const operationName = `${i}${'x'.repeat(1_000_000)}`;
      const { errors } = await executeByPlan({ schema, document, operationName, contextValue: {} });
      expect(errors).toHaveLength(1);
    }
    expect((await heldBytes()) - before).toBeLessThan(20_000_000);
    expect(await executeByPlan({ schema, document, contextValue: {} })).toHaveProperty('data');
  });
});
