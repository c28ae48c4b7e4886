import { getIntrospectionQuery } from 'graphql';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { createDocuments, DOCUMENT_LIMITS } from '../../src/api/graphql/documents/documents.ts';
import { prepareSubscription } from '../../src/api/graphql/transports/subscriptions.ts';
import { buildSchema } from '../../src/server/registries/schema.ts';
import { documentOf } from '../helpers/documents.ts';
import { heldBytes } from '../helpers/heap.ts';

const schema = buildSchema();
const documents = createDocuments(schema);

/** Returns the extensions of the first error of a document. Undefined if the document is valid. */
const refusal = (source: string) => documents.check(source).errors?.[0]?.extensions;

function cost(source: string, operationName?: string, variables: Record<string, unknown> = {}): number {
  const { document, errors } = documents.check(source);
  if (document === undefined) throw new Error(errors[0]?.message);
  return documents.cost(document, operationName, variables).requested;
}

const times = (count: number, make: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => make(i)).join(' ');
const selecting = (selections: string) => `{ ${selections} }`;

/** Functions that return a document of exactly the given size. Keyed by limit. */
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
    'can reach the limit of %s, and not exceed it',
    (limit) => {
      const max = DOCUMENT_LIMITS[limit];
      expect(refusal(documentsAt[limit](max))).toBeUndefined();
      expect(refusal(documentsAt[limit](max + 1))).toEqual({
        code: 'DOCUMENT_LIMIT_EXCEEDED',
        ...{ limit, max, actual: max + 1 },
      });
    },
  );

  test('can reach the limit of tokens, and not exceed it', () => {
    // Each name counts as one token, and so does each of the two braces.
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

  test('with the introspection query of a tool passes', () => {
    const everything = { schemaDescription: true, specifiedByUrl: true, directiveIsRepeatable: true, oneOf: true };
    expect(refusal(getIntrospectionQuery({ ...everything, inputValueDeprecation: true }))).toBeUndefined();
  });

  test('cannot read the schema recursively', () => {
    const circle = '{ __schema { types { fields { type { fields { type { fields { name } } } } } } } }';
    expect(refusal(circle)).toMatchObject({ code: 'GRAPHQL_VALIDATION_FAILED' });
  });

  test.for([
    'mutation { registerEventQueue(input: {}) { ... on RegisterEventQueuePayload { query { __schema { description } } } } }',
    'mutation { registerEventQueue(input: {}) { ... on RegisterEventQueuePayload { query { ...q } } } } fragment q on Query { ... { __type(name: "User") { name } } }',
    'query { __typename ...q } mutation { registerEventQueue(input: {}) { ... on RegisterEventQueuePayload { query { ...q } } } } fragment q on Query { __schema { description } }',
  ])('can select the schema only at the root of a query: %s', (source) => {
    expect(refusal(source)).toMatchObject({ code: 'GRAPHQL_VALIDATION_FAILED' });
  });

  test('with a fragment that contains itself is refused', () => {
    const source = '{ viewer { ...a } } fragment a on User { id ...b } fragment b on User { ...a }';
    expect(refusal(source)).toMatchObject({ code: 'GRAPHQL_VALIDATION_FAILED' });
  });

  test('that cannot be parsed is refused', () => {
    expect(refusal('{')).toMatchObject({ code: 'GRAPHQL_PARSE_FAILED' });
    expect(refusal('')).toMatchObject({ code: 'GRAPHQL_PARSE_FAILED' });
  });
});

/** A query for the first screen of a typical front end: users, channels with their topics, conversations and messages. */
const FIRST_SCREEN = `
  { __typename viewer { ...person __typename }
    subscriptions: viewer { channels(first: 100) { __typename edges { __typename node { __typename
      id databaseId name description creator { ...person __typename }
      topics(first: 20) { __typename edges { __typename node { __typename id name unreadCount } } } } } } }
    directConversations(first: 60) { __typename nodes { __typename id unreadCount participants { ...person __typename }
      lastMessage { ...message __typename } } }
    messages(last: 50) { __typename pageInfo { __typename hasPreviousPage startCursor } edges { __typename cursor node {
      ...message __typename channel { __typename id name }
      reactions { __typename emojiName emojiCode user { ...person __typename } } } } } }
  fragment person on User { __typename id fullName email role }
  fragment message on Message { __typename id databaseId topicName content renderedContent sentAt lastEditedAt flags sender { ...person __typename } }`;

