import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { buildClientSchema, getIntrospectionQuery, lexicographicSortSchema, printSchema } from 'graphql';
import { serverAudits } from 'graphql-http';
import { describe, expect, test } from 'vitest';
import { DOCUMENT_LIMITS } from '../../src/api/graphql/documents/documents.ts';
import { documentOf, type Limit, nested } from '../helpers/documents.ts';
import { globalId } from '../helpers/global-ids.ts';
import { type Json, type Sent, send } from '../helpers/http.ts';
import { basic, type Visitor } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const SPEC_FORM = { accept: 'application/graphql-response+json' };

interface HttpReply {
  readonly status: number;
  readonly headers: Sent['headers'];
  readonly body: Json;
}

/** Sends one request to /graphql, with exactly these headers and this body. */
async function ask(visitor: Visitor, sent: Partial<Sent>): Promise<HttpReply> {
  const { method = 'POST', path = '/graphql', body } = sent;
  const headers = { ...visitor.headers, ...sent.headers };
  const reply = await send(visitor.url, { method, path, headers, body });
  return {
    status: reply.status,
    headers: reply.headers as Sent['headers'],
    body: reply.text.startsWith('{') ? JSON.parse(reply.text) : reply.text,
  };
}

const post = (visitor: Visitor, operation: object, headers: Sent['headers'] = SPEC_FORM) =>
  ask(visitor, { headers: { ...JSON_TYPE, ...headers }, body: JSON.stringify(operation) });
const get = (visitor: Visitor, fields: Record<string, string>, headers: Sent['headers'] = SPEC_FORM) =>
  ask(visitor, { method: 'GET', path: `/graphql?${new URLSearchParams(fields)}`, headers });

const CREATE = 'mutation { createSavedSnippet(input: { title: "t", content: "c" }) { __typename } }';
const snippetsOf = async (visitor: Visitor) => (await visitor.ok('GET', '/saved_snippets')).saved_snippets;

test.concurrent('passes every audit of GraphQL over HTTP', async () => {
  const { member } = await createOrganization();
  const fetchFn = async (url: string, { method = 'GET', headers = {}, body }: Partial<Sent> = {}) => {
    const { pathname, search } = new URL(url);
    const path = pathname + search;
    const reply = await send(member.url, { method, path, headers: { ...member.headers, ...headers }, body });
    return new Response(reply.text, { status: reply.status, headers: reply.headers as Record<string, string> });
  };
  const audits = serverAudits({ url: `${member.url}/graphql`, fetchFn });
  const results = await Promise.all(audits.map((audit) => audit.fn()));
  expect(results.filter(({ status }) => status !== 'ok')).toEqual([]);
  expect(results.length).toBeGreaterThanOrEqual(60);
});

test.concurrent.for([
  ['a type that is not supported', { accept: 'image/png' }],
  ['a type with the weight 0', { accept: 'application/json;q=0' }],
  ['several parts, with a key', { accept: 'multipart/mixed', 'idempotency-key': 'refused' }],
] as const)('does not execute a mutation whose Accept header names %s', async ([, headers]) => {
  const { member } = await createOrganization();
  const sent = { headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify({ query: CREATE }) };
  const { status, body } = await ask(member, sent);
  expect(status).toBe(406);
  expect(body.errors[0].message).toBeTypeOf('string');
  expect(await snippetsOf(member)).toEqual([]);
});

