import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answerBare, retryAfterHeader } from '../../src/api/bare-answer.ts';
import { routes } from '../../src/server/registries/features.ts';
import { EventStream } from '../helpers/events.ts';
import { send } from '../helpers/http.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';
import { multipart } from '../helpers/multipart.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';

// Tests the checks that the service makes on an HTTP request before an endpoint reads its parameters.

let service: InProcess;
let member: Person;
let owner: Person;

beforeAll(async () => {
  service = await shareInProcess();
  ({ member, owner } = await createOrganization({}, { on: service }));
});
afterAll(() => service[Symbol.asyncDispose]());

const FORM = 'application/x-www-form-urlencoded';
const FIELDS = `drafts=${encodeURIComponent(JSON.stringify([{ type: '', to: [], topic: '', content: 'é' }]))}`;
const PLAIN = 'drafts=[]';

const ask = (method: string, path: string, headers: Readonly<Record<string, string>>, body?: string | Buffer) =>
  send(service.url, { method, path, headers: { ...member.headers, ...headers }, body });

/** Request bodies that no endpoint accepts, by description. */
const UNREADABLE: readonly (readonly [title: string, headers: Record<string, string>, body: string | Buffer])[] = [
  ['JSON', { 'content-type': 'application/json' }, '{"drafts": []}'],
  ['JSON with a charset', { 'content-type': 'application/json; charset=utf-8' }, '{"drafts": []}'],
  ['JSON of another type', { 'content-type': 'application/vnd.api+json' }, '{"drafts": []}'],
  ['a form in JSON', { 'content-type': FORM }, ' {"drafts": []}'],
  ['a form in a JSON array', { 'content-type': FORM }, '[]'],
  ['text', { 'content-type': 'text/plain' }, PLAIN],
  ['a body without a type', {}, PLAIN],
  ['a body with an empty type', { 'content-type': '' }, PLAIN],
  ['bytes', { 'content-type': 'application/octet-stream' }, PLAIN],
  ['another multipart type', { 'content-type': 'multipart/mixed; boundary=x' }, '--x--'],
  ['a form that gzip compressed', { 'content-type': FORM, 'content-encoding': 'gzip' }, gzipSync(FIELDS)],
  ['a form with an unknown encoding', { 'content-type': FORM, 'content-encoding': 'x, gzip' }, PLAIN],
  [
    'a multipart form with an encoding',
    { 'content-type': 'multipart/form-data; boundary=x', 'content-encoding': 'br' },
    'x',
  ],
  ['JSON that gzip compressed', { 'content-type': 'application/json', 'content-encoding': 'gzip' }, gzipSync('{}')],
  ['a form in another charset', { 'content-type': `${FORM}; charset=iso-8859-1` }, 'drafts=%E9'],
  ['a form in UTF-16', { 'content-type': `${FORM}; charset="UTF-16"` }, Buffer.from(PLAIN, 'utf16le')],
];

/**
 * Sends a request head and a body on a new connection. @returns Everything that the server sends until the connection closes.
 */
