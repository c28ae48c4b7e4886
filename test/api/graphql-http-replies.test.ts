import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { getIntrospectionQuery } from 'graphql';
import { expect, test } from 'vitest';
import { MAX_BODY_BYTES } from '../../src/api/graphql/transports/http-operation.ts';
import { RequestTimeoutError } from '../../src/platform/errors.ts';
import { documentOf } from '../helpers/documents.ts';
import { type Sent, send } from '../helpers/http.ts';
import { type InProcess, startInProcess } from '../helpers/in-process.ts';
import { multipartOperation, PREFLIGHT } from '../helpers/multipart.ts';
import { basic, type Person, type Visitor } from '../helpers/person.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';

// Compares responses to requests at /graphql with `graphql-http-replies.txt`: status, headers and body, byte by byte.

let server: InProcess;
let people: Organization;

const SPEC_FORM = 'application/graphql-response+json';
const LEGACY_FORM = 'application/json';
const ME = '{ viewer { fullName } }';
const TWO = 'query A { __typename } query B { viewer { fullName } }';
const COUNTED = 'query ($n: Int!) { users(first: $n) { totalCount } }';
const CREATE = 'mutation { createSavedSnippet(input: { title: "t", content: "c" }) { __typename } }';
const REMOVE = 'mutation { deleteSavedSnippet(input: { savedSnippetId: "x" }) { __typename } }';
const EVENTS = 'subscription { events(queueId: "x") { position } }';
const LONG = `{ ${'x'.repeat(1_200)}: viewer { fullName } }`;
const idOf = (document: string) => createHash('sha256').update(document).digest('hex');
const registered = (query: string | undefined, hash: string) => ({
  ...(query !== undefined && { query }),
  extensions: { persistedQuery: { version: 1, sha256Hash: hash } },
});

interface Case extends Partial<Sent> {
  readonly by?: 'member' | 'guest' | 'moderator' | 'administrator' | 'anonymous';
  readonly authorization?: string;
}

const post = (operation: unknown, headers: Sent['headers'] = {}): Case => ({
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(operation),
});
const raw = (body: string | Buffer, headers: Sent['headers'] = {}): Case => ({
  headers: { 'content-type': 'application/json', ...headers },
  body,
});
const get = (fields: Record<string, string>, headers: Sent['headers'] = {}): Case => ({
  method: 'GET',
  path: `/graphql?${new URLSearchParams(fields)}`,
  headers,
});

