import {
  type ExecutionArgs,
  getIntrospectionQuery,
  getOperationAST,
  type OperationDefinitionNode,
  parse,
  validate,
} from 'graphql';
import { describe, expect, test } from 'vitest';
import { createDocuments } from '../../src/api/graphql/documents/documents.ts';
import {
  introspect,
  introspectionSize,
  MAX_INTROSPECTED_FIELDS,
} from '../../src/api/graphql/documents/introspection.ts';
import { executorOf } from '../../src/api/graphql/execution/executor.ts';
import { buildSchema } from '../../src/server/registries/schema.ts';

const schema = buildSchema();
const executeByPlan = executorOf({ queryPlans: true });

const all = getIntrospectionQuery({ specifiedByUrl: true, inputValueDeprecation: true, oneOf: true });

const DOCUMENTS: readonly (readonly [string, Record<string, unknown>?])[] = [
  [all],
  [getIntrospectionQuery({ schemaDescription: true, directiveIsRepeatable: true })],
  ['{ __schema { __typename queryType { name kind __typename } mutationType { name } types { n: name } } }'],
  ['{ __type(name: "User") { fields { name args { name defaultValue } type { ofType { name } } } } }'],
  ['{ __type(name: "Nothing") { name } }'],
  [
    'query ($n: String!) { __type(name: $n) { name ...f } } fragment f on __Type { enumValues(includeDeprecated: true) { name } }',
    { n: 'MessageFlag' },
  ],
  ['query ($d: Boolean!) { __schema { types { fields(includeDeprecated: $d) { name } } } }', { d: true }],
  ['query ($d: Boolean!) { __schema { types { name fields @include(if: $d) { name } } } __typename }', { d: false }],
  ['{ __schema { types { name } } ... { __schema { types { kind } directives { name locations } } } }'],
  ['{ a: __schema { types { name } } __typename b: __schema { types { kind } } }'],
  ['query ($n: String!) { __type(name: $n) { name } }', {}],
  ['query A { __typename } query B { __schema { description } }'],
];

const args = (source: string, variableValues: Record<string, unknown> = {}): ExecutionArgs => {
  const document = parse(source);
  expect(validate(schema, document)).toEqual([]);
  return { schema, document, variableValues, ...(source.includes('query B') && { operationName: 'A' }) };
};

const operationOf = (source: string) => getOperationAST(parse(source)) as OperationDefinitionNode;

test.for(DOCUMENTS)('introspection returns the same as the general executor: %s', async ([source, variables]) => {
  const expected = await executorOf({ queryPlans: false })(args(source, variables));
  expect(JSON.stringify(await executeByPlan(args(source, variables)))).toBe(JSON.stringify(expected));
});

test('other fields beside the schema are answered in their order', async () => {
  const rootValue = {};
  const source = '{ rateLimit { limit } a: __type(name: "User") { name } b: rateLimit { limit } }';
  const { data } = await executeByPlan({ ...args(source), rootValue, contextValue: {} });
  expect(JSON.stringify(data)).toBe('{"rateLimit":null,"a":{"name":"User"},"b":null}');
});

test('an equal introspection is answered from the cache, whatever its fragments and aliases', async () => {
  const once = async (source: string) => {
    const parts = await introspect(schema, parse(source), operationOf(source), {});
    return [...(parts?.values.values() ?? [])];
  };
  const [first] = await once('{ __schema { types { name kind } } }');
  const [again, aliased] = await once(
    '{ __schema { ...s } x: __schema { types { name kind } } } fragment s on __Schema { types { ... { name kind } } }',
  );
  expect(again).toBe(first);
  expect(aliased).toBe(first);
});

test('a long introspection yields to the event loop while it is answered', async () => {
  const source = `# another\n${all.replace('description', 'a: description')}`;
  let turns = 0;
  let isDone = false;
  const count = () => {
    if (isDone) return;
    turns++;
    setImmediate(count);
  };
  setImmediate(count);
  await introspect(schema, parse(source), operationOf(source), {});
  isDone = true;
  expect(turns).toBeGreaterThan(3);
});

describe('the size of an introspection', () => {
  const sizeOf = (source: string, variables: Record<string, unknown> = {}) =>
    introspectionSize(schema, parse(source), operationOf(source), variables);

  test.for([
    ['{ __typename }', 0],
    ['{ __schema { description } }', 1],
    ['{ __schema { types { name } } }', 1],
    ['{ a: __type(name: "A") { name } b: __type(name: "A") { name } c: __type(name: "B") { name } }', 3],
    ['{ __schema @skip(if: true) { description } }', 0],
  ] as const)('%s counts as %s requests', ([source, requests]) => {
    expect(sizeOf(source).requests).toBe(requests);
  });

  test('the whole schema counts as about thirty requests', () => {
    expect(sizeOf(all).requests).toBeGreaterThanOrEqual(22);
    expect(sizeOf(all).requests).toBeLessThanOrEqual(34);
  });

  test('is computed quickly for fragments that double each other', () => {
    const fragments = Array.from(
      { length: 90 },
      (_, i) => `fragment f${i} on __Type { ...f${i + 1} ... { ...f${i + 1} } }`,
    );
    const source = `{ __type(name: "User") { ...f0 } } ${fragments.join(' ')} fragment f90 on __Type { name }`;
    expect(sizeOf(source).fields).toBeGreaterThan(MAX_INTROSPECTED_FIELDS);
  });

  test('is limited', () => {
    const documents = createDocuments(schema);
    const six = Array.from({ length: 6 }, (_, i) => (i === 0 ? '__schema { ...S }' : `a${i}: __schema { ...S }`));
    const source = `{ ${six.join(' ')} } ${all.slice(all.indexOf('fragment '))} fragment S on __Schema ${all.slice(all.indexOf('{', all.indexOf('__schema')), all.lastIndexOf('}', all.indexOf('fragment ') - 1)).trim()}`;
    const { document, errors } = documents.check(source);
    expect(errors).toBeUndefined();
    expect(() => document && documents.cost(document, undefined, {})).toThrow('introspection result is too large');
  });
});