describe('a request that any page can make a browser send', () => {
  test.concurrent.for<[string, Partial<Sent>]>([
    ['a mutation by GET', { method: 'GET', path: `/graphql?${new URLSearchParams({ query: CREATE })}` }],
    [
      'a mutation by GET that asks for an event stream',
      {
        method: 'GET',
        path: `/graphql?${new URLSearchParams({ query: CREATE })}`,
        headers: { accept: 'text/event-stream' },
      },
    ],
    ['a form', form('application/x-www-form-urlencoded', `query=${encodeURIComponent(CREATE)}`)],
    ['plain text', form('text/plain', JSON.stringify({ query: CREATE }))],
    ['plain text with the name of JSON in it', form('text/plain; application/json', JSON.stringify({ query: CREATE }))],
    ['no type at all', { body: JSON.stringify({ query: CREATE }) }],
    ['a bare document', form('application/graphql', CREATE)],
    [
      'an upload',
      form(
        'multipart/form-data; boundary=x',
        `--x\r\nContent-Disposition: form-data; name="operations"\r\n\r\n${JSON.stringify({ query: CREATE })}\r\n--x--\r\n`,
      ),
    ],
    [
      'plain text that asks for an event stream',
      {
        ...form('text/plain', JSON.stringify({ query: CREATE })),
        headers: { 'content-type': 'text/plain', accept: 'text/event-stream' },
      },
    ],
  ])('is refused: %s', async ([, sent]) => {
    const { member } = await createOrganization();
    const { status, body } = await ask(member, sent);
    expect([400, 405, 415]).toContain(status);
    expect(body.errors[0].message).toBeTypeOf('string');
    expect(await snippetsOf(member)).toEqual([]);
  });

  test.concurrent('gets no CORS permission to read the reply', async () => {
    const { member } = await createOrganization();
    const origin = { origin: 'https://elsewhere.example' };
    const preflight = await ask(member, {
      method: 'OPTIONS',
      headers: { ...origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' },
    });
    const actual = await post(member, { query: '{ __typename }' }, origin);
    for (const { headers } of [preflight, actual]) {
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control-'))).toEqual([]);
    }
    expect(actual.body.data).toEqual({ __typename: 'Query' });
  });
});

function form(type: string, body: string): Partial<Sent> {
  return { headers: { 'content-type': type }, body };
}

test.concurrent('accepts one operation in a request: no batches', async () => {
  const { member } = await createOrganization();
  const batch = JSON.stringify([{ query: CREATE }, { query: CREATE }]);
  const { status, body } = await ask(member, { headers: JSON_TYPE, body: batch });
  expect(status).toBe(400);
  expect(body.errors).toHaveLength(1);
  expect(await snippetsOf(member)).toEqual([]);
});

describe('has the same reply by POST and by GET:', () => {
  test.concurrent.for<[string, Readonly<Record<string, unknown>>]>([
    ['a query', { query: '{ viewer { fullName role } }', extensions: {} }],
    ['variables', { query: 'query ($n: Int!) { users(first: $n) { nodes { role } } }', variables: { n: 2 } }],
    ['characters of several bytes', { query: '{ viewer { fullName } } # \u0000 ß 👋' }],
    ['variables that do not fit', { query: 'query ($n: Int!) { users(first: $n) { totalCount } }', variables: {} }],
    ['variables that are a list', { query: '{ __typename }', variables: [] }],
    ['one field that is refused', { query: '{ viewer { role } userGroups { totalCount } }' }],
    ['a broken document', { query: '{' }],
    ['a field there is not', { query: '{ nothing }' }],
    ['no document', {}],
    ['a document nobody knows', { documentId: `sha256:${'0'.repeat(64)}` }],
    ['an operation there is not', { query: 'query A { __typename }', operationName: 'B' }],
    ['one of two operations, unnamed', { query: 'query A { __typename } query B { __typename }' }],
    ['a subscription', { query: 'subscription { events(queueId: "x") { position } }' }],
    ['too large a document', { query: documentOf.tokens(DOCUMENT_LIMITS.tokens + 1) }],
    ['too dear a document', { query: documentOf.cost(DOCUMENT_LIMITS.cost + 1) }],
  ])('%s', async ([, operation]) => {
    const { guest } = await createOrganization();
    const fields = Object.entries(operation).map(([name, value]): [string, string] => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]);
    for (const accept of ['application/json', 'application/graphql-response+json']) {
      const headers = { accept, 'accept-encoding': 'gzip' };
      const [posted, got] = await Promise.all([
        post(guest, operation, headers),
        get(guest, Object.fromEntries(fields), headers),
      ]);
      expect(posted.body).toEqual(got.body);
      expect(posted.status).toBe(got.status);
      for (const name of ['content-type', 'content-length', 'transfer-encoding', 'connection']) {
        expect(posted.headers[name], name).toBe(got.headers[name]);
      }
    }
  });
});

test.concurrent('makes a change once, even if a part of its reply is refused', async () => {
  const { member, owner } = await createOrganization();
  const to = globalId('User', owner.id);
  const query = `mutation { sendMessage(input: { to: { direct: ["${to}"] }, content: "once" }) {
    ... on SendMessagePayload { sentMessage { content readReceipts(first: 1, after: "nonsense") { totalCount } } } } }`;
  const sent = await post(member, { query });
  const next = await post(member, { query: '{ messages(last: 10) { nodes { content } } }' });
  expect(sent.status).toBe(200);
  expect(sent.body.data.sendMessage.sentMessage).toMatchObject({ content: 'once' });
  expect(sent.body.errors).toMatchObject([{ path: ['sendMessage', 'sentMessage', 'readReceipts'] }]);
  expect(next.body.data.messages.nodes).toEqual([{ content: 'once' }]);
});

