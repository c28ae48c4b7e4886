import { getIntrospectionQuery } from 'graphql';
import { describe, expect, test } from 'vitest';
import { createDocuments, DOCUMENT_LIMITS } from '../src/api/graphql/documents.ts';
import { buildSchema } from '../src/server/registries/schema.ts';

const documents = createDocuments(buildSchema());

/** What is wrong with a document as such; undefined when nothing is. */
const refusal = (source: string) => documents.check(source).errors?.[0]?.extensions;

function cost(source: string, operationName?: string, variables: Record<string, unknown> = {}): number {
  const { document, errors } = documents.check(source);
  if (document === undefined) throw new Error(errors[0]?.message);
  return documents.cost(document, operationName, variables).requested;
}

const times = (count: number, make: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => make(i)).join(' ');
const selecting = (selections: string) => `{ ${selections} }`;

/** A document that reaches just this far. */
const documentsAt: Record<Exclude<keyof typeof DOCUMENT_LIMITS, 'cost' | 'tokens'>, (size: number) => string> = {
  depth: (size) => `{ __type(name: "Query") { ${'ofType { '.repeat(size - 2)}name${' }'.repeat(size)}`,
  aliases: (size) => selecting(times(size, (i) => `a${i}: __typename`)),
  introspectionAliases: (size) => selecting(times(size, (i) => `a${i}: __schema { description }`)),
  directives: (size) => selecting(times(size, () => '... @include(if: true) { __typename }')),
  fragments: (size) =>
    `${selecting(times(size, (i) => `...f${i}`))} ${times(size, (i) => `fragment f${i} on Query { __typename }`)}`,
  repetitions: (size) => selecting(times(size, () => '__typename')),
};

describe('a document', () => {
  test.for(Object.keys(documentsAt) as (keyof typeof documentsAt)[])(
    'may reach the limit of %s, and not pass it',
    (limit) => {
      const max = DOCUMENT_LIMITS[limit];
      expect(refusal(documentsAt[limit](max))).toBeUndefined();
      expect(refusal(documentsAt[limit](max + 1))).toEqual({
        code: 'DOCUMENT_LIMIT_EXCEEDED',
        ...{ limit, max, actual: max + 1 },
      });
    },
  );

  test('may have so many tokens, and no more', () => {
    // A name each, in two braces.
    const names = (count: number) => `{${'x '.repeat(count - 2)}}`;
    expect(refusal(names(DOCUMENT_LIMITS.tokens))).toMatchObject({ limit: 'repetitions' });
    expect(refusal(names(DOCUMENT_LIMITS.tokens + 1))).toMatchObject({ limit: 'tokens' });
  });

  test.for([
    ['depth', `${'{ a '.repeat(1300)}${'}'.repeat(1300)}`],
    ['depth', `{ node(id: ${'['.repeat(1900)}${']'.repeat(1900)}) { id } }`],
    ['depth', `{ node(id: ${'['.repeat(21)}${']'.repeat(21)}) { id } }`],
    ['depth', `query ($id: ${'['.repeat(21)}ID${']'.repeat(21)}) { node(id: $id) { id } }`],
    ['depth', `{ node(id: ${'{ a: '.repeat(21)}1${'}'.repeat(21)}) { id } }`],
    ['aliases', documentsAt.aliases(1300)],
    ['repetitions', documentsAt.repetitions(3900)],
    ['repetitions', `{ viewer { ${'... on User { id '.repeat(600)}${'}'.repeat(600)} } }`],
    ['tokens', `{ ${'x '.repeat(500_000)} }`],
    ['introspectionAliases', documentsAt.introspectionAliases(20)],
  ] as const)('far beyond the limit of %s is refused, too', ([limit, source]) => {
    expect(refusal(source)).toMatchObject({ code: 'DOCUMENT_LIMIT_EXCEEDED', limit });
  });

  test('of a tool that reads the schema passes', () => {
    const everything = { schemaDescription: true, specifiedByUrl: true, directiveIsRepeatable: true, oneOf: true };
    expect(refusal(getIntrospectionQuery({ ...everything, inputValueDeprecation: true }))).toBeUndefined();
  });

  test('cannot read the schema in circles', () => {
    const circle = '{ __schema { types { fields { type { fields { type { fields { name } } } } } } } }';
    expect(refusal(circle)).toMatchObject({ code: 'GRAPHQL_VALIDATION_FAILED' });
  });

  test('with a fragment in itself is refused', () => {
    const source = '{ viewer { ...a } } fragment a on User { id ...b } fragment b on User { ...a }';
    expect(refusal(source)).toMatchObject({ code: 'GRAPHQL_VALIDATION_FAILED' });
  });

  test('that is none is refused', () => {
    expect(refusal('{')).toMatchObject({ code: 'GRAPHQL_PARSE_FAILED' });
    expect(refusal('')).toMatchObject({ code: 'GRAPHQL_PARSE_FAILED' });
  });
});

