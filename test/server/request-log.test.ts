import { pino } from 'pino';
import { afterEach, expect, test, vi } from 'vitest';
import { Prisma } from '../../src/generated/prisma/client.ts';
import { readRows } from '../../src/platform/db/rows.ts';
import { openLog } from '../../src/platform/log.ts';
import { answering, newRequest } from '../../src/platform/request-note.ts';
import { send } from '../helpers/http.ts';
import { startInProcess } from '../helpers/in-process.ts';
import { basic } from '../helpers/person.ts';
import { RawSocket } from '../helpers/raw-socket.ts';
import { createOrganization, startServer } from '../helpers/server.ts';

// Tests the log lines about HTTP requests and about repeated errors.

afterEach(() => void vi.useRealTimers());

type Line = Record<string, unknown>;
const linesOf = (text: string) =>
  text.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Line] : []));

test('each request is one line, with the id of its reply, and without its parameters', async () => {
  await using server = await startServer({ env: { LOG_LEVEL: 'info' } });
  const { member } = await createOrganization({}, { on: server });
  const reply = await member.rest('GET', `/users/${member.id}`, { client: 'a secret' });
  const forged = await send(server.url, {
    method: 'GET',
    path: '/graphql',
    headers: { host: 'localhost', 'x-request-id': 'forged' },
  });
  const requests = () => linesOf(server.log()).filter(({ msg }) => msg === 'request');
  const routes = () => requests().map(({ route }) => route);
  await expect.poll(routes).toEqual(expect.arrayContaining(['/api/v1/users/{user_id}', '/graphql']));
  const lines = requests();
  const line = lines.find(({ request_id }) => request_id === reply.headers['x-request-id']);
  expect(line).toMatchObject({
    level: 30,
    method: 'GET',
    route: '/api/v1/users/{user_id}',
    status: 200,
    user_id: member.id,
    ms: expect.any(Number),
  });
  expect(forged.headers['x-request-id']).toMatch(/^[\w-]+-[0-9a-z]+$/);
  expect(lines.some(({ route }) => route === '/graphql')).toBe(true);
  expect(JSON.stringify(lines)).not.toContain('a secret');
  expect(lines.some(({ route }) => route === 'other')).toBe(false);
});

test('a valid request id of a trusted proxy is used', async () => {
  await using server = await startServer({ env: { TRUST_PROXY: '1' } });
  const ask = async (id: string) => {
    const { headers } = await send(server.url, {
      method: 'GET',
      path: '/healthz',
      headers: { host: 'localhost', 'x-request-id': id },
    });
    return headers['x-request-id'];
  };
  expect(await ask('of-the-proxy')).toBe('of-the-proxy');
  expect(await ask('"no id"')).not.toContain('no id');
});

function logged() {
  let text = '';
  const write = (more: string) => {
    text += more;
  };
  const log = openLog('info', { write });
  return { log, lines: () => linesOf(text) };
}

test('log lines written during a request contain its id', () => {
  const { log, lines } = logged();
  answering(newRequest('r1'), () => log.error('a fault'));
  log.error('of nobody');
  expect(lines().map(({ request_id, msg }) => [request_id, msg])).toEqual([
    ['r1', 'a fault'],
    [undefined, 'of nobody'],
  ]);
});

test('unavailable dependencies and a full disk are logged once a minute, other errors each time', () => {
  vi.useFakeTimers();
  const { log, lines } = logged();
  const away = Object.assign(new Error('away'), { code: 'ECONNREFUSED' });
  for (let i = 0; i < 3; i++) log.warn({ err: away }, 'no Redis');
  log.warn({ err: away }, 'no database');
  const full = Object.assign(new Error('No space left on device'), { code: '53100' });
  for (let i = 0; i < 5; i++) log.error({ err: full }, 'no room');
  // Logs errors as a paused Redis server causes them, and one that requires another password. They have no error code.
  for (const said of ['Command timed out', 'Connection is closed.']) log.warn({ err: new Error(said) }, 'paused');
  for (let i = 0; i < 2; i++) {
    log.warn({ err: Object.assign(new Error('NOAUTH Authentication required.'), { name: 'ReplyError' }) }, 'refused');
  }
  for (let i = 0; i < 2; i++) log.warn({ err: new Error('a bug') }, 'a bug');
  vi.advanceTimersByTime(61_000);
  log.warn({ err: away }, 'no Redis');
  log.error({ err: full }, 'no room');
  expect(lines().map(({ msg, passed_over }) => [msg, passed_over])).toEqual([
    ['no Redis', undefined],
    ['no database', undefined],
    ['no room', undefined],
    ['paused', undefined],
    ['refused', undefined],
    ['a bug', undefined],
    ['a bug', undefined],
    ['no Redis', 2],
    ['no room', 4],
  ]);
});

test('an internal error is logged with the id of its reply', async () => {
  const { log, lines } = logged();
  await using service = await startInProcess({ log });
  const { member } = await createOrganization({}, { on: service });
  await service.app.db.$executeRaw`ALTER TABLE saved_snippet RENAME TO gone`;
  const rest = await member.rest('GET', '/saved_snippets');
  const graphql = await send(service.url, {
    method: 'POST',
    path: '/graphql',
    headers: { ...member.headers, 'content-type': 'application/json' },
    body: JSON.stringify({ query: '{ savedSnippets(first: 1) { nodes { title } } }' }),
  });
  expect([rest.status, rest.body.code]).toEqual([500, 'INTERNAL_SERVER_ERROR']);
  expect(JSON.parse(graphql.text).errors[0].extensions.code).toBe('INTERNAL_SERVER_ERROR');
  expect(JSON.stringify(rest.body) + graphql.text).not.toContain('saved_snippet');
  await using socket = await RawSocket.connected(member);
  socket.subscribe('1', '{ savedSnippets(first: 1) { nodes { title } } }');
  const overSocket = (await socket.next('next')).payload.errors[0].extensions;
  expect(overSocket).toEqual({ code: 'INTERNAL_SERVER_ERROR', requestId: expect.any(String) });
  for (const id of [rest.headers['x-request-id'], graphql.headers['x-request-id'], overSocket.requestId]) {
    const line = lines().find(({ request_id, level }) => level === 50 && request_id === id);
    expect(JSON.stringify(line)).toContain('saved_snippet');
  }
});

