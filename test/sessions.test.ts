import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TOTALS } from '../src/platform/totals.ts';
import { EventStream } from './helpers/events.ts';
import { type Json, type Reply, send } from './helpers/http.ts';
import type { InProcess } from './helpers/in-process.ts';
import type { Person } from './helpers/person.ts';
import { RawSocket } from './helpers/raw-socket.ts';
import { type Organisation, organisation } from './helpers/server.ts';
import { startOnDatabaseOfRun } from './helpers/service.ts';

// Browsers that are signed in by a cookie: how they come to it, what it is good for, and how it ends.

const PASSWORD = 'correct horse battery';
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

let now = Date.now();
let service: InProcess;
let people: Organisation;
let owner: Person;

beforeAll(async () => {
  service = await startOnDatabaseOfRun({ env: { EVENT_QUEUE_WRITE_SECONDS: '0.2' }, now: () => new Date(now) });
  people = await organisation({}, { on: service, password: PASSWORD });
  ({ owner } = people);
});
afterAll(() => service[Symbol.asyncDispose]());

/** A browser as far as it keeps the cookie of its session. */
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

  /** @param keeps Whether the reply arrives. */
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

  /** The status of a request that takes an account. */
  async status(): Promise<number> {
    return (await this.ask('GET', '/api/v1/users/me')).status;
  }

  /** A subscription in this session. */
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

async function signedIn({ on = people, headers = {} }: { on?: Organisation; headers?: Record<string, string> } = {}) {
  const tab = new Tab(on.owner.host);
  const form = { username: on.owner.email, password: PASSWORD };
  const reply = await tab.ask('POST', '/api/v1/sessions', { form, headers });
  expect(reply.status).toBe(200);
  return { tab, reply, id: JSON.parse(reply.text).session_id as number };
}

const listed = async (tab: Tab): Promise<Json[]> =>
  JSON.parse((await tab.ask('GET', '/api/v1/sessions')).text).sessions;

/** A subscription over each transport and a long poll, each of a queue of its own, all of one session. */
async function openEverything(tab: Tab) {
  const newQueue = async () => (await owner.register({ fetch_event_types: [] })) as Json;
  const [ws, sse] = [
    await tab.events((await newQueue()).queue_id, 'ws'),
    await tab.events((await newQueue()).queue_id, 'sse'),
  ];
  const { queue_id, last_event_id } = await newQueue();
  const poll = tab.ask('GET', `/api/v1/events?queue_id=${queue_id}&last_event_id=${last_event_id}`);
  await isRead(queue_id);
  return { ws, sse, poll };
}

/** Waits until somebody reads the owner's queue. */
async function isRead(queueId: string): Promise<void> {
  const viewer = { id: owner.id, realm: people.realm, clientName: 'test' };
  await expect.poll(async () => (await service.app.queues.look({ viewer }, queueId)).reader).toBeDefined();
}

async function expectAllEnded({ ws, sse, poll }: Awaited<ReturnType<typeof openEverything>>): Promise<void> {
  expect(await ws.ended).toMatchObject({ how: 'closed', code: 4403 });
  expect(await sse.ended).toMatchObject({ how: 'complete' });
  expect((await poll).status).toBe(200);
}