test.concurrent('serves one path only, and makes no changes at others', async () => {
  const { member } = await createOrganization();
  const at = (path: string, sent: Partial<Sent>) => ask(member, { ...sent, path });
  const body = JSON.stringify({ query: CREATE });
  const below = await Promise.all([
    at('/graphql/below', { headers: JSON_TYPE, body }),
    at('/graphql/below', { headers: { ...JSON_TYPE, accept: 'application/json; charset=utf-8' }, body }),
    at('/graphql/below', { headers: { ...JSON_TYPE, accept: 'text/event-stream' }, body }),
    at('/graphql/below?query=%7B__typename%7D', { method: 'GET' }),
    at('/graphqlx', { headers: JSON_TYPE, body }),
  ]);
  expect(below.map(({ status }) => status)).toEqual(below.map(() => 404));
  expect(await snippetsOf(member)).toEqual([]);
  expect((await at('/graphql/?below', { headers: JSON_TYPE, body })).status).toBe(200);
});

test.concurrent('accepts JSON with a charset, and forbids caching of the reply', async () => {
  const { member, anonymous } = await createOrganization();
  const answers = await Promise.all([
    post(member, { query: '{ viewer { fullName } }' }, { 'content-type': 'application/json; charset=utf-8' }),
    post(member, { query: '{' }),
    post(member.as('Basic nonsense'), { query: '{ __typename }' }),
    post(anonymous, { query: '{ viewer { fullName } }' }),
    get(member, { query: '{ viewer { fullName } }' }),
    ask(member, { method: 'GET', headers: { accept: 'text/html' } }),
    ask(member, { method: 'GET', headers: { accept: 'text/event-stream' } }),
    ask(member, { method: 'DELETE' }),
    ask(member, { method: 'OPTIONS' }),
    ask(member, form('text/plain', '{}')),
  ]);
  expect(answers[0]?.body.data).toEqual({ viewer: { fullName: 'member' } });
  for (const { headers, status } of answers) {
    expect(headers['cache-control'], String(status)).toBe('private, no-store');
    expect(status).toBeLessThan(500);
  }
});

