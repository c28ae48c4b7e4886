import { once } from 'node:events';
import { connect } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { beforeAll, describe, expect, test } from 'vitest';
import { type ClientOptions, WebSocket } from 'ws';
import { type Reply, send } from '../helpers/http.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';

// Tests requests that a page of another site can make a browser send with the user's credentials. Also tests requests of
// programs that are not browsers, or that use an origin of their own.

type Headers = Readonly<Record<string, string>>;

const EVIL = 'https://evil.example';
/**
 * Headers that a browser sends when a page of another site submits a form (`FORM`), and when a script on it sends a request
 * (`SCRIPT`).
 */
const FORM: Headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
const SCRIPT: Headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' };
const PASSWORD = 'correct horse battery';
const URLENCODED = 'application/x-www-form-urlencoded';

let people: Organization;
let member: Person;
let own: string;
let cookie: string;

beforeAll(async () => {
  people = await createOrganization({}, { password: PASSWORD });
  ({ member } = people);
  own = `http://${member.host}`;
  const signedIn = await send(member.url, {
    ...{ method: 'POST', path: '/api/v1/sessions' },
    headers: { host: member.host, 'content-type': URLENCODED },
    body: new URLSearchParams({ username: people.owner.email, password: PASSWORD }).toString(),
  });
  // All cookies of the server have the same ending, which differs between databases.
  const [, ending] = /^chat-session(-\w+)=/.exec(signedIn.headers['set-cookie']?.[0] ?? '') ?? [];
  cookie = `chat-start${ending}=x`;
});

const bearer = () => ({ host: member.host, authorization: `Bearer ${member.apiKey}` });

interface Door {
  readonly name: string;
  /** Makes a change with these headers. The status is 200 if the change succeeds. */
  readonly change: (headers: Headers) => Promise<Reply>;
}

const status = (headers: Headers, method = 'POST', type = URLENCODED) =>
  send(member.url, {
    method,
    path: '/api/v1/users/me/status',
    headers: { ...headers, 'content-type': type },
    body: 'status_text=hello',
  });

const operation = (query: string) => (headers: Headers) =>
  send(member.url, {
    method: 'POST',
    path: '/graphql',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query }),
  });

const DOORS: readonly Door[] = [
  { name: 'REST', change: (headers) => status(headers) },
  {
    name: 'GraphQL',
    change: operation('mutation { addAlertWords(input: { words: ["pier"] }) { __typename } }'),
  },
  {
    name: 'GraphQL as an event stream',
    change: (headers) => operation('{ viewer { fullName } }')({ ...headers, accept: 'text/event-stream' }),
  },
];

const codeOf = ({ text }: Reply): unknown => {
  if (text.startsWith('event: ')) return undefined;
  const body = JSON.parse(text);
  return body.code ?? body.errors?.[0].extensions.code;
};

describe.for(DOORS)('$name', ({ change }) => {
  test.for<[string, Headers]>([
    ['a form of another site', { ...FORM, origin: EVIL }],
    ['a form of another site that hides its origin', { ...FORM, origin: 'null' }],
    ['a form that says no origin', FORM],
    ['a script of another site', { ...SCRIPT, origin: EVIL }],
    [
      'a page of another organization of this server',
      { ...SCRIPT, 'sec-fetch-site': 'same-site', origin: 'http://other.localhost' },
    ],
    [
      'a page at another port of this machine',
      { ...SCRIPT, 'sec-fetch-site': 'same-site', origin: 'http://127.0.0.1:1' },
    ],
    ['a browser that does not say of which site', { 'sec-fetch-mode': 'cors', origin: EVIL }],
    ['an origin that begins like ours', { 'sec-fetch-mode': 'cors', origin: 'http://localhost.evil.example' }],
    ['an origin that is none', { 'sec-fetch-mode': 'cors', origin: 'evil' }],
  ])('refuses Basic credentials that a browser can have sent by itself, for %s', async ([, headers]) => {
    const reply = await change({ ...member.headers, ...headers });
    expect([reply.status, codeOf(reply)]).toEqual([403, 'CSRF_FAILED']);
    expect(reply.headers['x-content-type-options']).toBe('nosniff');
  });

  test.for<[string, Headers]>([
    ['of another site', { ...FORM, origin: EVIL }],
    ['of another port', { ...SCRIPT, 'sec-fetch-site': 'same-site', origin: 'http://127.0.0.1:1' }],
    ['in a browser that says an origin alone', { origin: EVIL }],
    ['that hides its origin', { origin: 'null' }],
  ])('refuses the session cookie for a page %s', async ([, headers]) => {
    const reply = await change({ host: member.host, cookie, ...headers });
    expect([reply.status, codeOf(reply)]).toEqual([403, 'CSRF_FAILED']);
  });

  test.for<[string, () => Headers]>([
    ['a page of ours', () => ({ ...SCRIPT, 'sec-fetch-site': 'same-origin', origin: own })],
    ['a form of ours that sends no referrer', () => ({ ...FORM, 'sec-fetch-site': 'same-origin', origin: 'null' })],
    [
      'a page of ours behind a proxy that names another Host',
      () => ({ ...SCRIPT, 'sec-fetch-site': 'same-origin', origin: 'https://chat.example' }),
    ],
    ['our origin, where the browser does not say of which site', () => ({ 'sec-fetch-mode': 'cors', origin: own })],
    ['an address typed by the user', () => ({ ...FORM, 'sec-fetch-site': 'none' })],
    ['a script outside of browsers that says how it asks', () => ({ 'sec-fetch-mode': 'cors' })],
    ['a program of no origin', () => ({})],
    ['a program of a foreign origin', () => ({ origin: EVIL })],
    ['a program of the origin "null"', () => ({ origin: 'null' })],
    ['a program of a file', () => ({ origin: 'file://' })],
    ['a program of its own scheme, whose window is a browser', () => ({ ...SCRIPT, origin: 'app://chat' })],
    [
      'a program of a file that sends what a page would ask leave for',
      () => ({ ...SCRIPT, origin: 'file://', 'x-requested-with': 'chat' }),
    ],
    [
      'a program of the origin "null" that does',
      () => ({ ...SCRIPT, origin: 'null', 'idempotency-key': crypto.randomUUID() }),
    ],
  ])('accepts Basic credentials of %s', async ([, headers]) => {
    const reply = await change({ ...member.headers, ...headers() });
    expect([reply.status, codeOf(reply)]).toEqual([200, undefined]);
  });
});