describe('the document cache', () => {
  const MB = 1_000_000;

  test('has a bounded size in bytes, whatever the documents contain', async () => {
    const before = await heldBytes();
    for (let i = 0; i < 130; i++) {
      const ids = ',""'.repeat(DOCUMENT_LIMITS.tokens - 20);
      expect(documents.check(`{ nodes(ids: ["${i}"${ids}]) { id } }`).errors).toBeUndefined();
    }
    expect((await heldBytes()) - before).toBeLessThan(95 * MB);
  });

  test('returns a recently used document again', () => {
    const source = '{ viewer { fullName role } }';
    expect(documents.check(source).document).toBe(documents.check(source).document);
  });

  test('has a bounded size in bytes with the variables of subscriptions, too', async () => {
    const { document } = documents.check(`subscription ($queueId: String!, $text: String!) {
      events(queueId: $queueId) { ... on MessageSentEvent { message { channel { messages(topic: $text) { totalCount } } } } } }`);
    if (document === undefined) throw new Error('The document is refused');
    const log = pino({ level: 'silent' });
    const before = await heldBytes();
    for (let i = 0; i < 300; i++) {
      const variables = { queueId: 'q', text: `${i}${'x'.repeat(200_000)}` };
      expect(prepareSubscription(schema, document, { operationName: undefined, variables, log })).toHaveProperty(
        'operation',
      );
    }
    expect((await heldBytes()) - before).toBeLessThan(60 * MB);
  });
});

