import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { Prisma } from '../src/generated/prisma/client.ts';
import { readRows } from '../src/platform/db/rows.ts';
import { openLog } from '../src/platform/log.ts';
import { answering, newRequest } from '../src/platform/request-note.ts';
import { send } from './helpers/http.ts';
import { startInProcess } from './helpers/in-process.ts';
import { RawSocket } from './helpers/raw-socket.ts';
import { organisation, startServer } from './helpers/server.ts';

// What the log says of requests, and of faults that come again.

afterEach(() => void vi.useRealTimers());

type Line = Record<string, unknown>;
const linesOf = (text: string) =>
  text.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Line] : []));

test('each request is a line, with the id that its reply has, and without what was asked for', async () => {
  await using server = await startServer({ env: { LOG_LEVEL: 'info' } });
  const { member } = await organisation({}, { on: server });
  const reply = await member.rest('GET', `/users/${member.id}`, { client: 'a secret' });
  const forged = await send(server.url, {
    method: 'GET',
    path: '/graphql',
    headers: { host: 'localhost', 'x-request-id': 'forged' },
  });
  await sleep(300);
  const lines = linesOf(server.log()).filter(({ msg }) => msg === 'request');
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

test('an id is taken from a proxy that is trusted, where it is one', async () => {
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

test('what is logged while a request is answered has its id', () => {
  const { log, lines } = logged();
  answering(newRequest('r1'), () => log.error('a fault'));
  log.error('of nobody');
  expect(lines().map(({ request_id, msg }) => [request_id, msg])).toEqual([
    ['r1', 'a fault'],
    [undefined, 'of nobody'],
  ]);
});

test('that what is needed is out of reach, or its disk full, is told once a minute, and any other fault each time', () => {
  vi.useFakeTimers();
  const { log, lines } = logged();
  const away = Object.assign(new Error('away'), { code: 'ECONNREFUSED' });
  for (let i = 0; i < 3; i++) log.warn({ err: away }, 'no Redis');
  log.warn({ err: away }, 'no database');
  const full = Object.assign(new Error('No space left on device'), { code: '53100' });
  for (let i = 0; i < 5; i++) log.error({ err: full }, 'no room');
  // Of a Redis that is paused, or has another password, none of which has a code.
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

test('a fault of the service itself is an error in the log, under the id that the reply has', async () => {
  const { log, lines } = logged();
  await using service = await startInProcess({ log });
  const { member } = await organisation({}, { on: service });
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

test('each operation over a socket is a line, as a request is, and says whose it was', async () => {
  const { log, lines } = logged();
  await using service = await startInProcess({ log });
  const { member } = await organisation({}, { on: service });
  await member.graphql('{ viewer { fullName } }');
  await using socket = await RawSocket.connected(member);
  socket.subscribe('1', '{ viewer { fullName } }');
  await socket.next('complete');
  socket.subscribe('2', 'subscription { events(queueId: "x") { position } }');
  await socket.next('error');
  const { queue_id: queueId } = await member.register({ fetch_event_types: [] });
  socket.subscribe('3', 'subscription ($queueId: String!) { events(queueId: $queueId) { position } }', { queueId });
  await sleep(300);
  const ofSocket = () => lines().filter(({ msg, method }) => msg === 'request' && method === 'WEBSOCKET');
  expect(ofSocket()).toHaveLength(2);
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

test('a statement that takes long is told in the log, without its values', { timeout: 30_000 }, async () => {
  const { log, lines } = logged();
  await using service = await startInProcess({ log });
  const statement = Prisma.sql`SELECT pg_sleep(${1.1}::float8)::text, ${'a secret'}::text AS it`;
  await service.app.db.$queryRaw(statement);
  await readRows(service.app.db, statement);
  await service.app.db.$queryRaw`SELECT pg_sleep(0.1)::text`;
  // What waits behind it, on the embedded database, takes as long.
  const isOurs = ({ msg, statement }: Line) =>
    msg === 'a statement took long' && String(statement).includes('pg_sleep');
  const told = lines().filter(isOurs);
  const one = { level: 40, statement: expect.stringContaining('pg_sleep($1') };
  expect(told).toMatchObject([one, one]);
  for (const { ms } of told) expect(ms).toBeGreaterThan(1_000);
  expect(JSON.stringify(told)).not.toContain('a secret');
});
