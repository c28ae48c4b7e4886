import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDocuments } from '../../src/api/graphql/documents/documents.ts';
import { readPersistedDocuments } from '../../src/api/graphql/documents/persisted-documents.ts';
import { ConfigError, readConfig } from '../../src/platform/config.ts';
import { buildSchema } from '../../src/server/registries/schema.ts';
import { newEmptyDir } from '../helpers/data-dir.ts';
import { webSocketClient } from '../helpers/events.ts';
import { globalId } from '../helpers/global-ids.ts';
import { type Json, send } from '../helpers/http.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { type Served, startService } from '../helpers/service.ts';

const ME = '{ viewer { fullName } }';
const NAMED = 'query Named($id: ID!) { user(by: { id: $id }) { fullName } }';
const EVENTS = 'subscription ($queueId: String!) { events(queueId: $queueId) { type } }';
const SAVE = `mutation { createSavedSnippet(input: { title: "t", content: "c" }) { __typename } }`;
const idOf = (document: string) => createHash('sha256').update(document).digest('hex');
const UNKNOWN = idOf('nothing');

/** Writes a JSON file that contains GraphQL documents by id. @returns Its path. */
function fileOf(content: unknown): string {
  const path = join(newEmptyDir(), 'documents.json');
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}
const FILE = () => fileOf(Object.fromEntries([ME, NAMED, EVENTS, SAVE].map((document) => [idOf(document), document])));

type Operation = Readonly<Record<string, unknown>>;
type Ask = (who: Person, operation: Operation) => Promise<Json>;

const post =
  (accept: string): Ask =>
  async (who, operation) => {
    const headers = { ...who.headers, 'content-type': 'application/json', accept };
    const { text } = await send(who.url, {
      method: 'POST',
      path: '/graphql',
      headers,
      body: JSON.stringify(operation),
    });
    return JSON.parse(/^data: (.+)$/m.exec(text)?.[1] ?? text);
  };

const get: Ask = async (who, operation) => {
  const fields = Object.entries(operation).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  const query = new URLSearchParams(fields as [string, string][]);
  const headers = { ...who.headers, accept: 'application/graphql-response+json' };
  const { text } = await send(who.url, { method: 'GET', path: `/graphql?${query}`, headers });
  return JSON.parse(text);
};

/** Sends an operation over a WebSocket. Adds an empty `query`, because the protocol requires one. The service ignores it. */
const overSocket: Ask = async (who, operation) => {
  const client = webSocketClient(who);
  try {
    for await (const result of client.iterate({ query: '', ...operation } as never)) return result;
    return undefined;
  } catch (errors) {
    return { errors };
  } finally {
    await client.dispose();
  }
};

const WAYS: readonly (readonly [string, Ask])[] = [
  ['by POST', post('application/graphql-response+json')],
  ['by GET', get],
  ['as server-sent events', post('text/event-stream')],
  ['over a WebSocket', overSocket],
];
const codeOf = ({ errors }: Json) => errors?.[0]?.extensions?.code;