describe('the cost of an operation', () => {
  const page = (size: number | string) => `drafts(first: ${size}) { edges { node { id } } }`;

  test('is 1 for each object that it can return', () => {
    expect(cost(selecting(page(100)))).toBe(101);
    expect(cost(`query ($size: Int) { ${page('$size')} }`, undefined, { size: 7 })).toBe(8);
    expect(cost('{ drafts { edges { node { id } } } }')).toBe(21);
    // 12 objects: the viewer, a page of channels, five channels, and five creators.
    expect(cost('{ viewer { channels(first: 5) { edges { node { name creator { fullName } } } } } }')).toBe(12);
    // 22 objects: the message, the list of reactions, ten reactions, and ten users.
    expect(cost('{ message(messageId: 7) { reactions { user { id } } } }')).toBe(22);
  });

  test('matches the README for a page of messages', () => {
    const node = 'id content sender { fullName } channel { name } reactions { emojiName user { fullName } }';
    expect(cost(`{ messages(first: 100) { edges { node { ${node} } } } }`)).toBe(2_401);
  });

  test('counts lists in an event by the length of the event, or the largest page if that is unbounded', () => {
    const hearing = (list: string) => `subscription { events(queueId: "q") { ${list} } }`;
    const messages = (more: string) => hearing(`... on MessageFlagsAddedEvent { messages { id ${more} } }`);
    expect(cost(messages('viewerHasRead'))).toBe(502);
    expect(cost(messages('sender { id } channel { id } topic { id } reactionGroups { count }'))).toBe(7_502);
    expect(cost(hearing('... on MessageUpdatedEvent { messages { id } }'))).toBe(102);
    expect(() => cost(messages('channel { topics(first: 20) { nodes { lastMessage { id } } } }'))).toThrow(
      'The document is too large: cost',
    );
    expect(cost(hearing('... on MessageSentEvent { message { id sender { id } } }'))).toBe(3);
  });

  test('is 0 for type names, scalars and parts of a page', () => {
    const scalars = 'id databaseId topicName content type lastEditedAt __typename';
    const parts = 'pageInfo { hasNextPage hasPreviousPage startCursor endCursor __typename } __typename';
    expect(cost(`{ __typename drafts(first: 100) { edges { cursor __typename node { ${scalars} } } ${parts} } }`)).toBe(
      101,
    );
  });

  test('is 1 for each aliased scalar, which can repeat the same text', () => {
    expect(cost('{ drafts(first: 100) { edges { node { a: content b: content content } } } }')).toBe(301);
    expect(cost('{ a: __typename b: __typename }')).toBe(0);
  });

  test('is 0 for skipped selections', () => {
    const source = `query ($more: Boolean!) { drafts(first: 9) @include(if: $more) { edges { cursor } } ... @skip(if: $more) { viewer { id } } }`;
    expect([true, false].map((more) => cost(source, undefined, { more }))).toEqual([10, 1]);
  });

  test('can reach the limit, and not exceed it', () => {
    expect(cost(documentOf.cost(DOCUMENT_LIMITS.cost))).toBe(DOCUMENT_LIMITS.cost);
    expect(() => cost(documentOf.cost(DOCUMENT_LIMITS.cost + 1))).toThrow(`cost ${DOCUMENT_LIMITS.cost + 1}`);
  });

  test('lets the first screen of a chat pass with reserve, including type names that clients add', () => {
    expect(cost(FIRST_SCREEN)).toBeGreaterThan(1_000);
    expect(cost(FIRST_SCREEN)).toBeLessThan(DOCUMENT_LIMITS.cost / 2);
  });

  test('is the same within a registration as at the root, plus one for the registration', () => {
    const [screen = '', ...fragments] = FIRST_SCREEN.split(/(?=fragment )/);
    const payload = `... on RegisterEventQueuePayload { position query ${screen} }`;
    const source = `mutation { registerEventQueue(input: {}) { ${payload} ... on ServiceError { code } } } ${fragments.join('')}`;
    expect(cost(source)).toBe(cost(FIRST_SCREEN) + 1);
    const { document } = documents.check(source);
    expect(document && documents.cost(document, undefined, {}).charged).toBe(1);
  });

  test.for([
    ['a page of a page', '{ users(first: 100) { edges { node { channels(first: 100) { edges { node { id } } } } } } }'],
    [
      'a page of a page of a page',
      `{ channels(first: 100) { edges { node { subscribers(first: 100) { edges { node {
         channels(first: 100) { edges { node { id } } } } } } } } } }`,
    ],
    [
      'lists in lists of a page',
      '{ messages(first: 100) { edges { node { reactions { user { profileData { field { name } users { profileData { value } } } } } } } } }',
    ],
    [
      'long texts many times',
      `{ messages(first: 100) { edges { node { ...a ...b ...c } } } ${times(3, (f) => `x${f}: messages(first: 100) { edges { node { ...a } } }`)} }
      fragment a on Message { ${times(40, (i) => `a${i}: content`)} } fragment b on Message { id } fragment c on Message { id }`,
    ],
  ] as const)('refuses %s', ([, source]) => {
    expect(() => cost(source)).toThrow('The document is too large: cost');
  });

  test.for([
    ['an operation called __schema', (rows: string) => `query __schema { ${rows} }`],
    ['an operation called IntrospectionQuery', (rows: string) => `query IntrospectionQuery { ${rows} }`],
    ['a fragment called __schema', (rows: string) => `{ ...__schema } fragment __schema on Query { ${rows} }`],
    ['a fragment spread twice', (rows: string) => `{ ...a ... on Query { ...a } } fragment a on Query { ${rows} }`],
  ] as const)('is not avoided by %s', ([, wrap]) => {
    const rows = times(45, (i) => `p${i}: users(first: 100) { edges { node { botOwner { botOwner { id } } } } }`);
    expect(() => cost(wrap(rows))).toThrow('The document is too large: cost');
  });

  test('is that of the executed operation, whatever precedes it', () => {
    const source = `query Cheap { __typename } query Dear { ...f } fragment f on Query { ${times(3, (i) => `p${i}: ${page(100)}`)} }`;
    expect(cost(source, 'Cheap')).toBe(0);
    expect(cost(source, 'Dear')).toBe(303);
  });

  test('of fragments that double each other is counted quickly', () => {
    const doubling = (i: number) => `fragment f${i} on User { ...f${i + 1} ... on User { ...f${i + 1} } }`;
    const bomb = `{ viewer { ...f0 } } ${times(90, doubling)} fragment f90 on User { botOwner { id } }`;
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