test('each operation over a socket is one line, like a request, with its user', async () => {
  const { log, lines } = logged();
  await using service = await startInProcess({ log });
  const { member } = await createOrganization({}, { on: service });
  await member.graphql('{ viewer { fullName } }');
  await using socket = await RawSocket.connected(member);
  socket.subscribe('1', '{ viewer { fullName } }');
  await socket.next('complete');
  socket.subscribe('2', 'subscription { events(queueId: "x") { position } }');
  await socket.next('error');
  const { queue_id: queueId } = await member.register({ fetch_event_types: [] });
  socket.subscribe('3', 'subscription ($queueId: String!) { events(queueId: $queueId) { position } }', { queueId });
  const ofSocket = () => lines().filter(({ msg, method }) => msg === 'request' && method === 'WEBSOCKET');
  await expect.poll(ofSocket).toHaveLength(2);
  socket.send({ type: 'complete', id: '3' });
  await expect.poll(() => ofSocket().map(({ outcome }) => outcome)).toEqual(['complete', 'refused', 'complete']);
  const told = ofSocket();
  for (const line of told) {
    expect(line).toMatchObject({ level: 30, route: '/graphql', user_id: member.id, ms: expect.any(Number) });
  }
  expect(new Set(told.map(({ request_id }) => request_id)).size).toBe(3);
  const overHttp = lines().find(({ method, route }) => method === 'POST' && route === '/graphql');
  expect(overHttp).toMatchObject({ status: 200, user_id: member.id });
});

test('a slow statement is logged without its values', async () => {
  const { log, lines } = logged();
  await using service = await startInProcess({ log });
  const statement = Prisma.sql`SELECT pg_sleep(${1.1}::float8)::text, ${'a secret'}::text AS it`;
  await service.app.db.$queryRaw(statement);
  await readRows(service.app.db, statement);
  await service.app.db.$queryRaw`SELECT pg_sleep(0.1)::text`;
  // On the embedded database, other statements wait for the slow statement and are logged as slow too. These lines are ignored.
  const isOurs = ({ msg, statement }: Line) => msg === 'slow statement' && String(statement).includes('pg_sleep');
  const told = lines().filter(isOurs);
  const one = { level: 40, statement: expect.stringContaining('pg_sleep($1') };
  expect(told).toMatchObject([one, one]);
  for (const { ms } of told) expect(ms).toBeGreaterThan(1_000);
  expect(JSON.stringify(told)).not.toContain('a secret');
});

test('a failed sign-in is logged with its account and its address', async () => {
  const lines: Line[] = [];
  const log = pino({ level: 'warn' }, { write: (text: string) => void lines.push(...linesOf(text)) });
  await using service = await startInProcess({
    env: { TRUST_PROXY: '1' },
    log,
  });
  const { owner, organization } = await createOrganization(
    {},
    { on: service, password: 'correct horse battery', subdomain: 'dock' },
  );
  const headers = { 'x-forwarded-for': '203.0.113.2:1111' };
  const failed = async (work: () => Promise<unknown>) => {
    lines.length = 0;
    await work();
    return lines
      .filter(({ msg }) => msg === 'sign-in failed')
      .map(({ account, address, reason }) => [account, address, reason]);
  };
  const from = '203.0.113.2';
  const password = (path: string, username: string, typed = 'wrong') =>
    failed(() => owner.as(undefined).rest('POST', path, { username, password: typed }, { headers }));
  expect(await password('/fetch_api_key', owner.email.toUpperCase())).toEqual([
    [owner.email.toLowerCase(), from, 'wrong password'],
  ]);
  expect(await password('/sessions', 'nobody@dock.example')).toEqual([['nobody@dock.example', from, 'wrong password']]);
  expect(await password('/sessions', owner.email, 'correct horse battery')).toEqual([]);
  const changed = { old_password: 'wrong', new_password: 'staple correct battery' };
  expect(await failed(() => owner.rest('PATCH', '/settings', changed, { headers }))).toEqual([
    [owner.email.toLowerCase(), from, 'wrong password'],
  ]);
  const wrongKey = owner.as(basic(owner.email, 'x'.repeat(32)));
  for (const ask of [
    () => wrongKey.rest('GET', '/users/me', {}, { headers }),
    () =>
      send(service.url, {
        method: 'GET',
        path: '/graphql?query={__typename}',
        headers: { ...wrongKey.headers, ...headers },
      }),
  ]) {
    expect(await failed(ask)).toEqual([[owner.email, from, 'wrong API key']]);
  }
  for (let i = 0; i < 5; i++) await password('/sessions', 'guessed@dock.example');
  expect(await password('/sessions', 'guessed@dock.example')).toEqual([
    ['guessed@dock.example', from, 'too many attempts'],
  ]);
  expect(lines.every(({ organization: id }) => id === organization.id)).toBe(true);
  expect(JSON.stringify(lines)).not.toContain('wrong"');
});