describe('together with other documents', () => {
  let server: Served;
  let member: Person;
  beforeAll(async () => {
    server = await startService({ env: { PERSISTED_DOCUMENTS: FILE() } });
    ({ member } = await createOrganization({}, { on: server }));
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test.for(WAYS)('a document can be referred to by its hash %s', async ([, ask]) => {
    const forms = [
      { documentId: idOf(ME) },
      { documentId: `sha256:${idOf(ME)}` },
      { extensions: { persistedQuery: { version: 1, sha256Hash: idOf(ME) } } },
    ];
    for (const form of forms) {
      expect((await ask(member, form)).data, JSON.stringify(form)).toEqual({ viewer: { fullName: 'member' } });
    }
    const variables = { id: globalId('User', member.id) };
    const named = await ask(member, { documentId: idOf(NAMED), operationName: 'Named', variables });
    expect(named.data).toEqual({ user: { fullName: 'member' } });
    expect(codeOf(await ask(member, { documentId: UNKNOWN }))).toBe('PERSISTED_QUERY_NOT_FOUND');
    expect(codeOf(await ask(member, {}))).toBe('BAD_REQUEST');
    expect((await ask(member, { query: '{ viewer { email } }' })).data.viewer.email).toBeDefined();
  });

  test.for(WAYS)(
    'a document sent with its hash %s is stored, if it is valid and the hash matches',
    async ([way, ask]) => {
      const named = (query: string) => ({ persistedQuery: { version: 1, sha256Hash: idOf(query) } });
      const query = `query ${way.replace(/\W/g, '')} { viewer { fullName } }`;
      expect(codeOf(await ask(member, { extensions: named(query) }))).toBe('PERSISTED_QUERY_NOT_FOUND');
      const mistaken = await ask(member, { query: '{ viewer { email } }', extensions: named(query) });
      expect([codeOf(mistaken), mistaken.data]).toEqual(['BAD_REQUEST', undefined]);
      expect(codeOf(await ask(member, { extensions: named(query) }))).toBe('PERSISTED_QUERY_NOT_FOUND');
      for (const operation of [
        { query, extensions: named(query) },
        { extensions: named(query) },
        { documentId: idOf(query) },
      ]) {
        expect((await ask(member, operation)).data).toEqual({ viewer: { fullName: 'member' } });
      }
      const invalid = `{ ${way.replace(/\W/g, '')} }`;
      expect(codeOf(await ask(member, { query: invalid, extensions: named(invalid) }))).toBe(
        'GRAPHQL_VALIDATION_FAILED',
      );
      expect(codeOf(await ask(member, { extensions: named(invalid) }))).toBe('PERSISTED_QUERY_NOT_FOUND');
    },
  );

  /**
   * Requests as each client sends them: `first` for a document that the service has not stored yet, `again` for one that it has
   * stored.
   */
  const CLIENTS = {
    'Apollo Client': {
      accept: 'application/graphql-response+json,application/json;q=0.9',
      first: { status: 400, recognises: ({ extensions }: Json) => extensions.code === 'PERSISTED_QUERY_NOT_FOUND' },
      again: {},
    },
    'Apollo Client, the third': {
      accept: '*/*',
      first: { status: 200, recognises: ({ message }: Json) => message === 'PersistedQueryNotFound' },
      again: {},
    },
    urql: {
      accept:
        'application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed',
      first: { status: 400, recognises: ({ message }: Json) => message === 'PersistedQueryNotFound' },
      again: { miss: true },
    },
  } as const;

  test.for(Object.entries(CLIENTS))('%s sends a document once, and its hash from then on', async ([name, client]) => {
    const operationName = name.replace(/\W/g, '');
    const query = `query ${operationName} { viewer { fullName __typename } }`;
    const persistedQuery = { version: 1, sha256Hash: idOf(query) };
    const ask = async (method: 'GET' | 'POST', operation: Json): Promise<Json> => {
      const fields = { operationName, variables: {}, ...operation };
      const texts = Object.entries(fields).map(([key, value]) => [
        key,
        typeof value === 'string' ? value : JSON.stringify(value),
      ]);
      const { status, text } = await send(member.url, {
        method,
        path: method === 'GET' ? `/graphql?${new URLSearchParams(texts as [string, string][])}` : '/graphql',
        headers: { ...member.headers, accept: client.accept, 'content-type': 'application/json' },
        ...(method === 'POST' && { body: JSON.stringify(fields) }),
      });
      return { status, ...JSON.parse(text) };
    };
    const data = { viewer: { fullName: 'member', __typename: 'User' } };
    const first = await ask('GET', { extensions: { persistedQuery } });
    expect([first.status, first.errors.map(client.first.recognises)]).toEqual([client.first.status, [true]]);
    const again = { persistedQuery: { ...persistedQuery, ...client.again } };
    expect(await ask('POST', { query, extensions: again })).toMatchObject({ status: 200, data });
    for (const method of ['GET', 'POST'] as const) {
      expect(await ask(method, { extensions: { persistedQuery } })).toMatchObject({ status: 200, data });
    }
  });

  test('a subscription can be referred to in the same way', async () => {
    const { queue_id } = await member.register({ fetch_event_types: [] });
    await member.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content: 'heard' }] });
    const variables = { queueId: queue_id };
    expect(await overSocket(member, { documentId: idOf(EVENTS), variables })).toMatchObject({
      data: { events: { type: 'DRAFTS' } },
    });
  });

  test.for(WAYS)('an invalid id finds nothing, whatever it is %s', async ([, ask]) => {
    const ids = [
      '__proto__',
      'constructor',
      '',
      ' ',
      `${idOf(ME)} `,
      `${idOf(ME)}\0`,
      `sha256:sha256:${idOf(ME)}`,
      'x'.repeat(5_000),
    ];
    const odd = [7, null, true, [idOf(ME)], { id: idOf(ME) }];
    for (const id of [...ids, ...odd]) {
      for (const operation of [
        { documentId: id },
        { extensions: { persistedQuery: { version: 1, sha256Hash: id } } },
      ]) {
        const reply = await ask(member, operation);
        expect(reply.data, JSON.stringify(operation).slice(0, 99)).toBeUndefined();
        expect(reply.errors?.length, JSON.stringify(operation).slice(0, 99)).toBeGreaterThan(0);
      }
    }
  });

  test('a stored mutation cannot run by GET', async () => {
    const snippets = async () => (await member.ok('GET', '/saved_snippets')).saved_snippets.length;
    const before = await snippets();
    const { errors, data } = await get(member, { documentId: idOf(SAVE) });
    expect([data?.createSavedSnippet, errors?.length]).toEqual([undefined, 1]);
    expect(await snippets()).toBe(before);
    const [, byPost] = WAYS[0] as (typeof WAYS)[number];
    expect((await byPost(member, { documentId: idOf(SAVE) })).data.createSavedSnippet.__typename).toMatch(/Payload$/);
    expect(await snippets()).toBe(before + 1);
  });

  test('a document runs with the permissions of the client that refers to it', async () => {
    const anonymous = member.as(undefined) as Person;
    const [, byPost] = WAYS[0] as (typeof WAYS)[number];
    const { data, errors } = await byPost(anonymous, {
      documentId: idOf(NAMED),
      variables: { id: globalId('User', member.id) },
    });
    expect([data?.user ?? null, errors?.[0]?.extensions.code]).toEqual([null, 'UNAUTHORIZED']);
  });

  test('batched operations are still refused', async () => {
    const [, ask] = WAYS[0] as (typeof WAYS)[number];
    expect((await ask(member, [{ documentId: idOf(ME) }] as never)).errors).toHaveLength(1);
  });
});