async function raw(lines: readonly string[], body: string | Buffer = ''): Promise<string> {
  const { port } = new URL(service.url);
  const socket = connect(Number(port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write([...lines, 'Connection: close', '', ''].join('\r\n'));
  socket.write(body);
  return text(socket);
}

/** Sends a request whose body has chunked transfer encoding. The body is one chunk. */
function inPieces(path: string, headers: Readonly<Record<string, string>>, body: string | Buffer): Promise<string> {
  const lines = Object.entries({ ...member.headers, ...headers }).map(([name, value]) => `${name}: ${value}`);
  const bytes = Buffer.from(body);
  const chunks = [`${bytes.length.toString(16)}\r\n`, bytes, '\r\n0\r\n\r\n'].map((part) => Buffer.from(part));
  return raw([`POST ${path} HTTP/1.1`, ...lines], Buffer.concat(chunks));
}

describe('an unreadable body', () => {
  test.for(UNREADABLE)('is refused: %s', async ([, headers, body]) => {
    const reply = await ask('POST', '/api/v1/drafts', headers, body);
    expect([reply.status, JSON.parse(reply.text)]).toEqual([
      415,
      { result: 'error', code: 'BAD_REQUEST', msg: expect.stringMatching(/^The request body must /) },
    ]);
    // The body has chunked encoding, so the head does not state its length.
    const chunked = { ...headers, 'transfer-encoding': 'chunked' };
    expect((await ask('POST', '/api/v1/drafts', chunked)).status).toBe(200);
    expect((await inPieces('/api/v1/drafts', chunked, body)).slice(0, 12)).toBe('HTTP/1.1 415');
  });

  test('is refused by every endpoint, but ignored where bodies have no meaning', async () => {
    const wrong: unknown[] = [];
    for (const { method, path } of routes) {
      for (const [title, headers, body] of UNREADABLE) {
        const { status } = await ask(method, `/api/v1${path.replaceAll(/\{\w+\}/g, '1')}`, headers, body);
        const isIgnored = method === 'GET' && !title.startsWith('a form in');
        if ((status === 415) === isIgnored) wrong.push([method, path, title, status]);
      }
    }
    expect(wrong).toEqual([]);
  });

  test.for(UNREADABLE.filter(([title]) => !/^JSON( with a charset)?$/.test(title)))(
    'is refused by GraphQL: %s',
    async ([, headers, body]) => {
      const reply = await ask('POST', '/graphql', headers, body);
      expect([reply.status, JSON.parse(reply.text)]).toEqual([
        415,
        { errors: [{ message: expect.any(String), extensions: { code: 'BAD_REQUEST' } }] },
      ]);
    },
  );

  test('in another charset is refused by GraphQL', async () => {
    const body = '{"query":"{ viewer { databaseId } }"}';
    const statusOf = async (type: string, headers = {}) =>
      (await ask('POST', '/graphql', { 'content-type': type, ...headers }, body)).status;
    expect(await statusOf('application/json; charset=UTF-8')).toBe(200);
    expect(await statusOf('application/json; charset="utf-8"')).toBe(200);
    expect(await statusOf('application/json; charset=utf-16')).toBe(415);
    expect(await statusOf('application/json; charset=utf-16', { accept: 'text/event-stream' })).toBe(415);
  });

  test('with files is refused by endpoints that accept none', async () => {
    const { type, content } = multipart([['drafts', Buffer.from('[]')]]);
    const reply = await ask('POST', '/api/v1/drafts', { 'content-type': type }, content);
    expect([reply.status, JSON.parse(reply.text).msg]).toEqual([400, 'This endpoint does not accept files.']);
  });
});

test.for([
  ['a form', { 'content-type': FORM }, FIELDS],
  ['a form with a charset', { 'content-type': `${FORM}; charset=UTF-8` }, FIELDS],
  [
    'a form of ASCII in another charset',
    { 'content-type': `${FORM};charset=ISO-8859-1` },
    FIELDS.replace('%C3%A9', 'e'),
  ],
  ['a form with the encoding that changes nothing', { 'content-type': FORM, 'content-encoding': 'identity' }, FIELDS],
  ['a type in capitals', { 'content-type': FORM.toUpperCase() }, FIELDS],
] as const)('a readable body is accepted: %s', async ([, headers, body]) => {
  const { status, text: read } = await ask('POST', '/api/v1/drafts', headers, body);
  expect([status, JSON.parse(read).ids]).toEqual([200, [expect.any(Number)]]);
});

test('an empty body is never refused, whatever its type', async () => {
  for (const type of ['application/json', 'text/plain', FORM, 'multipart/form-data']) {
    const headers = { 'content-type': type };
    expect((await ask('GET', '/api/v1/users/me', headers)).status).toBe(200);
    expect((await ask('DELETE', '/api/v1/drafts/999', { ...headers, 'content-length': '0' })).status).toBe(404);
  }
});

describe('the Host header', () => {
  const { stringify } = JSON;
  test.for([
    ['two of them', ['other.example']],
    ['the same twice', [undefined]],
    ['three', [undefined, 'other.example']],
    ['an empty one', ['']],
  ] as const)('is refused unless sent once: %s', async ([, more]) => {
    for (const path of ['/api/v1/users/me', '/graphql', '/docs', '/avatar/1', '/nothing']) {
      const hosts = [member.host, ...more.map((host) => host ?? member.host)];
      const reply = await raw([
        `GET ${path} HTTP/1.1`,
        ...hosts.map((host, i) => `${i === 0 ? 'Host' : 'hOST'}: ${host}`),
        `Authorization: ${member.authorization}`,
      ]);
      expect([path, reply.slice(0, 12)]).toEqual([path, 'HTTP/1.1 400']);
      expect(reply).toContain(stringify('The request has more than one Host header').slice(1, -1));
    }
  });

  test('is refused unless sent once, also in an upgrade', async () => {
    const reply = await raw([
      'GET /graphql HTTP/1.1',
      ...[`Host: ${member.host}`, 'Host: other.example', 'Upgrade: websocket', 'Connection: Upgrade'],
      ...['Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=='],
    ]);
    expect(reply.slice(0, 12)).toBe('HTTP/1.1 400');
  });
});

describe('a path with empty segments', () => {
  test.for([
    ['//api/v1/users/me', 200],
    ['///api/v1/users/me', 200],
    ['/api/v1//users/me', 200],
    ['//api//v1//users/me?client=x', 200],
    ['//graphql?query={__typename}', 200],
    ['//docs', 200],
    ['//healthz', 200],
    // Slashes in the value of a path variable are preserved, and empty path segments are not removed.
    ['/api/v1/users//me', 404],
    ['/api/v1/users/me//', 404],
    ['//api/v1', 404],
    ['//api/v12/users/me', 404],
    ['//', 200],
  ] as const)('is normalized: %s', async ([path, status]) => {
    expect((await ask('GET', path, { accept: 'application/json' })).status).toBe(status);
  });

  test('works for changes, sockets, and parameters with slashes', async () => {
    const headers = { 'content-type': FORM };
    expect((await ask('POST', '//api/v1/users/me/status', headers, 'status_text=here')).status).toBe(200);
    const reply = await ask('GET', `//api/v1/users/${encodeURIComponent('a//b@dock.example')}`, {});
    expect([reply.status, JSON.parse(reply.text).msg]).toEqual([400, 'No such user']);
    const { queue_id: queueId } = await member.register({ fetch_event_types: [] });
    await using stream = await EventStream.open({ url: `${service.url}/`, headers: member.headers }, 'position', {
      ...{ queueId, transport: 'ws' },
    });
    await member.ok('POST', '/users/me/status', { status_text: 'there' });
    await stream.next();
  });
});

test.for([
  [0, '0'],
  [0.001, '1'],
  [1, '1'],
  [28.7068, '29'],
  [59.999_999, '60'],
  [-0.5, '0'],
  [1e-9, '1'],
] as const)('Retry-After contains whole seconds, rounded up: %s', ([seconds, header]) => {
  expect(retryAfterHeader(seconds)).toBe(header);
  const written: string[] = [];
  const socket = { end: (part: string) => written.push(part), once: () => {}, on: () => {}, destroy: () => {} };
  answerBare(socket as never, 429, 'Later', { code: 'RATE_LIMIT_HIT', 'retry-after': seconds });
  expect(written.join()).toContain(`\r\nRetry-After: ${header}\r\n`);
  expect(written.join()).toContain(`"retry-after":${seconds}}`);
});

describe('the avatar of a user by email address', () => {
  const avatar = async (address: string, headers: Readonly<Record<string, string>> = member.headers) => {
    const { status, headers: got } = await send(service.url, { method: 'GET', path: `/avatar/${address}`, headers });
    return [status, got['location'] ?? got['content-type'], got['cache-control']];
  };
  const NEUTRAL = [200, 'image/png', 'private, no-store'];

  test('redirects an authenticated client to the avatar of a visible address', async () => {
    const url = (await member.ok('GET', `/users/${owner.id}`)).user.avatar_url;
    const to = [302, url, 'private, no-store'];
    expect(await avatar(owner.email)).toEqual(to);
    expect(await avatar(encodeURIComponent(owner.email.toUpperCase()))).toEqual(to);
    expect(await avatar(`${owner.email}/medium`)).toEqual([302, url.replace('?', '/medium?'), 'private, no-store']);
    expect(await avatar(owner.email, { ...member.headers, authorization: `Bearer ${member.apiKey}` })).toEqual(to);
    await owner.ok('PATCH', '/settings', { email_address_visibility: 5 });
    expect(await avatar(owner.email)).toEqual(NEUTRAL);
    expect(await avatar(owner.email, owner.headers)).toEqual(to);
  });

  test('is a neutral image for unknown addresses, and for clients without credentials', async () => {
    const anonymous = { host: member.host };
    const other = await createOrganization({}, { on: service });
    for (const address of [
      'nobody@dock.example',
      other.owner.email,
      '@',
      'user999999999@nowhere',
      '%00@dock.example',
    ]) {
      expect(await avatar(address)).toEqual(NEUTRAL);
      expect(await avatar(address, anonymous)).toEqual(NEUTRAL);
    }
    expect(await avatar(member.email, anonymous)).toEqual(NEUTRAL);
    expect(await avatar(`${member.email}/medium`, anonymous)).toEqual(NEUTRAL);
    const { status } = await send(service.url, {
      ...{ method: 'GET', path: `/avatar/${member.email}` },
      headers: { ...anonymous, authorization: `Basic ${Buffer.from(`${member.email}:wrong`).toString('base64')}` },
    });
    expect(status).toBe(401);
  });
});