test.for(['null', 'file://', EVIL, 'app://chat'])(
  'a bearer token is accepted from %s, because no browser sends it automatically',
  async (origin) => {
    for (const { name, change } of DOORS.slice(1)) {
      const reply = await change({ ...bearer(), ...SCRIPT, origin, cookie });
      expect([name, reply.status]).toEqual([name, 200]);
    }
  },
);

test('neither a method override in a form nor another case of "Basic" avoids the check', async () => {
  const { host } = member;
  const authorization = member.authorization?.replace('Basic', 'bAsIc') ?? '';
  expect(codeOf(await status({ host, authorization, ...FORM, origin: EVIL }))).toBe('CSRF_FAILED');
  const body = 'method=DELETE&alert_words=["pier"]';
  const headers = { ...member.headers, ...FORM, 'content-type': URLENCODED };
  const reply = await send(member.url, { method: 'POST', path: '/api/v1/users/me/alert_words', headers, body });
  expect(codeOf(reply)).toBe('CSRF_FAILED');
  for (const type of ['text/plain', 'multipart/form-data; boundary=x', 'Text/Plain; charset=x']) {
    expect(codeOf(await status({ ...member.headers, ...SCRIPT, origin: 'null' }, 'POST', type))).toBe('CSRF_FAILED');
  }
});

test('an operation of a page of another site is not parsed', async () => {
  const path = `/graphql?query=${encodeURIComponent('{ viewer { fullName } }')}`;
  const ask = (headers: Headers) =>
    send(member.url, { method: 'GET', path, headers: { host: member.host, ...headers } });
  for (const accept of ['application/json', 'text/event-stream']) {
    for (const headers of [{ cookie }, member.headers]) {
      const foreign = await ask({ ...SCRIPT, origin: EVIL, accept, ...headers });
      expect([foreign.status, codeOf(foreign)]).toEqual([403, 'CSRF_FAILED']);
      const sameSite = await ask({ ...SCRIPT, 'sec-fetch-site': 'same-site', accept, ...headers });
      expect(sameSite.status).toBe(403);
    }
    expect((await ask({ ...SCRIPT, 'sec-fetch-site': 'same-origin', accept, ...member.headers })).status).toBe(200);
  }
  // Simulates a click on a link of another site that opens GraphiQL.
  expect((await ask({ ...FORM, accept: 'text/html', cookie })).status).toBe(200);
});

test('reads need no protection: a link from another site works', async () => {
  const reply = await send(member.url, {
    method: 'GET',
    path: '/api/v1/users/me',
    headers: { ...member.headers, ...FORM },
  });
  expect(reply.status).toBe(200);
});