describe('signing in', () => {
  test('gives a cookie that no script, no other port and no other site sends, over either API', async () => {
    const { tab, reply } = await signedIn();
    const port = new URL(service.url).port;
    const [cookie = ''] = reply.headers['set-cookie'] ?? [];
    expect(cookie).toMatch(
      new RegExp(`^chat-session-${port}=[\\w-]{43}; Max-Age=7776000; Path=/; HttpOnly; SameSite=Lax$`),
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

  test('over https the cookie is for https alone', async () => {
    await using served = await startOnDatabaseOfRun({ env: { TRUST_PROXY: '1' } });
    const there = await organisation({}, { on: served, password: PASSWORD });
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

  test('fails as for a key, and over a socket, which can be given no cookie', async () => {
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
  ])('is refused for a page of another site, cookie or none: %o', async (headers) => {
    const tab = new Tab(owner.host);
    const form = { username: owner.email, password: PASSWORD };
    const reply = await tab.ask('POST', '/api/v1/sessions', { form, headers });
    expect([reply.status, tab.cookie]).toEqual([403, '']);
    const query = `mutation { signIn(input: { username: "${owner.email}", password: "${PASSWORD}" }) { ... on ServiceError { code } } }`;
    const graphql = await tab.ask('POST', '/graphql', { json: { query }, headers });
    expect([JSON.parse(graphql.text).data?.signIn.code, tab.cookie]).toEqual(['CSRF_FAILED', '']);
  });

  test('again ends the session the browser had; a cookie that is over keeps nobody from it', async () => {
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
  test('is good at every door, and a key that is given counts before it', async () => {
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

  test('is of one organization', async () => {
    const { tab } = await signedIn();
    const other = await organisation({}, { on: service });
    expect(await new Tab(other.owner.host, tab.cookie).status()).toBe(401);
  });

  test('is kept as a hash', async () => {
    const { tab, id } = await signedIn();
    const row = await service.app.db.session.findFirstOrThrow({ where: { id } });
    const token = tab.cookie.split('=')[1] ?? '';
    expect(JSON.stringify(row)).not.toContain(token);
    expect(Buffer.from(row.tokenHash).equals(service.app.keys.hash(token))).toBe(true);
  });

  test('is listed to its user alone, over either API', async () => {
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

  test('is one of so many: of too many the one not seen for longest ends', async () => {
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
  test('is another after an hour, told until the browser shows it; the one before is good a minute longer', async () => {
    const { tab } = await signedIn();
    now += HOUR + 1;
    const before = new Tab(owner.host, tab.cookie);
    // Several tabs at once, and replies that are lost.
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

  test('is told over GraphQL and event streams as well', async () => {
    for (const headers of [{}, { accept: 'text/event-stream' }]) {
      const { tab } = await signedIn();
      const { cookie } = tab;
      now += HOUR + 1;
      await tab.ask('POST', '/graphql', { json: { query: '{ viewer { databaseId } }' }, headers });
      expect(tab.cookie).not.toBe(cookie);
      expect(await tab.status()).toBe(200);
    }
  });

  test('does not sign out a socket that was opened with the one before', async () => {
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

describe('what is open in a session ends', () => {
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

  test('when its user is deactivated, and does not come back with them', async () => {
    const { tab } = await signedIn();
    const second = await people.signUp('second owner', 'owner');
    const opened = await openEverything(tab);
    await second.ok('DELETE', `/users/${owner.id}`);
    await expectAllEnded(opened);
    await second.ok('POST', `/users/${owner.id}/reactivate`);
    expect(await tab.status()).toBe(401);
  });

  // Whoever ends a queue tells of it by the log as well. Its row may be read before, here as if another node had written it.
  test.for([
    ['revoked', { how: 'closed', code: 4403 }],
    ['deleted', { how: 'complete' }],
    ['surplus', { how: 'errors', errors: [{ extensions: { code: 'BAD_EVENT_QUEUE_ID', reason: 'expired' } }] }],
    ['restored', { how: 'errors', errors: [{ extensions: { code: 'BAD_EVENT_QUEUE_ID', reason: 'restored' } }] }],
  ] as const)('when its queue is %s on another node, as it does there', async ([endReason, end]) => {
    const { queue_id: id } = await owner.register({ fetch_event_types: [] });
    await using stream = await owner.events('position', { queueId: id });
    await isRead(id);
    await service.app.db.eventQueue.updateMany({ where: { id }, data: { endedAt: new Date(now), endReason } });
    expect(await stream.ended).toMatchObject(end);
  });

  test('and not with another session, nor with the key; nor the key with it', async () => {
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

test('a session is over at the latest after three months, however often it is seen', async () => {
  const people = await organisation({}, { on: service, password: PASSWORD });
  const { tab } = await signedIn({ on: people });
  for (let day = 0; day < 90; day += 10) {
    expect([day, await tab.status()]).toEqual([day, 200]);
    now += 10 * DAY;
  }
  expect(await tab.status()).toBe(401);
});
