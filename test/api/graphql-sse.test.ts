import { Readable } from 'node:stream';
import { type Client, type ClientOptions, createClient, type NetworkError } from 'graphql-sse';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Json, open, send } from '../helpers/http.ts';
import type { Person, Visitor } from '../helpers/person.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';

// Tests GraphQL over SSE in distinct connections mode, with hand-written HTTP requests and with the graphql-sse client.

const EVENTS = `subscription ($queueId: String!) {
  events(queueId: $queueId) { __typename ... on SavedSnippetAddedEvent { savedSnippet { title } } } }`;
const SAVE = 'mutation ($title: String!) { createSavedSnippet(input: { title: $title, content: "c" }) { __typename } }';

let house: Organization;
let member: Person;
beforeAll(async () => {
  house = await createOrganization();
  ({ member } = house);
});
const clients: Client[] = [];
afterAll(() => {
  for (const client of clients) client.dispose();
});

interface Operation {
  readonly query?: unknown;
  readonly variables?: Readonly<Record<string, unknown>>;
  readonly operationName?: string;
  readonly extensions?: Readonly<Record<string, unknown>>;
}

/** Sends an operation. @returns The response, and its non-empty frames if it is an event stream. */
async function ask(who: Visitor, operation: Operation | string, headers: Readonly<Record<string, string>> = {}) {
  const reply = await send(who.url, {
    method: 'POST',
    path: '/graphql',
    headers: { ...who.headers, accept: 'text/event-stream', 'content-type': 'application/json', ...headers },
    body: typeof operation === 'string' ? operation : JSON.stringify(operation),
  });
  const frames = reply.text.split('\n\n').filter((frame) => /^(event|data):/m.test(frame));
  return { ...reply, frames };
}

/** Creates a client with default settings, except the URL, the credentials and fast retries. */
function clientOf(who: Visitor, options: Partial<ClientOptions<boolean>> = {}): Client {
  const client = createClient({
    url: `${who.url}/graphql`,
    headers: who.headers,
    retryAttempts: 2,
    retry: async () => {},
    fetchFn,
    ...options,
  } as ClientOptions);
  clients.push(client);
  return client;
}

/**
 * Replacement for `fetch` that sends the Host header, which selects the organization. The built-in `fetch` cannot set this
 * header.
 */
const fetchFn = async (url: string, { method = 'GET', headers, body, signal }: RequestInit): Promise<Response> => {
  const { origin, pathname, search } = new URL(url);
  const sent = { method, headers: headers as Record<string, string>, body: body as string | undefined };
  const incoming = await open(origin, { ...sent, path: pathname + search, signal: signal ?? undefined });
  const init = { status: incoming.statusCode ?? 0, headers: incoming.headers as Record<string, string> };
  return new Response(Readable.toWeb(incoming) as ReadableStream, init);
};

/** Runs an operation. @returns All results, and the error that the client reported. */
async function outcomeOf(client: Client, operation: { query: string; variables?: Record<string, unknown> }) {
  const results: Json[] = [];
  const { promise, resolve } = Promise.withResolvers<{ results: Json[]; error?: Json }>();
  client.subscribe<Json>(operation, {
    next: (result) => results.push(result),
    error: (error) => resolve({ results, error }),
    complete: () => resolve({ results }),
  });
  return promise;
}

describe('the graphql-sse client', () => {
  test('runs queries and mutations', async () => {
    const client = clientOf(member);
    const read = await outcomeOf(client, { query: '{ viewer { fullName } }' });
    expect(read).toMatchObject({ results: [{ data: { viewer: { fullName: 'member' } } }] });
    const changed = await outcomeOf(client, { query: SAVE, variables: { title: 'by the client' } });
    expect(changed.results[0].data.createSavedSnippet.__typename).toBe('CreateSavedSnippetPayload');
  });

  test('receives events', async () => {
    const { queue_id: queueId } = await member.register({ fetch_event_types: [], event_types: ['saved_snippets'] });
    const heard = clientOf(member).iterate<Json>({ query: EVENTS, variables: { queueId } });
    for (const title of ['one', 'two']) {
      await member.ok('POST', '/saved_snippets', { title, content: 'c' });
      const { value } = await heard.next();
      expect(value.data.events).toEqual({ __typename: 'SavedSnippetAddedEvent', savedSnippet: { title } });
    }
    await heard.return?.();
  });

  test('gets the errors of an operation immediately, without a retry', async () => {
    let connections = 0;
    const client = clientOf(member, { on: { connecting: () => connections++ } });
    const { results, error } = await outcomeOf(client, { query: '{ nothing }' });
    expect([results[0].errors[0].extensions.code, error, connections]).toEqual([
      'GRAPHQL_VALIDATION_FAILED',
      undefined,
      1,
    ]);
  });

  test('is refused in single connection mode', async () => {
    const { error } = await outcomeOf(clientOf(member, { singleConnection: true }), { query: '{ __typename }' });
    const { response } = error as NetworkError<Response>;
    expect([response?.status, response?.headers.get('allow')]).toEqual([405, 'GET, POST']);
  });
});