/** Requests that are sent once for each of the two media types of GraphQL over HTTP. */
const IN_BOTH_FORMS: Readonly<Record<string, (accept: Sent['headers']) => Case>> = {
  'a query': (accept) => post({ query: ME }, accept),
  'one of two operations': (accept) => post({ query: TWO, operationName: 'B' }, accept),
  'two operations, none named': (accept) => post({ query: TWO }, accept),
  'an unknown operation name': (accept) => post({ query: TWO, operationName: 'C' }, accept),
  'an operation name of the wrong type': (accept) => post({ query: TWO, operationName: 7 }, accept),
  'variables, extensions and operation name null': (accept) =>
    post({ query: ME, variables: null, extensions: null, operationName: null }, accept),
  'fragments only': (accept) => post({ query: 'fragment F on Query { __typename }' }, accept),
  'malformed JSON': (accept) => raw('{"query"', accept),
  'an empty body': (accept) => raw('', accept),
  'JSON that is too deep': (accept) => raw(`{"query":${'['.repeat(70)}${']'.repeat(70)}}`, accept),
  'invalid UTF-8': (accept) => raw(Buffer.from('{"query":"{ viewer { fullName } } # \xff"}', 'latin1'), accept),
  'a byte order mark': (accept) => raw('\ufeff{"query":"{ __typename }"}', accept),
  null: (accept) => post(null, accept),
  'a number': (accept) => post(7, accept),
  'an empty list': (accept) => post([], accept),
  'a batch': (accept) => post([{ query: ME }, { query: ME }], accept),
  'no document': (accept) => post({}, accept),
  'an empty document': (accept) => post({ query: '' }, accept),
  'a document of the wrong type': (accept) => post({ query: 7 }, accept),
  'an unknown parameter': (accept) => post({ query: ME, more: 1 }, accept),
  'an unknown parameter that is null': (accept) => post({ query: ME, more: null }, accept),
  'variables that are a list': (accept) => post({ query: ME, variables: [] }, accept),
  'variables that are text': (accept) => post({ query: ME, variables: '{}' }, accept),
  'extensions that are a number': (accept) => post({ query: ME, extensions: 1 }, accept),
  'a syntax error': (accept) => post({ query: '{ viewer {' }, accept),
  'two validation errors': (accept) => post({ query: '{ nothing viewer { fullname } }' }, accept),
  'too many tokens': (accept) => post({ query: documentOf.tokens(4001) }, accept),
  'too high a cost': (accept) => post({ query: documentOf.cost(10_001) }, accept),
  'a missing variable': (accept) => post({ query: COUNTED }, accept),
  'a variable of the wrong type': (accept) => post({ query: COUNTED, variables: { n: 'x' } }, accept),
  'two variables of the wrong type': (accept) =>
    post(
      {
        query: 'query ($a: Int!, $b: Int!) { a: users(first: $a) { totalCount } b: users(first: $b) { totalCount } }',
        variables: { a: 'x' },
      },
      accept,
    ),
  'an argument out of range': (accept) => post({ query: COUNTED, variables: { n: 101 } }, accept),
  'an error in a nested field': (accept) =>
    post(
      { query: '{ viewer { fullName } userGroups(first: 1) { nodes { name members(after: "x") { totalCount } } } }' },
      accept,
    ),
  'a field refused without credentials': (accept) => ({
    ...post({ query: '{ viewer { fullName } serverSettings { featureLevel } }' }, accept),
    by: 'anonymous',
  }),
  'a null that propagates to the root': (accept) => ({ ...post({ query: CREATE }, accept), by: 'anonymous' }),
  'a mutation': (accept) => post({ query: CREATE }, accept),
  'a mutation with a typed error': (accept) => post({ query: REMOVE }, accept),
  'a subscription': (accept) => post({ query: EVENTS }, accept),
  'an idempotency key': (accept) => post({ query: CREATE }, { ...accept, 'idempotency-key': 'a' }),
  'an idempotency key for another request': (accept) => post({ query: REMOVE }, { ...accept, 'idempotency-key': 'a' }),
  'an idempotency key of the wrong type': (accept) =>
    post({ query: CREATE, extensions: { idempotencyKey: 7 } }, accept),
  'an idempotency key for two mutations': (accept) =>
    post(
      {
        query: CREATE.replace('}) {', '}) {').replace(
          / }$/,
          ' b: deleteSavedSnippet(input: { savedSnippetId: "x" }) { __typename } }',
        ),
      },
      { ...accept, 'idempotency-key': 'b' },
    ),
  'an unknown persisted document': (accept) => post({ documentId: `sha256:${idOf('unknown')}` }, accept),
  'an unknown registered document': (accept) => post(registered(undefined, idOf('unknown')), accept),
  'a document with its hash': (accept) => post(registered(ME, idOf(ME)), accept),
  'a registered document': (accept) => post(registered(undefined, idOf(ME)), accept),
  'a document with another hash': (accept) => post(registered(ME, idOf('other')), accept),
  'malformed credentials': (accept) => ({ ...post({ query: ME }, accept), authorization: 'Basic nonsense' }),
  'wrong credentials': (accept) => ({
    ...post({ query: ME }, accept),
    authorization: basic('a@b.example', 'x'.repeat(32)),
  }),
  'wrong credentials of a browser': (accept) => ({
    ...post({ query: ME }, { ...accept, 'sec-fetch-site': 'same-origin' }),
    authorization: basic('a@b.example', 'x'.repeat(32)),
  }),
  'wrong credentials and malformed JSON': (accept) => ({ ...raw('{', accept), authorization: 'Basic nonsense' }),
  'an account without budget': (accept) => ({ ...post({ query: ME }, accept), by: 'guest' }),
  'an address without budget': (accept) => ({
    ...post({ query: ME }, { ...accept, 'x-forwarded-for': '203.0.113.1' }),
    by: 'anonymous',
  }),
  'more introspection than the budget allows': (accept) => ({
    ...post(
      { query: getIntrospectionQuery() },
      { ...accept, 'x-forwarded-for': accept['accept'] === SPEC_FORM ? '203.0.113.2' : '203.0.113.3' },
    ),
    by: 'anonymous',
  }),
  'a fault before the operation': (accept) => ({ ...post({ query: ME }, accept), by: 'moderator' }),
  'a database that is unavailable': (accept) => ({ ...post({ query: ME }, accept), by: 'administrator' }),
  'a compressed reply': (accept) => post({ query: LONG }, { ...accept, 'accept-encoding': 'gzip' }),
  'a compressed error': (accept) =>
    post({ query: `{ ${'x'.repeat(1_200)} }` }, { ...accept, 'accept-encoding': 'gzip' }),
  'a reply too short for compression': (accept) => post({ query: ME }, { ...accept, 'accept-encoding': 'br' }),
  'an upload': (accept) => upload({ ...accept, ...PREFLIGHT }),
  'an upload without a map': (accept) => ({ ...upload({ ...accept, ...PREFLIGHT }), body: '--x--\r\n' }),
  'a query by GET': (accept) => get({ query: ME }, accept),
  'a mutation by GET': (accept) => get({ query: CREATE }, accept),
  'a subscription by GET': (accept) => get({ query: EVENTS }, accept),
  'GET without a document': (accept) => get({}, accept),
  'GET with malformed variables': (accept) => get({ query: ME, variables: '{' }, accept),
  'GET with variables that are a list': (accept) => get({ query: ME, variables: '[]' }, accept),
  'GET with a syntax error': (accept) => get({ query: '{' }, accept),
  'GET of an unknown persisted document': (accept) => get({ documentId: idOf('unknown') }, accept),
  'GET with an unknown operation name': (accept) => get({ query: TWO, operationName: 'C' }, accept),
  'GET with wrong credentials': (accept) => ({ ...get({ query: ME }, accept), authorization: 'Basic nonsense' }),
  'GET of a refused field': (accept) => ({ ...get({ query: ME }, accept), by: 'anonymous' }),
};