describe('a document', () => {
  test.concurrent.for(Object.keys(DOCUMENT_LIMITS) as Limit[])(
    'is answered at the limit of %s, and refused beyond',
    async (limit) => {
      const { member } = await createOrganization();
      const max = DOCUMENT_LIMITS[limit];
      const at = await post(member, { query: documentOf[limit](max) });
      expect(at.body.errors).toBeUndefined();
      if (limit === 'cost') expect(at.body.extensions.cost).toEqual({ requested: max, limit: max, charged: 1 });
      for (const size of [max + 1, 100 * max]) {
        if (limit === 'cost' && size > max + 1) continue;
        const { status, body } = await post(member, { query: documentOf[limit](size) });
        expect(status).toBe(400);
        expect(Object.keys(body)).toEqual(['errors']);
        expect(body.errors).toHaveLength(1);
        expect(body.errors[0].extensions.code).toBe('DOCUMENT_LIMIT_EXCEEDED');
      }
    },
  );

  test.concurrent('cannot avoid the limits by the names of its parts', async () => {
    const { member } = await createOrganization();
    const deep = nested(DOCUMENT_LIMITS.depth + 1);
    const half = Math.ceil(DOCUMENT_LIMITS.depth / 2);
    const codes = await Promise.all(
      [
        `query __schema { ${deep} }`,
        `{ ...__schema } fragment __schema on Query { ${deep} }`,
        `{ ... on Query { ${deep} } }`,
        `query one { __typename } query two { ${deep} }`,
        `{ ...a } fragment a on Query { ${deep.replace(/__typename/, '__typename')} }`,
        // Each part of this document is within the limit of depth, but the whole document is not.
        `{ ${nested(half).replace('id ', '...rest ')} } fragment rest on User { ${nested(half + 2).replace('viewer', 'botOwner')} }`,
        `query __schema { ${Array.from({ length: 51 }, (_, i) => `a${i}: __typename`).join(' ')} }`,
      ].map(async (query) => (await post(member, { query, operationName: null })).body.errors?.[0].extensions.code),
    );
    expect(codes).toEqual(codes.map(() => 'DOCUMENT_LIMIT_EXCEEDED'));
  });

  test.concurrent('is refused quickly, however much it expands', async () => {
    const { member } = await createOrganization();
    const bomb = (levels: number, width: number) => {
      const at = (i: number) => (i === levels ? 'id' : `...f${i}`);
      const level = (i: number) => `fragment f${i} on User { ${`botOwner { ${at(i + 1)} } `.repeat(width)} }`;
      return `{ viewer { ...f0 } } ${Array.from({ length: levels }, (_, i) => level(i)).join(' ')}`;
    };
    const { status, body } = await post(member, { query: bomb(17, 40) });
    expect([status, body.errors[0].extensions.code]).toEqual([400, 'DOCUMENT_LIMIT_EXCEEDED']);
    const text = await ask(member, { headers: JSON_TYPE, body: `{"query":"${'{a'.repeat(1_000_000)}"}` });
    expect(text.body.errors[0].extensions.code).toBe('DOCUMENT_LIMIT_EXCEEDED');
    const huge = await ask(member, { headers: JSON_TYPE, body: `{"query":"${' '.repeat(4 * 1024 * 1024)}"}` });
    expect(huge.status).toBe(413);
    // The server must read the body to its end. Otherwise, the next request on the connection waits forever.
    const streamed = await ask(member, {
      headers: { ...JSON_TYPE, accept: 'text/event-stream' },
      body: `{"query":"${' '.repeat(2 * 1024 * 1024)}"}`,
    });
    expect([streamed.status, streamed.body.errors[0].extensions.code]).toEqual([413, 'BAD_REQUEST']);
  });

  test.concurrent('with circular fragments is refused', async () => {
    const { member } = await createOrganization();
    for (const query of [
      '{ ...a } fragment a on Query { ...a }',
      '{ ...a } fragment a on Query { __typename ...b } fragment b on Query { ...c } fragment c on Query { ...a }',
      '{ viewer { ...a } } fragment a on User { botOwner { ...a } }',
    ]) {
      const { status, body } = await post(member, { query });
      expect([status, body.errors[0].extensions.code]).toEqual([400, 'GRAPHQL_VALIDATION_FAILED']);
    }
  });

  test.concurrent.for<[string, object]>([
    ['no document', {}],
    ['a document that is a number', { query: 7 }],
    ['a broken document', { query: '{ viewer {' }],
    ['an unknown field', { query: '{ nothing }' }],
    ['an operation that is not there', { query: 'query a { __typename }', operationName: 'b' }],
    [
      'a variable of the wrong type',
      { query: 'query ($n: Int!) { users(first: $n) { totalCount } }', variables: { n: 'x' } },
    ],
    ['a variable that is missing', { query: 'query ($n: Int!) { users(first: $n) { totalCount } }' }],
    ['variables that are a list', { query: '{ __typename }', variables: [1] }],
    ['variables that are text', { query: '{ __typename }', variables: '{}' }],
    ['a subscription', { query: 'subscription { events(queueId: "x") { position } }' }],
  ])('is refused with status 400 and no data: %s', async ([, operation]) => {
    const { member } = await createOrganization();
    const { status, body } = await post(member, operation);
    expect(status).toBe(400);
    expect('data' in body).toBe(false);
    expect(body.errors[0].message).not.toBe('Internal server error');
  });
});

test.concurrent('answers documents made at random with their errors, without internal details', async () => {
  const { member } = await createOrganization();
  const word = fc.constantFrom(
    ...[
      '{',
      '}',
      '(',
      ')',
      '[',
      ']',
      '!',
      ':',
      '=',
      '@',
      '|',
      '...',
      '$',
      '"',
      '"""',
      '#',
      ',',
      '&',
      '\\u0000',
      '\u2028',
    ],
    ...[
      'query',
      'mutation',
      'subscription',
      'fragment',
      'on',
      'true',
      'null',
      '1',
      '-1.5e9',
      '"x"',
      '$id',
      '__proto__',
    ],
    ...[
      'viewer',
      'users',
      'first: 1',
      'edges',
      'node',
      'id',
      'botOwner',
      '__typename',
      '__schema',
      'types',
      'name',
      'User',
    ],
    ...['deleteDraft', 'input', 'draftId: 0', 'Int', 'Int!', '@include(if: true)', '@skip(if: false)', 'constructor'],
  );
  const whole = [
    '{ viewer { id fullName } }',
    '{ users(first: 2) { edges { node { id } } } }',
    '{ node(id: "x") { id } }',
  ];
  /** Arbitrary documents: sequences of words, or valid documents with some words replaced. */
  const document = fc.oneof(
    fc.array(word, { maxLength: 30 }).map((words) => words.join(' ')),
    fc
      .tuple(fc.constantFrom(...whole), fc.array(fc.tuple(fc.nat(20), word), { maxLength: 3 }))
      .map(([good, changes]) =>
        changes.reduce((words, [at, other]) => words.with(at % words.length, other), good.split(/\b/)).join(''),
      ),
    fc.string({ unit: 'binary', maxLength: 50 }),
  );
  const operation = fc.record(
    { query: document, variables: fc.jsonValue(), operationName: fc.oneof(fc.string(), fc.jsonValue()) },
    { requiredKeys: ['query'] },
  );
  await fc.assert(
    fc.asyncProperty(operation, async (sent) => {
      const { status, body } = await post(member, sent);
      expect([200, 400]).toContain(status);
      const codes = (body.errors ?? []).map((error: Json) => error.extensions?.code);
      expect(codes).not.toContain('INTERNAL_SERVER_ERROR');
      expect('data' in body || codes.length > 0).toBe(true);
      expect(JSON.stringify(body)).not.toMatch(/node_modules|\.ts:\d|prisma|SELECT /i);
    }),
    { numRuns: 200, seed: 24 },
  );
});

