import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openSession } from '../../src/access/sessions.ts';
import { cookieName } from '../../src/api/cookies.ts';
import { sessionTokenIn } from '../../src/api/sessions.ts';
import { readConfig } from '../../src/platform/config.ts';
import { TOTALS } from '../../src/platform/totals.ts';
import { EventStream } from '../helpers/events.ts';
import { globalId } from '../helpers/global-ids.ts';
import { type Json, type Reply, send } from '../helpers/http.ts';
import type { InProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { RawSocket } from '../helpers/raw-socket.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';
import { startOnDatabaseOfRun } from '../helpers/service.ts';

// Tests sessions of browsers, which use a cookie: how they start, what they permit, and how they end.

const PASSWORD = 'correct horse battery';
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

let now = Date.now();
let service: InProcess;
let people: Organization;
let owner: Person;

beforeAll(async () => {
  service = await startOnDatabaseOfRun({ env: { EVENT_QUEUE_WRITE_SECONDS: '0.2' }, now: () => new Date(now) });
  people = await createOrganization({}, { on: service, password: PASSWORD });
  ({ owner } = people);
});
afterAll(() => service[Symbol.asyncDispose]());

/** A browser tab that stores its session cookie. */
class Tab {
  cookie: string;
  readonly #host: string;

  constructor(host: string, cookie = '') {
    this.#host = host;
    this.cookie = cookie;
  }

  get headers(): Record<string, string> {
    return { host: this.#host, ...(this.cookie !== '' && { cookie: this.cookie }) };
  }

  /** Sends a request in this session. @param asked.keeps Whether the tab stores the cookie of the response. */
  async ask(method: string, path: string, { form = {}, json, keeps = true, headers = {} }: Asked = {}): Promise<Reply> {
    const body = json === undefined ? new URLSearchParams(form).toString() : JSON.stringify(json);
    const type = json === undefined ? 'application/x-www-form-urlencoded' : 'application/json';
    const reply = await send(service.url, {
      ...{ method, path },
      headers: { ...this.headers, ...(body !== '' && { 'content-type': type }), ...headers },
      body: body === '' ? undefined : body,
    });
    if (keeps) this.keep(reply);
    return reply;
  }

  keep({ headers }: Pick<Reply, 'headers'>): void {
    for (const line of headers['set-cookie'] ?? []) this.cookie = line.split(';')[0] ?? '';
  }

  async graphql(query: string): Promise<Json> {
    return JSON.parse((await this.ask('POST', '/graphql', { json: { query } })).text);
  }

  /** Returns the status of a request that requires authentication. */
  async status(): Promise<number> {
    return (await this.ask('GET', '/api/v1/users/me')).status;
  }

  /** Subscribes to a queue in this session. */
  events(queueId: string, transport: 'ws' | 'sse'): Promise<EventStream> {
    return EventStream.open({ url: service.url, headers: this.headers }, 'position', { queueId, transport });
  }
}

interface Asked {
  readonly form?: Readonly<Record<string, string>>;
  readonly json?: object;
  readonly keeps?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

async function signedIn({ on = people, headers = {} }: { on?: Organization; headers?: Record<string, string> } = {}) {
  const tab = new Tab(on.owner.host);
  const form = { username: on.owner.email, password: PASSWORD };
  const reply = await tab.ask('POST', '/api/v1/sessions', { form, headers });
  expect(reply.status).toBe(200);
  return { tab, reply, id: JSON.parse(reply.text).session_id as number };
}

const listed = async (tab: Tab): Promise<Json[]> =>
  JSON.parse((await tab.ask('GET', '/api/v1/sessions')).text).sessions;

/** Opens a subscription over each transport and a long poll, all in one session. Each of them reads a queue of its own. */
async function openEverything(tab: Tab, on: Organization = people) {
  const newQueue = async () => (await on.owner.register({ fetch_event_types: [] })) as Json;
  const [ws, sse] = [
    await tab.events((await newQueue()).queue_id, 'ws'),
    await tab.events((await newQueue()).queue_id, 'sse'),
  ];
  const { queue_id, last_event_id } = await newQueue();
  const poll = tab.ask('GET', `/api/v1/events?queue_id=${queue_id}&last_event_id=${last_event_id}`);
  await isRead(queue_id, on);
  return { ws, sse, poll };
}

/** Waits until a client is reading this queue of the owner. */
async function isRead(queueId: string, { owner, organization }: Organization = people): Promise<void> {
  const viewer = { id: owner.id, organization, clientName: 'test' };
  await expect.poll(async () => (await service.app.queues.look({ viewer }, queueId)).reader).toBeDefined();
}

async function expectAllEnded({ ws, sse, poll }: Awaited<ReturnType<typeof openEverything>>): Promise<void> {
  expect(await ws.ended).toMatchObject({ how: 'closed', code: 4403 });
  expect(await sse.ended).toMatchObject({ how: 'complete' });
  expect((await poll).status).toBe(200);
}

describe('signing in', () => {
  test('sets a cookie that scripts, other ports and other sites cannot send, in both APIs', async () => {
    const { tab, reply } = await signedIn();
    const [cookie = ''] = reply.headers['set-cookie'] ?? [];
    expect(cookie).toMatch(
      new RegExp(
        `^${cookieName(service.app.config, 'session')}=[\\w-]{43}; Max-Age=7776000; Path=/; HttpOnly; SameSite=Lax$`,
      ),
    );
    expect(await tab.status()).toBe(200);
    const other = new Tab(owner.host);
    const { data } = await other.graphql(
      `mutation { signIn(input: { username: "${owner.email}", password: "${PASSWORD}" }) { __typename
        ... on SignInPayload { userId sessionId } } }`,
    );
    expect(data.signIn).toMatchObject({ __typename: 'SignInPayload' });
    expect((await other.graphql('{ viewer { databaseId } }')).data.viewer.databaseId).toBe(owner.id);
  });

  test.for([
    ['http://chat.lan:8080', 'chat-session-8080'],
    ['http://chat.lan', 'chat-session'],
    ['http://chat.lan:80', 'chat-session'],
    ['https://chat.lan:8443', 'chat-session-8443'],
    ['chat.lan', 'chat-session'],
    ['localhost:8080', 'chat-session-8080'],
    ['192.168.1.2:8080', 'chat-session-8080'],
  ] as const)('has the same cookie name at every node of %s', ([EXTERNAL_HOST, name]) => {
    for (const PORT of ['4000', '4001', '80']) {
      const config = readConfig({ EXTERNAL_HOST, PORT });
      expect(cookieName(config, 'session')).toBe(name);
      expect(cookieName(config, 'call')).toBe(name.replace('session', 'call'));
    }
  });

  test('has a cookie name by an id from the database, without EXTERNAL_HOST', () => {
    const at = (env: Readonly<Record<string, string>>, cookieId: string) =>
      cookieName({ ...readConfig(env), cookieId }, 'session');
    expect(at({ PORT: '4000' }, 'one')).toBe('chat-session-one');
    expect(at({ PORT: '4001' }, 'one')).toBe('chat-session-one');
    expect(at({ PORT: '4000', EXTERNAL_HOST: 'http://chat.lan:8080' }, 'one')).toBe('chat-session-8080');
  });

  test('reads a cookie that the previous version named by the port, unless there is one of the current name', () => {
    const config = { ...readConfig({ PORT: '4000', TRUST_PROXY: '1' }), cookieId: 'one' };
    const read = (cookie: string, scheme = 'http') =>
      sessionTokenIn(config, (name) => ({ cookie, 'x-forwarded-proto': scheme })[name]);
    const current = cookieName(config, 'session');
    expect(read('chat-session-4000=before')).toBe('before');
    expect(read(`chat-session-4000=before; ${current}=now`)).toBe('now');
    expect(read('chat-session-4001=other; chat-session=other')).toBeUndefined();
    expect(read(`chat-session-4000=before; ${current}=now`, 'https')).toBeUndefined();
    expect(read('__Host-chat-session=now', 'https')).toBe('now');
  });

  test('has a name by the port over https as well, and reads the name of the previous version', () => {
    const at = (host: string, cookie: string) =>
      sessionTokenIn(readConfig({ EXTERNAL_HOST: host }), (name) => ({ cookie })[name]);
    const both = '__Host-chat-session-8443=first; __Host-chat-session-9443=second; __Host-chat-session=third';
    expect(
      ['https://chat.lan:8443', 'https://chat.lan:9443', 'https://chat.lan'].map((host) => at(host, both)),
    ).toEqual(['first', 'second', 'third']);
    expect(at('https://chat.lan:8443', '__Host-chat-session=before')).toBe('before');
    expect(at('https://chat.lan:8443', '__Host-chat-session-9443=other')).toBeUndefined();
  });

  test('over https sets a secure cookie', async () => {
    await using served = await startOnDatabaseOfRun({ env: { TRUST_PROXY: '1' } });
    const there = await createOrganization({}, { on: served, password: PASSWORD });
    const reply = await send(served.url, {
      ...{ method: 'POST', path: '/api/v1/sessions' },
      headers: {
        host: there.owner.host,
        'content-type': 'application/x-www-form-urlencoded',
        'x-forwarded-proto': 'https',
      },
      body: new URLSearchParams({ username: there.owner.email, password: PASSWORD }).toString(),
    });
    const [cookie = ''] = reply.headers['set-cookie'] ?? [];
    expect(cookie).toMatch(/^__Host-chat-session=[\w-]{43}; Max-Age=7776000; Path=\/; HttpOnly; Secure; SameSite=Lax$/);
    const ask = (proto: string) =>
      send(served.url, {
        ...{ method: 'GET', path: '/api/v1/users/me' },
        headers: { host: there.owner.host, cookie: cookie.split(';')[0] ?? '', 'x-forwarded-proto': proto },
      });
    expect((await ask('https')).status).toBe(200);
    expect((await ask('http')).status).toBe(401);
  });

  test('fails like a request for an API key, and over a socket, which cannot set a cookie', async () => {
    const tab = new Tab(owner.host);
    const wrong = await tab.ask('POST', '/api/v1/sessions', { form: { username: owner.email, password: 'wrong' } });
    expect([wrong.status, JSON.parse(wrong.text).code, wrong.headers['set-cookie']]).toEqual([
      401,
      'AUTHENTICATION_FAILED',
      undefined,
    ]);
    const mutation = `mutation { signIn(input: { username: "${owner.email}", password: "${PASSWORD}" }) { ... on ServiceError { code } } }`;
    expect((await people.anonymous.graphqlOverSocket(mutation)).data.signIn.code).toBe('BAD_REQUEST');
  });

  test.for([
    { origin: 'https://evil.example' },
    { origin: 'null', 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ])('is refused for a page of another site, with or without a cookie: %o', async (headers) => {
    const tab = new Tab(owner.host);
    const form = { username: owner.email, password: PASSWORD };
    const reply = await tab.ask('POST', '/api/v1/sessions', { form, headers });
    expect([reply.status, tab.cookie]).toEqual([403, '']);
    const query = `mutation { signIn(input: { username: "${owner.email}", password: "${PASSWORD}" }) { ... on ServiceError { code } } }`;
    const graphql = await tab.ask('POST', '/graphql', { json: { query }, headers });
    expect([JSON.parse(graphql.text).data?.signIn.code, tab.cookie]).toEqual(['CSRF_FAILED', '']);
  });

  test('ends the previous session of the browser; an expired cookie does not prevent it', async () => {
    const { tab } = await signedIn();
    const before = new Tab(owner.host, tab.cookie);
    await tab.ask('POST', '/api/v1/sessions', { form: { username: owner.email, password: PASSWORD } });
    expect([await tab.status(), await before.status()]).toEqual([200, 401]);
    await before.graphql(
      `mutation { signIn(input: { username: "${owner.email}", password: "${PASSWORD}" }) { __typename } }`,
    );
    expect(await before.status()).toBe(200);
  });
});

describe('a session', () => {
  test('is accepted over every transport, but an API key in the request takes precedence', async () => {
    const { tab } = await signedIn();
    const { queue_id } = await owner.register({ fetch_event_types: [] });
    for (const transport of ['ws', 'sse'] as const) {
      await using stream = await tab.events(queue_id, transport);
      await owner.ok('POST', '/users/me/status', { status_text: transport });
      expect(await stream.next()).toEqual({ position: expect.any(Number) });
    }
    const named = { authorization: people.member.authorization ?? '' };
    const reply = await tab.ask('GET', '/api/v1/users/me', { headers: named });
    expect(JSON.parse(reply.text).user_id).toBe(people.member.id);
    const bad = await tab.ask('GET', '/api/v1/users/me', { headers: { authorization: 'Basic eDp5' } });
    expect(JSON.parse(bad.text).code).toBe('INVALID_API_KEY');
  });

  test('is limited to one organization', async () => {
    const { tab } = await signedIn();
    const other = await createOrganization({}, { on: service });
    expect(await new Tab(other.owner.host, tab.cookie).status()).toBe(401);
  });

  test('is stored as a hash', async () => {
    const { tab, id } = await signedIn();
    const row = await service.app.db.session.findFirstOrThrow({ where: { id } });
    const token = tab.cookie.split('=')[1] ?? '';
    expect(JSON.stringify(row)).not.toContain(token);
    expect(Buffer.from(row.tokenHash).equals(service.app.keys.hash(token))).toBe(true);
  });

  test('of a person can be seen and ended by administrators, and that of an administrator not by moderators', async () => {
    const { administrator, member, moderator } = people;
    const begin = async ({ id }: Person) => {
      const user = await service.app.db.user.findFirstOrThrow({
        where: { organizationId: people.organization.id, id },
      });
      const { app } = service;
      const place = { app, work: app.work, caller: undefined, clientName: 'test' };
      return (
        await openSession(
          place,
          user,
          { userAgent: 'Browser/2.0', networkAddress: '127.0.0.1' },
          { method: 'password', change: async () => {} },
        )
      ).session.id;
    };
    const [ofMember, ofAdministrator] = [await begin(member), await begin(administrator)];
    const seen = async (by: Person, user: Person) =>
      (await by.ok('GET', `/users/${user.id}/sessions`)).sessions.map(({ id }: Json) => id);
    const query = `{ user(by: { email: "${member.email}" }) { sessions { nodes { databaseId isCurrent } } } }`;
    expect((await administrator.query(query)).user.sessions.nodes).toEqual([
      { databaseId: ofMember, isCurrent: false },
    ]);
    expect(await seen(administrator, member)).toEqual([ofMember]);
    expect(await seen(owner, administrator)).toEqual([ofAdministrator]);
    for (const by of [moderator, member]) {
      expect(await seen(by, administrator)).toEqual([]);
      expect((await by.rest('DELETE', `/sessions/${ofAdministrator}`)).status).toBe(404);
    }
    expect(await seen(moderator, member)).toEqual([]);
    await administrator.ok('DELETE', `/sessions/${ofMember}`);
    expect(await seen(administrator, member)).toEqual([]);
    const entries =
      '{ organization { auditLogEntries(first: 1) { nodes { action actor { databaseId } objectName } } } }';
    const [entry] = (await owner.query(entries)).organization.auditLogEntries.nodes;
    expect(entry).toMatchObject({ action: 'SESSIONS_ENDED', actor: { databaseId: administrator.id } });
    await owner.ok('DELETE', `/sessions/${ofAdministrator}`);
  });

  test('is not listed for an id that is no user of the organization', async () => {
    const { owner: stranger } = await createOrganization({}, { on: service });
    for (const id of [0, 2 ** 31 - 1, 2 ** 31, stranger.id]) {
      const reply = await people.administrator.rest('GET', `/users/${id}/sessions`);
      expect(reply).toMatchObject({ status: 400, body: { result: 'error', code: 'BAD_REQUEST', msg: 'No such user' } });
    }
  });

  test('of an owner is listed only to owners, over either API', async () => {
    const { tab, id } = await signedIn({ headers: { 'user-agent': 'Browser/1.0' } });
    const rest = await listed(tab);
    expect(rest.find((one) => one.id === id)).toMatchObject({
      ...{ user_agent: 'Browser/1.0', network_address: '127.0.0.1', is_current: true },
    });
    expect(rest.filter((one) => one.is_current)).toHaveLength(1);
    const query = `{ viewer { sessions(first: 100) { totalCount nodes { databaseId isCurrent userAgent } } } }`;
    const { sessions } = (await tab.graphql(query)).data.viewer;
    expect(sessions.totalCount).toBe(rest.length);
    expect(sessions.nodes[0]).toEqual({ databaseId: id, isCurrent: true, userAgent: 'Browser/1.0' });
    const others = `{ user(by: { email: "${owner.email}" }) { sessions(first: 1) { totalCount } } }`;
    expect((await people.administrator.query(others)).user.sessions.totalCount).toBe(0);
    const refused = await people.administrator.rest('DELETE', `/sessions/${id}`);
    expect([refused.status, await tab.status()]).toEqual([404, 200]);
  });

  test('counts towards a limit: beyond it, the session seen longest ago ends', async () => {
    const { tab, id } = await signedIn();
    now += 1;
    const row = await service.app.db.session.findFirstOrThrow({ where: { id } });
    const { max } = TOTALS.sessions;
    const { id: _, ...like } = row;
    const later = Array.from({ length: max - 1 }, (_, i) => ({
      ...like,
      tokenHash: new Uint8Array([i]),
      lastSeenAt: new Date(now),
    }));
    await service.app.db.session.deleteMany({ where: { userId: owner.id, id: { not: id } } });
    await service.app.db.session.createMany({ data: later });
    expect(await tab.status()).toBe(200);
    await signedIn();
    expect(await tab.status()).toBe(401);
    expect(await service.app.db.session.count({ where: { userId: owner.id } })).toBe(max);
    await service.app.db.session.deleteMany({ where: { userId: owner.id } });
  });
});

describe('the token of a session', () => {
  test('is replaced after an hour and sent until the browser uses it; the previous one stays valid for a minute', async () => {
    const { tab } = await signedIn();
    now += HOUR + 1;
    const before = new Tab(owner.host, tab.cookie);
    // Simulates concurrent tabs, and responses that are lost: none of the new cookies is stored.
    const replies = await Promise.all(
      Array.from({ length: 5 }, () => before.ask('GET', '/api/v1/users/me', { keeps: false })),
    );
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    const told = new Set(replies.map(({ headers }) => headers['set-cookie']?.[0]?.split(';')[0]));
    expect(told.size).toBe(1);
    now += DAY;
    expect(await before.status()).toBe(200);
    const after = new Tab(owner.host, [...told][0]);
    expect(before.cookie).toBe(after.cookie);
    const old = new Tab(owner.host, tab.cookie);
    expect(await after.status()).toBe(200);
    now += 59_000;
    expect((await old.ask('GET', '/api/v1/users/me', { keeps: false })).status).toBe(200);
    now += 2_000;
    expect([await old.status(), await after.status()]).toEqual([401, 200]);
  });

  test('is also sent over GraphQL and event streams', async () => {
    for (const headers of [{}, { accept: 'text/event-stream' }]) {
      const { tab } = await signedIn();
      const { cookie } = tab;
      now += HOUR + 1;
      await tab.ask('POST', '/graphql', { json: { query: '{ viewer { databaseId } }' }, headers });
      expect(tab.cookie).not.toBe(cookie);
      expect(await tab.status()).toBe(200);
    }
  });

  test('does not sign out a socket that was opened with the previous one', async () => {
    const { tab } = await signedIn();
    await using socket = await RawSocket.open(owner, undefined, { cookie: tab.cookie });
    socket.send({ type: 'connection_init' });
    await socket.next('connection_ack');
    for (const id of ['1', '2', '3']) {
      now += HOUR + 1;
      await tab.status();
      await tab.status();
      socket.send({ id, type: 'subscribe', payload: { query: '{ viewer { databaseId } }' } });
      expect((await socket.next('next')).payload.data.viewer.databaseId).toBe(owner.id);
    }
    await tab.ask('DELETE', '/api/v1/sessions/current');
    socket.send({ id: '4', type: 'subscribe', payload: { query: '{ viewer { databaseId } }' } });
    expect(await socket.closed).toMatchObject({ code: 4403 });
  });
});

describe('a connection in a session ends', () => {
  const ENDS: readonly [string, (tab: Tab, id: number) => Promise<unknown>][] = [
    ['when the browser signs out', (tab) => tab.ask('DELETE', '/api/v1/sessions/current')],
    ['when it is revoked', (_tab, id) => owner.ok('DELETE', `/sessions/${id}`)],
    ['when all others are', () => owner.graphql('mutation { revokeOtherSessions { __typename } }')],
    [
      'when the password is changed',
      () => owner.ok('PATCH', '/settings', { old_password: PASSWORD, new_password: PASSWORD }),
    ],
    [
      'when it was idle for two weeks',
      async () => {
        now += 14 * DAY;
      },
    ],
  ];

  test.for(ENDS)('%s', async ([, end]) => {
    const { tab, id } = await signedIn();
    const opened = await openEverything(tab);
    const { cookie } = tab;
    await end(tab, id);
    await expectAllEnded(opened);
    expect(await new Tab(owner.host, cookie).status()).toBe(401);
  });

  // A node is usually notified by an event in the log that a queue has ended. This test ends a queue without that event, as if
  // another node had ended it and its event arrived later.
  test.for([
    ['revoked', { how: 'closed', code: 4403 }],
    ['deleted', { how: 'complete' }],
    ['surplus', { how: 'errors', errors: [{ extensions: { code: 'BAD_EVENT_QUEUE_ID', reason: 'expired' } }] }],
    ['restored', { how: 'errors', errors: [{ extensions: { code: 'BAD_EVENT_QUEUE_ID', reason: 'restored' } }] }],
  ] as const)('when its queue is %s on another node, in the same way as there', async ([endReason, end]) => {
    const { queue_id: id } = await owner.register({ fetch_event_types: [] });
    await using stream = await owner.events('position', { queueId: id });
    await isRead(id);
    await service.app.db.eventQueue.updateMany({ where: { id }, data: { endedAt: new Date(now), endReason } });
    expect(await stream.ended).toMatchObject(end);
  });

  test('and does not end with another session or with the API key, nor do connections of the API key', async () => {
    const { tab } = await signedIn();
    const other = await signedIn();
    const queues = await Promise.all([0, 1].map(() => owner.register({ fetch_event_types: [] })));
    await using inSession = await tab.events(queues[0].queue_id, 'ws');
    await using byKey = await owner.events('position', { queueId: queues[1].queue_id });
    await owner.ok('DELETE', `/sessions/${other.id}`);
    await owner.ok('POST', '/users/me/status', { status_text: 'alive' });
    await Promise.all([inSession.next(), byKey.next()]);
    await tab.ask('POST', '/api/v1/users/me/api_key/regenerate');
    expect(await byKey.ended).toMatchObject({ how: 'closed', code: 4403 });
    await tab.ask('POST', '/api/v1/users/me/status', { form: { status_text: 'still alive' } });
    expect(await inSession.next()).toEqual({ position: expect.any(Number) });
  });
});

describe('a session with a sign-in more than ten minutes ago', () => {
  const WRONG = 'a wrong password';
  let all: Organization;
  beforeAll(async () => {
    all = await createOrganization({}, { on: service, password: PASSWORD });
    const where = { organizationId: all.organization.id, id: all.owner.id };
    await service.app.db.user.updateMany({ where, data: { canCreateUsers: true, canChangeUserEmails: true } });
  });

  const later = async () => {
    const { tab } = await signedIn({ on: all });
    now += 11 * 60_000;
    return tab;
  };
  const outcome = ({ status, text }: Reply) => [status, JSON.parse(text).code];
  const REFUSED = [403, 'PASSWORD_REQUIRED'];
  const DONE = [200, undefined];
  let made = 0;

  const ACTS: readonly (readonly [
    string,
    (by: () => Organization) => [method: string, path: string],
    () => object,
    string?,
  ])[] = [
    ['replaces the API key', () => ['POST', '/users/me/api_key/regenerate'], () => ({})],
    ['replaces the API key of a bot', (of) => ['POST', `/bots/${of().bot.id}/api_key/regenerate`], () => ({})],
    ['creates a bot', () => ['POST', '/bots'], () => ({ full_name: `b${++made}`, short_name: `b${made}` })],
    [
      'creates a user',
      () => ['POST', '/users'],
      () => ({ email: `u${++made}@new.example`, full_name: `u${made}`, password: PASSWORD }),
    ],
    [
      'changes the address of another',
      (of) => ['PATCH', `/users/${of().member.id}`],
      () => ({ new_email: `m${++made}@new.example` }),
    ],
    ['changes the role of another', (of) => ['PATCH', `/users/${of().member.id}`], () => ({ role: '100' })],
    ['changes the role of a bot', (of) => ['PATCH', `/bots/${of().bot.id}`], () => ({ role: '200' })],
    [
      'gives a bot to another',
      (of) => ['PATCH', `/bots/${of().bot.id}`],
      () => ({ bot_owner_id: String(all.administrator.id) }),
    ],
    ['asks for another address', () => ['PATCH', '/settings'], () => ({ email: 'o@new.example' }), 'old_password'],
  ];

  test.for(ACTS)('%s with the password only', async ([, request, input, parameter = 'current_password']) => {
    const [method, path] = request(() => all);
    const tab = await later();
    const ask = async (more: object = {}) =>
      outcome(await tab.ask(method, `/api/v1${path}`, { form: { ...input(), ...more } as Record<string, string> }));
    expect(await ask()).toEqual(REFUSED);
    expect(await ask({ [parameter]: WRONG })).toEqual([400, 'BAD_REQUEST']);
    expect(await ask({ [parameter]: PASSWORD })).toEqual(DONE);
    const { tab: recent } = await signedIn({ on: all });
    const again = { form: input() as Record<string, string> };
    expect(outcome(await recent.ask(method, `/api/v1${path}`, again))).toEqual(DONE);
  });

  test('cannot read the API key of a bot in either API until the user signs in again', async () => {
    const key = (by: Tab) => by.ask('GET', `/api/v1/bots/${all.bot.id}/api_key`);
    const FIELDS = '{ ownBots(first: 5) { nodes { bot { apiKey } } } }';
    const tab = await later();
    expect(outcome(await key(tab))).toEqual(REFUSED);
    expect(outcome(await tab.ask('GET', '/api/v1/bots'))).toEqual(REFUSED);
    const { errors, data } = await tab.graphql(FIELDS);
    expect(errors[0].extensions.code).toBe('PASSWORD_REQUIRED');
    expect(JSON.stringify(data ?? null)).not.toMatch(/apiKey":"/);
    const query = `{ botApiKey(botId: "${globalId('User', all.bot.id)}") }`;
    expect((await tab.graphql(query)).errors[0].extensions.code).toBe('PASSWORD_REQUIRED');
    const { tab: recent } = await signedIn({ on: all });
    expect(outcome(await key(recent))).toEqual(DONE);
    expect((await recent.graphql(FIELDS)).errors).toBeUndefined();
  });

  test('accepts the password over GraphQL as well, for the whole operation', async () => {
    const tab = await later();
    const create = (more: string) =>
      tab.graphql(
        `mutation { createBot(input: { fullName: "g${++made}", shortName: "g${made}"${more} }) {
          ... on CreateBotPayload { user { bot { apiKey } } } ... on ServiceError { code } } }`,
      );
    expect((await create('')).data.createBot).toEqual({ code: 'PASSWORD_REQUIRED' });
    const { data } = await create(`, currentPassword: "${PASSWORD}"`);
    expect(data.createBot.user.bot.apiKey).toMatch(/^\w{32}$/);
  });

  test('changes a role or the owner of a bot over GraphQL with the password only, and other values without it', async () => {
    const tab = await later();
    const [id, botId] = [globalId('User', all.guest.id), globalId('User', all.bot.id)];
    const change = async (input: string) => {
      const field = input.includes('botId') ? 'updateBot' : 'updateUser';
      const { data } = await tab.graphql(
        `mutation { ${field}(input: { ${input} }) { __typename ... on ServiceError { code } } }`,
      );
      return data[field].code;
    };
    const acts = [
      `userId: "${id}", role: MODERATOR`,
      `botId: "${botId}", role: MODERATOR`,
      `botId: "${botId}", ownerId: "${globalId('User', all.owner.id)}"`,
    ];
    for (const act of acts) {
      expect(await change(act), act).toBe('PASSWORD_REQUIRED');
      expect(await change(`${act}, currentPassword: "${PASSWORD}"`), act).toBeUndefined();
    }
    expect(await change(`userId: "${id}", fullName: "Gail"`)).toBeUndefined();
    expect(await change(`botId: "${botId}", fullName: "Gull"`)).toBeUndefined();
  });

  test('is not restricted for requests with an API key', async () => {
    const all = await createOrganization({}, { on: service });
    await all.owner.ok('GET', `/bots/${all.bot.id}/api_key`);
    await all.owner.ok('POST', `/bots/${all.bot.id}/api_key/regenerate`);
  });
});

describe('another password', () => {
  const mailsTo = async ({ organization, owner }: Organization) =>
    (
      await service.app.db.outgoingMail.findMany({ where: { organizationId: organization.id, recipient: owner.email } })
    ).map(({ subject }) => subject.replace(/ for .*/, ''));
  const NEW = { old_password: PASSWORD, new_password: 'another horse battery' };

  test('set in a session replaces the API key, ends other sessions and a change of address, and sends an email', async () => {
    const all = await createOrganization({}, { on: service, password: PASSWORD });
    const { tab } = await signedIn({ on: all });
    const { tab: thief } = await signedIn({ on: all });
    expect((await thief.ask('PATCH', '/api/v1/settings', { form: { email: 'thief@new.example' } })).status).toBe(200);
    expect((await tab.ask('PATCH', '/api/v1/settings', { form: NEW })).status).toBe(200);
    expect([await tab.status(), await thief.status()]).toEqual([200, 401]);
    expect((await all.owner.rest('GET', '/users/me')).body.code).toBe('INVALID_API_KEY');
    expect(await service.app.db.emailChange.count({ where: { organizationId: all.organization.id } })).toBe(0);
    expect(await mailsTo(all)).toEqual(['A new email address', 'Your password']);
  });

  test('keeps the API key if the user chooses so, and always if it was set with the API key', async () => {
    const all = await createOrganization({}, { on: service, password: PASSWORD });
    const { tab } = await signedIn({ on: all });
    expect((await tab.ask('PATCH', '/api/v1/settings', { form: { ...NEW, keep_api_key: 'true' } })).status).toBe(200);
    await all.owner.ok('PATCH', '/settings', { old_password: NEW.new_password, new_password: PASSWORD });
    await all.owner.ok('GET', '/users/me');
    expect(await tab.status()).toBe(401);
  });
});

test('a session ends after at most three months, however often it is used', async () => {
  const people = await createOrganization({}, { on: service, password: PASSWORD });
  const { tab } = await signedIn({ on: people });
  for (let day = 0; day < 90; day += 10) {
    expect([day, await tab.status()]).toEqual([day, 200]);
    now += 10 * DAY;
  }
  expect(await tab.status()).toBe(401);
});

describe('a connection in a session ends permanently', () => {
  test('when its user is deactivated, and is not restored with them', async () => {
    const all = await createOrganization({}, { on: service, password: PASSWORD });
    const { tab } = await signedIn({ on: all });
    const second = await all.signUp('second owner', 'owner');
    const opened = await openEverything(tab, all);
    await second.ok('DELETE', `/users/${all.owner.id}`);
    await expectAllEnded(opened);
    await second.ok('POST', `/users/${all.owner.id}/reactivate`);
    expect(await tab.status()).toBe(401);
  });
});