/** Values of the header `Accept`, except the two media types of GraphQL over HTTP. */
const ACCEPTED = [
  '',
  '*/*',
  'application/*',
  'application/json; charset=utf-8',
  'application/json;charset=UTF-8',
  'application/json; charset=utf-16',
  'application/json; charset=utf-16, application/graphql-response+json',
  'application/graphql-response+json; charset=utf-8, application/json; charset=utf-8',
  'application/graphql-response+json, application/json;q=0.9',
  'application/json, text/event-stream',
  'application/graphql+json, application/json',
  'APPLICATION/JSON',
  'image/png, */*;q=0.1',
  'application/json;q=0, application/graphql-response+json',
  'application/json;charset="utf-8"',
  '*/*, application/graphql-response+json',
  'multipart/mixed;deferSpec=20220824, application/json',
  'text/html',
  'text/*',
  'multipart/mixed',
  'text/html, application/json',
];

const OTHERS: Readonly<Record<string, Case>> = {
  ...Object.fromEntries(
    ACCEPTED.flatMap((accept) => [
      [`Accept: ${accept}`, post({ query: ME }, { accept })],
      [`Accept: ${accept} with a syntax error`, post({ query: '{' }, { accept })],
    ]),
  ),
  'no Accept': post({ query: ME }),
  'JSON with a charset': raw(JSON.stringify({ query: ME }), { 'content-type': 'application/json; charset=utf-8' }),
  'JSON in another charset': raw(JSON.stringify({ query: ME }), { 'content-type': 'application/json; charset=utf-16' }),
  'JSON by another name': raw(JSON.stringify({ query: ME }), { 'content-type': 'application/json+x' }),
  'no content type': { body: JSON.stringify({ query: ME }) },
  'plain text': raw(JSON.stringify({ query: ME }), { 'content-type': 'text/plain' }),
  'a bare document': raw(ME, { 'content-type': 'application/graphql' }),
  'a form': raw(`query=${encodeURIComponent(ME)}`, { 'content-type': 'application/x-www-form-urlencoded' }),
  'a compressed body': raw(gzipSync(JSON.stringify({ query: ME })), { 'content-encoding': 'gzip' }),
  'an upload without a preflight header': upload({}),
  'too long a body': raw(`{"query":"${' '.repeat(MAX_BODY_BYTES)}"}`),
  'too long a body for the event stream': raw(`{"query":"${' '.repeat(300_000)}"}`, { accept: 'text/event-stream' }),
  'the event stream': post({ query: ME }, { accept: 'text/event-stream' }),
  'a syntax error over the event stream': post({ query: '{' }, { accept: 'text/event-stream' }),
  'a trailing slash': { ...post({ query: ME }), path: '/graphql/' },
  'a query string beside the body': { ...post({ query: ME }), path: `/graphql?query=${encodeURIComponent('{')}` },
  'a path below': { ...post({ query: ME }), path: '/graphql/below' },
  'HTTP/1.1 without keep-alive': post({ query: ME }, { connection: 'close' }),
  'another origin': post({ query: ME }, { origin: 'https://elsewhere.example' }),
  HEAD: { ...get({ query: ME }), method: 'HEAD' },
  OPTIONS: { ...get({}), method: 'OPTIONS' },
  PATCH: { ...post({ query: ME }), method: 'PATCH' },
  PUT: { ...post({ query: ME }), method: 'PUT' },
  DELETE: { ...get({ query: ME }), method: 'DELETE' },
  'PATCH of an event stream': { ...post({ query: ME }, { accept: 'text/event-stream' }), method: 'PATCH' },
  'GET without Accept': get({ query: ME }),
  'GET of image/png': get({ query: ME }, { accept: 'image/png' }),
};

