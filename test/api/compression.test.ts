import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { EventStream } from '../helpers/events.ts';
import { open, send } from '../helpers/http.ts';
import type { Person } from '../helpers/person.ts';
import { organization } from '../helpers/server.ts';

// Tests the compression of responses: which are compressed, which must not be, and their headers.

let member: Person;

beforeAll(async () => {
  ({ member } = await organization());
  const drafts = Array.from({ length: 30 }, (_, i) => ({
    ...{ type: '', to: [], topic: '' },
    content: `The ${i}th draft of the same boat, moored at the same pier.`,
  }));
  await member.ok('POST', '/drafts', { drafts });
});

const CODINGS = { br: brotliDecompressSync, gzip: gunzipSync } as const;
const DRAFTS = '{ drafts(first: 50) { nodes { databaseId content } } }';

interface RawReply {
  readonly headers: IncomingMessage['headers'];
  readonly status: number | undefined;
  readonly bytes: Buffer;
}

async function ask(path: string, headers: Record<string, string>, method = 'GET', json?: object): Promise<RawReply> {
  const body = json === undefined ? undefined : JSON.stringify(json);
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const incoming = await open(member.url, { method, path, headers: { ...member.headers, ...type, ...headers }, body });
  return { headers: incoming.headers, status: incoming.statusCode, bytes: await buffer(incoming) };
}

const ANSWERS: readonly [string, (headers: Record<string, string>) => Promise<RawReply>][] = [
  ['REST', (headers) => ask('/api/v1/drafts', headers)],
  ['GraphQL', (headers) => ask('/graphql', { ...headers, accept: '*/*' }, 'POST', { query: DRAFTS })],
  ['a page', (headers) => ask('/docs', headers)],
  ['GraphiQL', (headers) => ask('/graphql', { ...headers, accept: 'text/html' })],
  ['a file for all', (headers) => ask('/api/v1/openapi.json', headers)],
];

describe.for(ANSWERS)('%s', ([name, answer]) => {
  test.for(Object.entries(CODINGS))('has the same content with %s, in fewer bytes', async ([coding, decompress]) => {
    const plain = await answer({});
    expect(plain.headers['content-encoding']).toBeUndefined();
    const compressed = await answer({ 'accept-encoding': coding });
    expect([compressed.status, compressed.headers['content-encoding']]).toEqual([200, coding]);
    expect(compressed.headers.vary).toContain('Accept-Encoding');
    expect(Number(compressed.headers['content-length'])).toBe(compressed.bytes.length);
    expect(compressed.headers['content-type']).toBe(plain.headers['content-type']);
    expect(compressed.bytes.length).toBeLessThan(plain.bytes.length / 2);
    const text = decompress(compressed.bytes);
    // The scripts of GraphiQL contain a random number, which differs in each response.
    if (name === 'GraphiQL') expect(text.length).toBe(plain.bytes.length);
    else if (name === 'GraphQL') expect(JSON.parse(String(text)).data).toEqual(JSON.parse(String(plain.bytes)).data);
    else expect(text.equals(plain.bytes)).toBe(true);
  });
});

test.for([
  ['gzip, deflate, br, zstd', 'br'],
  ['gzip;q=1.0, br;q=0', 'gzip'],
  ['*', 'br'],
  ['identity', undefined],
  ['br;q=0, gzip;q=0', undefined],
  ['deflate', undefined],
] as const)('the client selects the compression: "%s"', async ([accepted, coding]) => {
  const { headers } = await ask('/api/v1/drafts', { 'accept-encoding': accepted });
  expect(headers['content-encoding']).toBe(coding);
});

test('short replies, images and empty replies are not compressed', async () => {
  const accepting = { 'accept-encoding': 'br' };
  for (const answer of [
    await ask('/api/v1/users/me/alert_words', accepting),
    await ask(`/avatar/${member.id}`, accepting),
    await ask('/api/v1/drafts', accepting, 'HEAD'),
    await ask('/api/v1/users/me', accepting, 'OPTIONS'),
  ]) {
    expect([answer.status, answer.headers['content-encoding']]).toEqual([expect.any(Number), undefined]);
  }
});