describe('a socket', () => {
  /** Returns the status of the response to a WebSocket handshake, which is 101 if the server accepts it. */
  async function handshake(headers: Headers): Promise<number> {
    const { host, ...others } = { ...member.headers, ...headers };
    const options: ClientOptions = { headers: { host: host ?? '', ...others } };
    const socket = new WebSocket(`${member.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws', options);
    const [event] = await Promise.race([
      once(socket, 'open').then(() => [101]),
      once(socket, 'unexpected-response').then(([, { statusCode }]) => [statusCode]),
    ]);
    socket.on('error', () => {});
    socket.terminate();
    return event;
  }
  const AS_SOCKET = { ...SCRIPT, 'sec-fetch-mode': 'websocket' };

  test('is refused if a browser sends credentials for a page of another site', async () => {
    expect(await handshake({ ...AS_SOCKET, origin: EVIL })).toBe(403);
    expect(await handshake({ ...AS_SOCKET, origin: 'null', 'x-requested-with': 'chat' })).toBe(403);
    // The server refuses the handshake before it reads `connection_init`. It accepts handshakes of programs that are not
    // browsers.
    expect(await handshake({ authorization: '', origin: EVIL })).toBe(403);
    expect(await handshake({ authorization: '', origin: 'app://chat' })).toBe(101);
    expect(await handshake({ authorization: '', origin: own })).toBe(101);
    const { authorization: _, ...nobody } = member.headers;
    const without = (headers: Headers) => handshake({ ...nobody, authorization: '', ...headers });
    expect(await without({ ...AS_SOCKET, origin: EVIL, cookie })).toBe(403);
  });

  test('is authenticated by connection_init, and not by its handshake', async () => {
    const socket = new WebSocket(`${member.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws', {
      headers: { host: member.host, authorization: member.authorization ?? '' },
    });
    await once(socket, 'open');
    const answer = async (message: object) => {
      socket.send(JSON.stringify(message));
      return JSON.parse(String((await once(socket, 'message'))[0]));
    };
    expect(await answer({ type: 'connection_init' })).toMatchObject({ type: 'connection_ack' });
    const said = await answer({ id: '1', type: 'subscribe', payload: { query: '{ viewer { fullName } }' } });
    socket.terminate();
    expect(said.payload).toMatchObject({ errors: [{ extensions: { code: 'UNAUTHORIZED' } }] });
  });
});

describe('the challenge of a 401', () => {
  const ways: [string, (headers: Headers) => Promise<Reply>][] = [
    ['REST', (headers) => send(member.url, { method: 'GET', path: '/api/v1/users/me', headers })],
    ['GraphQL', (headers) => operation('{ viewer { fullName } }')({ ...headers, authorization: 'Basic eDp5' })],
    [
      'an event stream',
      (headers) =>
        operation('{ viewer { fullName } }')({ ...headers, accept: 'text/event-stream', authorization: 'Basic eDp5' }),
    ],
  ];

  test.for(ways)('is sent over %s, except to requests with headers of a browser', async ([, ask]) => {
    const { host } = member;
    for (const headers of [{ host }, { host, origin: EVIL }, { host, origin: own }]) {
      const reply = await ask(headers);
      expect([reply.status, reply.headers['www-authenticate']]).toEqual([401, 'Basic realm="Team chat API"']);
    }
    for (const name of ['sec-fetch-site', 'sec-fetch-mode', 'sec-fetch-dest', 'sec-fetch-user']) {
      const reply = await ask({ host, [name]: 'same-origin' });
      expect([reply.status, reply.headers['www-authenticate']]).toEqual([401, undefined]);
    }
  });
});

describe('nosniff', () => {
  test('is on every reply of every API: success, error, redirect and empty reply', async () => {
    const { host } = member;
    const asked: [string, string, Headers, string?][] = [
      ...(
        [
          '/',
          '/developers',
          '/docs',
          '/healthz',
          '/readyz',
          '/nothing',
          '/api/v1/nothing',
          '/api/v1/openapi.json',
          '/schema.graphql',
          '/confirm-email',
        ] as const
      ).map((path): [string, string, Headers] => ['GET', path, {}]),
      ['OPTIONS', '/api/v1/users/me', {}],
      ['DELETE', '/api/v1/users', {}],
      ['GET', '/api/v1/users/me', {}],
      ['GET', `/avatar/${member.id}`, {}],
      ['GET', '/graphql?query={__typename}', {}],
      ['GET', '/graphql?query={', {}],
      ['GET', '/graphql', { accept: 'text/html' }],
      ['GET', '/graphql?query={__typename}', { accept: 'text/event-stream' }],
      ['OPTIONS', '/graphql', {}],
      ['PUT', '/graphql', {}],
      ['POST', '/graphql', { 'content-type': 'text/html' }, '<script>'],
      ['POST', '/graphql', { 'content-type': 'application/json' }, '['],
      ['POST', '/graphql', { 'content-type': 'application/json' }, '{"query":"{ viewer { id } }"}'],
    ];
    for (const [method, path, headers, body] of asked) {
      const reply = await send(member.url, { method, path, headers: { host, ...headers }, body });
      expect([method, path, reply.status, reply.headers['x-content-type-options']]).toEqual([
        method,
        path,
        expect.any(Number),
        'nosniff',
      ]);
    }
  });

  test('is on replies to malformed requests and handshakes', async () => {
    const { port } = new URL(member.url);
    const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket';
    for (const head of [
      'nonsense',
      `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(40_000)}`,
      `GET /elsewhere HTTP/1.1\r\nHost: localhost\r\n${upgrade}`,
      `GET /graphql HTTP/1.1\r\nHost: localhost\r\n${upgrade}`,
      `GET /graphql HTTP/1.1\r\nHost: localhost\r\n${upgrade}\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13`,
    ]) {
      const socket = connect(Number(port), '127.0.0.1');
      socket.on('error', () => {});
      socket.write(`${head}\r\n\r\n`);
      const answer = await textOf(socket);
      expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /);
      expect(answer).toMatch(/^X-Content-Type-Options: nosniff\r$/m);
    }
  });
});