describe('exclusively', () => {
  let server: Served;
  let member: Person;
  beforeAll(async () => {
    server = await startService({ env: { PERSISTED_DOCUMENTS: FILE(), PERSISTED_DOCUMENTS_ONLY: 'on' } });
    ({ member } = await createOrganization({}, { on: server }));
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test.for(WAYS)('no other document runs %s', async ([, ask]) => {
    expect((await ask(member, { documentId: idOf(ME) })).data).toEqual({ viewer: { fullName: 'member' } });
    const others = [
      { query: '{ viewer { email } }' },
      { query: ME },
      { query: '{ viewer { email } }', documentId: idOf(ME) },
      { query: '{ __schema { types { name } } }' },
      { query: '{ __schema { types { name } } }', documentId: idOf(ME) },
      {},
    ];
    for (const other of others) {
      const reply = await ask(member, other);
      expect(codeOf(reply), JSON.stringify(other)).toBe('PERSISTED_QUERY_REQUIRED');
      expect(reply.data).toBeUndefined();
    }
    // Published clients do not send the document in response to this code.
    expect(codeOf(await ask(member, { documentId: UNKNOWN }))).toBe('PERSISTED_QUERY_NOT_IN_LIST');
  });
});

describe('the documents stored for clients', () => {
  const documents = createDocuments(buildSchema());
  const { keep, find } = readPersistedDocuments(readConfig({}), documents);
  const text = (i: number, length = 0) => `${i} ${' '.repeat(length)}`;
  const held = (count: number) =>
    Array.from({ length: count }, (_, i) => i).filter((i) => find(`hash ${i}`) !== undefined);

  test('are at most a thousand, the most recently used', () => {
    for (let i = 0; i < 1_200; i++) {
      keep(`hash ${i}`, text(i));
      find('hash 0');
    }
    expect(held(1_200)).toHaveLength(1_000);
    expect([find('hash 0'), find('hash 1'), find('hash 1199')]).toEqual([text(0), undefined, text(1199)]);
  });

  test('have at most eight million characters, and no more than a hundred thousand each', () => {
    for (let i = 0; i < 200; i++) keep(`hash ${i}`, text(i, 99_000));
    expect(held(200).length * 99_000).toBeLessThanOrEqual(8 * 1024 * 1024);
    expect(held(200).length).toBeGreaterThan(50);
    keep('long', text(0, 100_000));
    expect(find('long')).toBeUndefined();
  });
});

describe('the file', () => {
  const documents = createDocuments(buildSchema());
  const read = (content: unknown) =>
    readPersistedDocuments(readConfig({ PERSISTED_DOCUMENTS: fileOf(content) }), documents);

  test('is refused at the start if it contains a document that would not run', () => {
    for (const key of [idOf(ME), `sha256:${idOf(ME)}`, idOf(ME).toUpperCase()]) {
      expect(read({ [key]: ME }).find(idOf(ME))).toBe(ME);
    }
    const wrong: [unknown, RegExp][] = [
      ['{', /JSON/],
      [[ME], /must contain a JSON object/],
      [{ [UNKNOWN]: ME }, /is not the SHA-256 of its document/],
      [{ [idOf('7')]: 7 }, /must be the text of a document/],
      [{ [createHash('sha1').update(ME).digest('hex')]: ME }, /hashAlgorithm: 'sha256'/],
      [{ [createHash('md5').update(ME).digest('hex')]: ME }, /must be the SHA-256 of its document .* prefix "sha256:"/],
      [{ Me: ME }, /must be the SHA-256 of its document/],
      [{ [`sha256:${UNKNOWN}`]: ME }, /is not the SHA-256 of its document/],
      [{ [idOf('{ nothing }')]: '{ nothing }' }, /Cannot query field "nothing"/],
    ];
    for (const [content, message] of wrong) {
      expect(() => read(content)).toThrow(ConfigError);
      expect(() => read(content)).toThrow(message);
    }
    const missing = readConfig({ PERSISTED_DOCUMENTS: '/nowhere/documents.json' });
    expect(() => readPersistedDocuments(missing, documents)).toThrow(/ENOENT/);
    expect(() => readConfig({ PERSISTED_DOCUMENTS_ONLY: 'on' })).toThrow('PERSISTED_DOCUMENTS_ONLY');
  });
});
