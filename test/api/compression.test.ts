import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { compress } from '../../src/api/compression.ts';
import { fileAnswer, sharedFiles } from '../../src/api/shared-file.ts';
import { EventStream } from '../helpers/events.ts';
import { open, send } from '../helpers/http.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { startService } from '../helpers/service.ts';

// Tests which responses are compressed, which must not be, and the headers of both.

let member: Person;

beforeAll(async () => {
  ({ member } = await createOrganization());
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
  // Files that are compressed in advance have strong entity tags. Responses that are compressed for each request have weak
  // ones.
  expect(first.headers.etag).toMatch(/^"[\w-]+-br"$/);
  expect(again.bytes.equals(first.bytes)).toBe(true);
  expect(brotliDecompressSync(first.bytes).equals(plain.bytes)).toBe(true);
  expect(gunzipSync(gzip.bytes).equals(plain.bytes)).toBe(true);
  const known = await ask(path, { ...forms, 'accept-encoding': 'br', 'if-none-match': first.headers.etag ?? '' });
  expect([known.status, known.bytes.length === 0]).toEqual(status === 200 ? [304, true] : [404, false]);
});

describe.for(['/docs', '/developers'])('%s', (path) => {
  const port = () => new URL(member.url).port;
  const page = async (host: string, url = member.url) => {
    const reply = await send(url, { method: 'GET', path, headers: { host, accept: 'text/html' } });
    expect(reply.status).toBe(200);
    return { tag: reply.headers.etag, text: reply.text };
  };

  test('contains the origin of the organization or loopback name in the Host header', async () => {
    const { organization } = await createOrganization();
    const hosts = [member.host, organization.host, `localhost:${port()}`, `127.0.0.1:${port()}`, `[::1]:${port()}`];
    const pages = await Promise.all(hosts.map((host) => page(host)));
    for (const [i, host] of hosts.entries()) expect(pages[i]?.text).toContain(`http://${host}`);
    expect(new Set(pages.map(({ tag }) => tag)).size).toBe(hosts.length);
    // The page contains the port that clients use for the organization, whatever port the Host header contains.
    expect((await page(organization.host.toUpperCase().replace(/\d+$/, '9'))).tag).toBe(pages[1]?.tag);
  });

  test('is the same page, with the configured origin, for all other Host headers', async () => {
    const { tag } = await page(`127.0.0.1:${port()}`);
    const unknown = Array.from({ length: 20 }, (_, i) => `a${i}.localhost:${port()}`);
    const others = ['chat.example', `x.${member.host}`, 'localhost:9', '[::1]:9', 'localhost', '-.localhost'];
    for (const host of [...unknown, ...others]) expect([host, (await page(host)).tag]).toEqual([host, tag]);
  });

  test('with EXTERNAL_HOST, contains no other host', async () => {
    await using there = await startService({ env: { EXTERNAL_HOST: 'chat.example:8443' } });
    const { organization } = await createOrganization({}, { on: there });
    const { tag, text } = await page('chat.example:8443', there.url);
    expect(text).toContain('https://chat.example:8443');
    const others = [`localhost:${new URL(there.url).port}`, 'chat.example', 'chat.example:1', 'a.chat.example:8443'];
    for (const host of others) expect([host, (await page(host, there.url)).tag]).toEqual([host, tag]);
    const own = `${organization.subdomain}.chat.example:8443`;
    expect((await page(own, there.url)).text).toContain(`https://${own}`);
  });
});

test('pages are cached by key, and beyond the first ones compressed with less effort', async () => {
  const text = Array.from({ length: 5_000 }, (_, i) => `${i * 7919} boats at pier ${i % 13}, `).join('');
  const made: string[] = [];
  const page = sharedFiles((key) => {
    made.push(key);
    return `${key}: ${text}`;
  });
  const lengthOf = async (key: string) => {
    const answer = await fileAnswer(page(key), { 'accept-encoding': 'br' }, { 'Content-Type': 'text/html' });
    return Number(answer.headers.get('Content-Length'));
  };
  const costly = async (key: string) => (await compress(Buffer.from(`${key}: ${text}`), 'br', 'once')).length;
  const cheap = async (key: string) => (await compress(Buffer.from(`${key}: ${text}`), 'br', 'each')).length;
  expect(await costly('a')).toBeLessThan(await cheap('a'));
  for (const key of ['a', 'b', 'c', 'd', 'a', 'b', 'c', 'd']) expect(await lengthOf(key)).toBe(await costly(key));
  expect(made).toEqual(['a', 'b', 'c', 'd']);
  for (const key of ['e', 'f', 'g', 'h', 'i', 'a', 'a']) expect(await lengthOf(key)).toBe(await cheap(key));
  expect(made).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'a']);
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