describe('the cost of an operation', () => {
  const page = (size: number | string) => `drafts(first: ${size}) { edges { node { id } } }`;

  test('is the rows of its pages times their fields', () => {
    // The page itself, and the edge, the node and the id of each row.
    expect(cost(selecting(page(100)))).toBe(301);
    expect(cost(`query ($size: Int) { ${page('$size')} }`, undefined, { size: 7 })).toBe(22);
    expect(cost('{ drafts { edges { node { id } } } }')).toBe(61);
  });

  test('may reach the limit, and not pass it', () => {
    const wide = (size: number) =>
      `drafts(first: ${size}) { edges { cursor node { id topic content type directTo } } }`;
    const rows = (count: number) =>
      `${times(Math.floor(count / 100), (i) => `w${i}: ${wide(100)}`)} x: ${wide(count % 100)}`;
    // Each row costs eight, each of the 25 pages one, and the rest is filled up with plain fields.
    const count = Math.floor((DOCUMENT_LIMITS.cost - 25) / 8);
    const filled = `${rows(count)} ${'__typename '.repeat(DOCUMENT_LIMITS.cost - 25 - count * 8)}`;
    expect(cost(selecting(filled))).toBe(DOCUMENT_LIMITS.cost);
    expect(() => cost(selecting(`${filled} __typename`))).toThrow(`cost ${DOCUMENT_LIMITS.cost + 1}`);
  });

  test.for([
    ['an operation called __schema', (rows: string) => `query __schema { ${rows} }`],
    ['an operation called IntrospectionQuery', (rows: string) => `query IntrospectionQuery { ${rows} }`],
    ['a fragment called __schema', (rows: string) => `{ ...__schema } fragment __schema on Query { ${rows} }`],
    ['a fragment spread twice', (rows: string) => `{ ...a ... on Query { ...a } } fragment a on Query { ${rows} }`],
  ] as const)('is not escaped by %s', ([, wrap]) => {
    const rows = times(45, (i) => `p${i}: drafts(first: 100) { edges { node { id topic content } } }`);
    expect(() => cost(wrap(rows))).toThrow('The document is too large: cost');
  });

  test('is that of the operation that runs, whatever stands before it', () => {
    const source = `query Cheap { __typename } query Dear { ...f } fragment f on Query { ${times(3, (i) => `p${i}: ${page(100)}`)} }`;
    expect(cost(source, 'Cheap')).toBe(1);
    expect(cost(source, 'Dear')).toBe(903);
  });

  test('of fragments that double each other is counted at once', () => {
    const doubling = (i: number) => `fragment f${i} on User { ...f${i + 1} ... on User { ...f${i + 1} } }`;
    const bomb = `{ viewer { ...f0 } } ${times(90, doubling)} fragment f90 on User { id }`;
    expect(() => cost(bomb)).toThrow('The document is too large: cost');
  });

  test.for([101, 99_999_999, -1])('refuses a page of %i, as a literal, a variable and a default', (size) => {
    const message = '"first" must be between 0 and 100';
    expect(() => cost(selecting(page(size)))).toThrow(message);
    expect(() => cost(`query ($size: Int) { ${page('$size')} }`, undefined, { size })).toThrow(message);
    expect(() => cost(`query ($size: Int = ${size}) { ${page('$size')} }`)).toThrow(message);
    expect(() => cost(selecting(`drafts(last: ${size}) { edges { cursor } }`))).toThrow('"last" must be between');
  });
});