test.concurrent('returns the schema without credentials, equal to schema.graphql', async () => {
  const { anonymous } = await createOrganization();
  const query = getIntrospectionQuery({ specifiedByUrl: true, inputValueDeprecation: true, oneOf: true });
  const { data } = await anonymous.graphql(query);
  const printed = `${printSchema(lexicographicSortSchema(buildClientSchema(data)))}\n`;
  expect(printed).toBe(readFileSync(join(import.meta.dirname, '../../schema.graphql'), 'utf8'));
});

test('a list whose items all fail, some synchronously and some later, does not end the process', async () => {
  const { owner } = await createOrganization();
  for (const name of ['first', 'second']) {
    await owner.ok('POST', '/user_groups/create', { name, description: '', members: [owner.id] });
  }
  const query =
    '{ userGroups(first: 100) { edges { node { isRoleGroup members(after: "nonsense") { totalCount } } } } }';
  const { data, errors } = await owner.graphql(query);
  const { edges } = data.userGroups;
  expect(edges.length).toBeGreaterThan(2);
  expect(edges.every(({ node }: Json) => node.members === null)).toBe(true);
  expect(errors?.map(({ extensions }: Json) => extensions.code)).toEqual(edges.map(() => 'BAD_REQUEST'));
  expect(await owner.rest('GET', '/users/me')).toMatchObject({ status: 200 });
});

describe('credentials', () => {
  test.concurrent('that are wrong are refused with status 401 and the code of REST', async () => {
    const { member, administrator } = await createOrganization();
    for (const [authorization, code] of [
      ['Basic nonsense', 'UNAUTHORIZED'],
      ['Digest x', 'UNAUTHORIZED'],
      ['Bearer', 'UNAUTHORIZED'],
      [basic(member.email, 'x'.repeat(32)), 'INVALID_API_KEY'],
      [basic(administrator.email, member.apiKey), 'INVALID_API_KEY'],
      [`Bearer ${'x'.repeat(32)}`, 'INVALID_API_KEY'],
    ] as const) {
      const { status, headers, body } = await post(member.as(authorization), { query: '{ __typename }' });
      expect([status, body.errors[0].extensions.code, body.data]).toEqual([401, code, undefined]);
      expect(headers['www-authenticate']).toMatch(/^Basic /);
      if (authorization.startsWith('Bearer')) continue;
      const rest = await member.as(authorization).rest('GET', '/users/me');
      expect([rest.status, rest.body.code]).toEqual([401, code]);
    }
  });

  test.concurrent('are not required by public fields, and other fields fail one by one without them', async () => {
    const { anonymous } = await createOrganization();
    const { data, errors } = await anonymous.graphql('{ serverSettings { featureLevel } node(id: "x") { id } }');
    expect(data).toEqual({ serverSettings: { featureLevel: 496 }, node: null });
    expect(errors).toMatchObject([{ path: ['node'], extensions: { code: 'UNAUTHORIZED' } }]);
  });

  test.concurrent('can be the API key alone', async () => {
    const { member } = await createOrganization();
    const { body } = await post(member.as(`Bearer ${member.apiKey}`), { query: '{ viewer { databaseId } }' });
    expect(body.data).toEqual({ viewer: { databaseId: member.id } });
  });
});
