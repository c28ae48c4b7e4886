import {
  type GraphQLObjectType,
  getIntrospectionQuery,
  getNamedType,
  getNullableType,
  isCompositeType,
  isListType,
} from 'graphql';
import { pino } from 'pino';
import { beforeAll, describe, expect, test } from 'vitest';
import { createDocuments, DOCUMENT_LIMITS } from '../../src/api/graphql/documents/documents.ts';
import { prepareSubscription } from '../../src/api/graphql/transports/subscriptions.ts';
import { buildSchema } from '../../src/server/registries/schema.ts';
import { documentOf } from '../helpers/documents.ts';
import { heldBytes } from '../helpers/heap.ts';
import type { Json } from '../helpers/http.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';

const schema = buildSchema();
const documents = createDocuments(schema);

/** Returns the extensions of the first error of a GraphQL document. Undefined if the document is valid. */
const refusal = (source: string) => documents.check(source).errors?.[0]?.extensions;

function cost(source: string, operationName?: string, variables: Record<string, unknown> = {}): number {
  const { document, errors } = documents.check(source);
  if (document === undefined) throw new Error(errors[0]?.message);
  return documents.cost(document, operationName, variables).requested;
}

const times = (count: number, make: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => make(i)).join(' ');
const selecting = (selections: string) => `{ ${selections} }`;