function upload(headers: Sent['headers']): Case {
  const query = 'mutation ($input: SetAvatarInput!) { setAvatar(input: $input) { __typename } }';
  const { type, content } = multipartOperation({ query, variables: { input: { image: Buffer.from('no image') } } });
  const boundary = type.slice(type.indexOf('=') + 1);
  return {
    headers: { ...headers, 'content-type': 'multipart/form-data; boundary=x' },
    body: Buffer.from(content.toString('latin1').replaceAll(boundary, 'x'), 'latin1'),
  };
}

/** Names of headers that are not compared: every response has them, or their values depend on the connection or the time. */
const UNCOMPARED = new Set(['date', 'keep-alive', 'x-request-id', 'x-content-type-options', 'x-ratelimit-reset']);
/** Names of headers of which only the presence is compared, and not the value. */
const VARYING = new Set(['x-ratelimit-remaining', 'retry-after', 'content-length']);
/** Maximum length of a compared text, in characters. Longer texts are cut. Every error is shorter. */
const SHOWN_LENGTH = 1_000;

/** Sends a request, and returns its reply as text, without the values that differ between runs. */
async function replyTo({ by = 'member', authorization, ...sent }: Case, address: string): Promise<string> {
  const visitor: Visitor = authorization === undefined ? people[by] : people.anonymous.as(authorization);
  const { method = 'POST', path = '/graphql', body } = sent;
  const headers = { 'x-forwarded-for': address, ...visitor.headers, ...sent.headers };
  const reply = await send(visitor.url, { method, path, headers, body });
  const { 'content-length': length, 'content-encoding': coding } = reply.headers;
  const isWhole = method !== 'HEAD' && (coding === undefined || coding === 'none');
  if (isWhole && length !== undefined) expect(Number(length)).toBe(Buffer.byteLength(reply.text));
  const shown = Object.entries(reply.headers)
    .filter(([name]) => !UNCOMPARED.has(name))
    .map(([name, value]) => (VARYING.has(name) ? name : `${name}: ${String(value)}`))
    .sort();
  const text = reply.text
    .replace(/"(remaining|retryAfterSeconds)":[\d.]+/g, '"$1":0')
    .replace(/"resetAt":"[^"]+"/g, '"resetAt":""')
    .replace(/again in \d+ seconds/g, 'again in 0 seconds')
    .replace(/"requestId":"[^"]+"/g, '"requestId":""')
    .replace(/x{100,}/g, 'x…');
  return `${reply.status} ${shown.join('; ')}\n${isWhole ? text.slice(0, SHOWN_LENGTH) : ''}\n`;
}

/** Makes the service fail at each request of a user. */
function failFor({ id }: Person, error: Error): void {
  const { rateLimits } = server.app;
  const countUser = rateLimits.countUser.bind(rateLimits);
  rateLimits.countUser = (account) => (account === id ? Promise.reject(error) : countUser(account));
}

const CASES: readonly (readonly [string, Case])[] = [
  ...[SPEC_FORM, LEGACY_FORM].flatMap((accept) =>
    Object.entries(IN_BOTH_FORMS).map(([name, make]) => [`${accept}: ${name}`, make({ accept })] as const),
  ),
  ...Object.entries(OTHERS),
];

/** Both executors of the service must give the recorded replies. */
test.each(['on', 'off'])(
  'every request gets the recorded reply, with QUERY_PLANS %s',
  async (plans) => {
    const limits = { RATE_LIMIT_PER_USER: '300', RATE_LIMIT_PER_IP: '4', TRUST_PROXY: '1' };
    await using service = await startInProcess({ env: { ...limits, QUERY_PLANS: plans } });
    server = service;
    people = await createOrganization({}, { on: server, subdomain: 'replies' });
    const spend = async (visitor: Visitor, times: number, headers: Sent['headers']) => {
      for (let i = 0; i < times; i++) {
        await send(visitor.url, {
          method: 'GET',
          path: '/graphql?query={__typename}',
          headers: { ...visitor.headers, ...headers },
        });
      }
    };
    const { moderator, administrator } = people;
    failFor(moderator, new Error('A fault'));
    failFor(administrator, new RequestTimeoutError());
    await spend(people.guest, 300, {});
    await spend(people.anonymous, 4, { 'x-forwarded-for': '203.0.113.1' });
    const replies: string[] = [];
    for (const [at, [name, sent]] of CASES.entries()) {
      replies.push(`=== ${name}\n${await replyTo(sent, `198.51.100.${at % 200}`)}`);
    }
    await expect(replies.join('\n')).toMatchFileSnapshot('graphql-http-replies.txt');
  },
  60_000,
);