test('a static file has another tag for each encoding, and answers 304 if unchanged', async () => {
  const tags = new Set<string>();
  for (const accepted of ['identity', 'gzip', 'br']) {
    const { headers } = await ask('/api/v1/openapi.json', { 'accept-encoding': accepted });
    tags.add(headers.etag ?? '');
    const known = { 'accept-encoding': accepted, 'if-none-match': headers.etag ?? '' };
    const again = await ask('/api/v1/openapi.json', known);
    expect([again.status, again.bytes.length, again.headers.vary]).toEqual([304, 0, 'Accept-Encoding, Origin']);
  }
  expect(tags.size).toBe(3);
});

test.for([
  ['/docs', 200],
  ['/docs/events', 200],
  ['/developers', 200],
  ['/api/v1/openapi.json', 200],
  ['/schema.graphql', 200],
  ['/nothing', 404],
] as const)('the public page %s is compressed once for all requests, and has a strong ETag', async ([path, status]) => {
  const forms = { accept: 'text/html' };
  const [plain, first, again, gzip] = [
    await ask(path, { ...forms, 'accept-encoding': 'identity' }),
    await ask(path, { ...forms, 'accept-encoding': 'br' }),
    await ask(path, { ...forms, 'accept-encoding': 'br' }),
    await ask(path, { ...forms, 'accept-encoding': 'gzip' }),
  ];
  expect([plain, first, again, gzip].map((answer) => answer.status)).toEqual(Array(4).fill(status));
  // Entity tags of files that are compressed in advance are strong. Responses that are compressed for each request have weak
  // ones.
  expect(first.headers.etag).toMatch(/^"[\w-]+-br"$/);
  expect(again.bytes.equals(first.bytes)).toBe(true);
  expect(brotliDecompressSync(first.bytes).equals(plain.bytes)).toBe(true);
  expect(gunzipSync(gzip.bytes).equals(plain.bytes)).toBe(true);
  const known = await ask(path, { ...forms, 'accept-encoding': 'br', 'if-none-match': first.headers.etag ?? '' });
  expect([known.status, known.bytes.length === 0]).toEqual(status === 200 ? [304, true] : [404, false]);
});

test('a page that contains the host name differs by host, and so does its tag', async () => {
  const [one, other] = await Promise.all(
    [member.headers['host'], `x.${member.headers['host']}`].map((host) => ask('/docs', { host: String(host) })),
  );
  expect(one?.bytes.toString()).toContain(String(member.headers['host']));
  expect(other?.headers.etag).not.toBe(one?.headers.etag);
});

test('an event stream is not buffered', async () => {
  const { queue_id } = await member.register({ fetch_event_types: [] });
  const headers = { ...member.headers, 'accept-encoding': 'gzip, br' };
  await using stream = await EventStream.open({ url: member.url, headers }, 'position', {
    ...{ queueId: queue_id, transport: 'sse' },
  });
  await member.ok('POST', '/users/me/status', { status_text: 'here' });
  expect(await stream.next()).toEqual({ position: expect.any(Number) });
});

test('a long poll is compressed when it is answered', async () => {
  const { queue_id, last_event_id } = await member.register({ fetch_event_types: [] });
  const path = `/api/v1/events?queue_id=${queue_id}&last_event_id=${last_event_id}`;
  const polled = ask(path, { 'accept-encoding': 'br' });
  const drafts = [{ type: '', to: [], topic: '', content: 'word '.repeat(500) }];
  await member.ok('POST', '/drafts', { drafts });
  const { headers, bytes } = await polled;
  expect(headers['content-encoding']).toBe('br');
  expect(JSON.parse(String(brotliDecompressSync(bytes))).events[0].type).toBe('drafts');
});

test('aborted downloads do not end the process', async () => {
  for (let i = 0; i < 20; i++) {
    const incoming = await open(member.url, {
      ...{ method: 'GET', path: '/docs' },
      headers: { ...member.headers, 'accept-encoding': 'br' },
    });
    incoming.destroy();
  }
  expect((await send(member.url, { method: 'GET', path: '/healthz', headers: member.headers })).status).toBe(200);
});