/** Functions that return a document whose size equals the given number, in the unit of a limit. Keyed by limit. */
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
    // A document counts one token for each name, and one for each of the two braces.
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
      events(queueId: $queueId) { ... on MessageSentEvent { message { channel { messages(before: $text) { totalCount } } } } } }`);
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
    // The cost is 12 objects: the viewer, a page of channels, five channels, and five creators.
    expect(cost('{ viewer { channels(first: 5) { edges { node { name creator { fullName } } } } } }')).toBe(12);
    // The cost is 22 objects: the message, the list of reactions, ten reactions, and ten users.
    expect(cost('{ message(by: { id: 7 }) { reactions { user { id } } } }')).toBe(22);
  });

  test('matches the README for a page of messages', () => {
    const node = 'id content sender { fullName } channel { name } reactions { emojiName user { fullName } }';
    expect(cost(`{ messages(first: 100) { edges { node { ${node} } } } }`)).toBe(2_401);
  });

  test('counts a list in an event like the largest page', () => {
    const hearing = (list: string) => `subscription { events(queueId: "q") { ${list} } }`;
    const messages = (more: string) => hearing(`... on MessageFlagsAddedEvent { messages { id ${more} } }`);
    expect(cost(messages('viewerHasRead'))).toBe(102);
    expect(cost(messages('sender { id } channel { id } topic { id } reactionGroups { count }'))).toBe(1_502);
    expect(cost(hearing('... on MessageUpdatedEvent { messages { id } }'))).toBe(102);
    expect(() => cost(messages('channel { topics(first: 100) { nodes { lastMessage { id } } } }'))).toThrow(
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

  test.for([
    [101, 101],
    [99_999_999, 101],
    [-1, 1],
  ] as const)('counts a page of %i by the nearest accepted size, however the size is given', ([size, expected]) => {
    expect(cost(selecting(page(size)))).toBe(expected);
    expect(cost(`query ($size: Int) { ${page('$size')} }`, undefined, { size })).toBe(expected);
    expect(cost(`query ($size: Int = ${size}) { ${page('$size')} }`)).toBe(expected);
    expect(cost(selecting(`drafts(last: ${size}) { edges { cursor } }`))).toBe(expected);
    expect(cost(selecting(`drafts(first: ${size}, last: ${size}) { edges { cursor } }`))).toBe(expected);
  });

  test('counts a page by the maximum of its list', () => {
    expect(cost('{ subscriptions(first: 1001) { nodes { channel { id } } } }')).toBe(2_001);
    expect(cost('{ messages(anchor: { place: NEWEST }, countBefore: 101, countAfter: -1) { nodes { id } } }')).toBe(
      102,
    );
  });

  test('counts a field whose argument is null by mistake as 1, and omits a selection whose condition is null', () => {
    const node =
      'query ($id: ID = "x") { node(id: $id) { id ... on Channel { messages(first: 100) { nodes { id } } } } }';
    expect(cost(node, undefined, { id: null })).toBe(1);
    const drafts = 'query ($more: Boolean = true) { drafts(first: 9) @include(if: $more) { nodes { id } } }';
    expect(cost(drafts, undefined, { more: null })).toBe(0);
  });
});

describe('an argument out of range is an error of its field only', () => {
  let member: Person;

  beforeAll(async () => {
    ({ member } = await createOrganization());
  });

  const lists = Object.values(schema.getQueryType()?.getFields() ?? {})
    .filter(({ type }) => getNamedType(type).name.endsWith('Connection'))
    .map(({ name }) => name);
  /**
   * For each executor, a selection that makes it execute the operation. Query plans do not support the interface of `node`, so
   * graphql-js executes that operation.
   */
  const neighbours = { 'a plan': 'viewer { id }', 'graphql-js': 'viewer { id } node(id: "x") { id }' };
  const cases = Object.entries(neighbours).flatMap(([executor, neighbour]) =>
    [
      ['first: 1001', 'first'],
      ['last: 1001', 'last'],
      ['first: -1', 'first'],
      ['first: 1, after: "nonsense"', 'after'],
      ['last: 1, before: "nonsense"', 'before'],
    ].map(([args, argument]) => [args, executor, neighbour, argument] as const),
  );

  test.for(cases)('in every list: %s, executed by %s', async ([args, , neighbour, argument]) => {
    const selected = lists.map((name) => `${name}(${args}) { pageInfo { hasNextPage } }`);
    const { data, errors = [] } = await member.graphql(selecting(`${neighbour} ${selected.join(' ')}`));
    expect(data?.viewer).toMatchObject({ id: expect.any(String) });
    expect(lists.filter((name) => data?.[name] !== null)).toEqual([]);
    expect(errors.map(({ path }: Json) => path.join()).toSorted()).toEqual(lists.toSorted());
    for (const { extensions } of errors) {
      expect(extensions).toMatchObject({ code: 'BAD_REQUEST', kind: 'INVALID', argument: [argument] });
    }
  });

  test('in nested lists, with the path of each of them', async () => {
    const { data, errors } = await member.graphql(
      '{ userGroups(first: 2) { nodes { name members(first: 101) { totalCount } subgroups { totalCount } } } }',
    );
    const group = { name: expect.any(String), members: null, subgroups: { totalCount: expect.any(Number) } };
    expect(data).toEqual({ userGroups: { nodes: [group, group] } });
    expect(errors).toMatchObject(
      [0, 1].map((i) => ({
        message: '"first" must be between 0 and 100',
        path: ['userGroups', 'nodes', i, 'members'],
        extensions: { code: 'BAD_REQUEST', kind: 'INVALID', argument: ['first'] },
      })),
    );
  });

  test.for([
    ['nodes', `nodes(ids: [${times(101, () => '"x"')}]) { id }`, ['ids']],
    ['suggestions', 'suggestions(text: "a", first: 21) { __typename }', ['first']],
    ['suggestions', `suggestions(text: "${'a'.repeat(101)}") { __typename }`, ['text']],
  ] as const)('of %s', async ([name, selection, argument]) => {
    const { data, errors } = await member.graphql(selecting(`viewer { id } ${selection}`));
    expect(data).toMatchObject({ viewer: { id: expect.any(String) }, [name]: null });
    expect(errors).toMatchObject([{ path: [name], extensions: { kind: 'INVALID', argument } }]);
  });
});

/** Fields of users, channels and messages that a front end shows in a list. `MESSAGE` is the selection of the web client. */
const PERSON = 'id fullName isBot avatarUrl presence { status activeAt } status { text emojiName isAway }';
const CHANNEL = 'id name privacy folder { id name } creator { id fullName } subscriberCount';
const MESSAGE = `id renderedContent sentAt lastEditedAt flags viewerCanEdit viewerCanDelete sender { ${PERSON} }
  channel { id name } topic { id name } participants { id fullName }
  reactionGroups { emojiName count viewerHasReacted users { id } }`;
const ROWS: Readonly<Record<string, string>> = {
  Channel: `${CHANNEL} ownSubscription { color unreadCount } topics(first: 5) { nodes { id name lastMessage { content } } }`,
  ChannelFolder: 'id name description order creator { id fullName }',
  ChannelSubscription: `id color isMuted unreadCount unreadMentionCount channel { ${CHANNEL}
    topics(first: 5) { nodes { id name unreadCount lastMessage { content } } } }`,
  CustomEmoji: 'id name imageUrl author { id fullName }',
  CustomProfileField: 'id name type choices { key text }',
  Draft: `id content topicName author { id } channel { id name } topic { id name } recipients { ${PERSON} }`,
  Message: MESSAGE,
  MutedTopic: 'channelName topicName mutedAt',
  OutdatedFields: 'typeName objectId fields',
  Reminder: `id content scheduledAt message { ${MESSAGE} }`,
  ScheduledMessage: `id content scheduledAt owner { id } channel { id name } topic { id name } recipients { ${PERSON} }`,
  User: `${PERSON} role profileData { value }`,
  UserGroup: `id name description creator { id fullName } members(first: 10) { nodes { ${PERSON} } }`,
};

describe('the cost of an event', () => {
  const eventTypes = schema.getPossibleTypes(schema.getType('Event') as never);
  /** Returns a selection for each list of objects in an event type: the fields in `ROWS` of the listed objects. */
  const listsOf = (type: GraphQLObjectType): readonly string[] =>
    Object.values(type.getFields()).flatMap((field) => {
      const named = getNamedType(field.type);
      if (!isListType(getNullableType(field.type)) || !isCompositeType(named)) return [];
      const row = ROWS[named.name];
      if (row === undefined) throw new Error(`ROWS lacks ${named.name}, which ${type.name}.${field.name} lists`);
      return [`${field.name} { ${row} }`];
    });
  const withLists = eventTypes
    .map((type) => [type.name, listsOf(type)] as const)
    .filter(([, lists]) => lists.length > 0);
  const subscription = (selections: string) => `subscription { events(queueId: "q") { ${selections} } }`;

  test('permits a usual row under every list of every event type', () => {
    expect(withLists.length).toBeGreaterThan(20);
    for (const [name, lists] of withLists) {
      expect([name, cost(subscription(`... on ${name} { ${lists.join(' ')} }`))]).toEqual([name, expect.any(Number)]);
    }
  });

  test('is that of the most expensive event type, whatever others the document selects', () => {
    const parts = withLists.map(([name, lists]) => `... on ${name} { ${lists[0]} }`);
    const costs = parts.map((part) => cost(subscription(part)));
    // In halves, because all parts together have more fragments of one response name than a document can have.
    for (const some of [parts.slice(0, 12), parts.slice(12)]) {
      const all = cost(subscription(some.join(' ')));
      expect(all).toBe(Math.max(...some.map((part) => costs[parts.indexOf(part)] ?? 0)));
    }
  });

  test('of changed flags is that of a page of messages, also in the payload of the mutation', () => {
    const messages = cost(selecting(`messages(first: 100) { nodes { ${MESSAGE} } }`));
    for (const name of ['MessageFlagsAddedEvent', 'MessageFlagsRemovedEvent']) {
      expect(cost(subscription(`... on ${name} { messages { ${MESSAGE} } }`))).toBe(messages + 1);
    }
    const payload = `... on UpdateMessageFlagsPayload { change { changedMessages { ${MESSAGE} } } }`;
    const input = '{ messageIds: [], operation: ADD, flag: READ }';
    expect(cost(`mutation { updateMessageFlags(input: ${input}) { ${payload} } }`)).toBeLessThan(messages + 5);
  });
});