describe('errors of an operation are sent as a result, followed by the end', () => {
  const wrong: readonly [string, Operation, string][] = [
    ['no document', { query: '{' }, 'GRAPHQL_PARSE_FAILED'],
    ['a field that is not there', { query: '{ nothing }' }, 'GRAPHQL_VALIDATION_FAILED'],
    ['a subscription to what is not there', { query: 'subscription { nothing }' }, 'GRAPHQL_VALIDATION_FAILED'],
    ['too much', { query: `{ ${'... on Query { __typename } '.repeat(201)} }` }, 'DOCUMENT_LIMIT_EXCEEDED'],
    [
      'a document nobody knows',
      { extensions: { persistedQuery: { version: 1, sha256Hash: '0'.repeat(64) } } },
      'PERSISTED_QUERY_NOT_FOUND',
    ],
    ['a variable of another type', { query: EVENTS, variables: { queueId: 7 } }, 'BAD_REQUEST'],
    ['a queue that is not there', { query: EVENTS, variables: { queueId: 'x' } }, 'BAD_EVENT_QUEUE_ID'],
  ];

  test.for(wrong)('%s', async ([, operation, code]) => {
    const { status, headers, frames } = await ask(member, operation);
    expect([status, headers['content-type']]).toEqual([200, 'text/event-stream; charset=utf-8']);
    expect(frames).toEqual([expect.stringMatching(/^event: next\ndata: \{/), 'event: complete\ndata:']);
    const { errors, data } = JSON.parse(frames[0]?.slice('event: next\ndata: '.length) ?? '');
    expect([errors[0].extensions.code, data]).toEqual([code, undefined]);
  });

  test('a subscription without credentials', async () => {
    const { status, frames } = await ask(house.anonymous, { query: EVENTS, variables: { queueId: 'x' } });
    expect([status, frames.length]).toEqual([200, 2]);
    expect(frames[0]).toContain('"UNAUTHORIZED"');
  });
});

describe('the status reports', () => {
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const refused: readonly [string, number, Operation | string, Readonly<Record<string, string>>?][] = [
    ['that a body is no JSON', 400, '{'],
    ['that a body is no operation', 400, '[]'],
    ['that there is no document', 400, {}],
    ['that an id of a frame is none', 400, { query: EVENTS, variables: { queueId: 'x' } }, { 'last-event-id': 'x' }],
    ['that a form is not taken', 415, 'query={__typename}', form],
    ['a refused authentication', 401, { query: '{ __typename }' }, { authorization: 'Basic eDp5' }],
  ];

  test.for(refused)('%s: %i', async ([, expected, operation, headers]) => {
    const { status, text } = await ask(member, operation, headers);
    expect(status).toBe(expected);
    expect(JSON.parse(text).errors[0].message).toBeTypeOf('string');
  });

  test('that a mutation was sent by GET: 405', async () => {
    const query = new URLSearchParams({ query: SAVE, variables: '{"title":"by GET"}' });
    const headers = { ...member.headers, accept: 'text/event-stream' };
    const reply = await send(member.url, { method: 'GET', path: `/graphql?${query}`, headers });
    expect([reply.status, reply.headers['allow']]).toEqual([405, 'POST']);
  });

  test('that operations were started or ended apart from their streams: 405', async () => {
    for (const [method, path] of [
      ['PUT', '/graphql'],
      ['DELETE', '/graphql?operationId=7'],
    ] as const) {
      const reply = await send(member.url, { method, path, headers: member.headers });
      expect([method, reply.status, reply.headers['allow']]).toEqual([method, 405, 'GET, POST']);
      expect(JSON.parse(reply.text).errors[0].message).toMatch(/single connection mode/);
    }
  });
});
