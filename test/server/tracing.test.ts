import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { requestCall } from '../../src/people/video-calls/provider.ts';
import { ConfigError, readConfig } from '../../src/platform/config.ts';
import { openLog } from '../../src/platform/log.ts';
import { answering, newRequest } from '../../src/platform/request-note.ts';
import { traceContextIn } from '../../src/platform/trace-context.ts';
import { type Json, send } from '../helpers/http.ts';
import { startHttpServer } from '../helpers/http-server.ts';
import type { InProcess } from '../helpers/in-process.ts';
import { type Collector, type ExportedSpan, startCollector } from '../helpers/otlp-collector.ts';
import { operationBody, type Person } from '../helpers/person.ts';
import { RawSocket } from '../helpers/raw-socket.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';
import { startOnDatabaseOfRun } from '../helpers/service.ts';
import { channelOf, say } from '../helpers/talk.ts';

// Tests traces: the trace context of W3C in requests, log lines and requests to other servers, and the spans that a collector
// receives over OTLP.

const CLIENT_SPAN = 'b7ad6b7169203331';
let traces = 0;
/** Returns the `traceparent` of a new trace, and its id. */
function newTrace(flags = '01') {
  const traceId = (++traces).toString(16).padStart(32, 'c');
  return { traceId, traceparent: `00-${traceId}-${CLIENT_SPAN}-${flags}` };
}

function logged() {
  let text = '';
  const write = (more: string) => {
    text += more;
  };
  const log = openLog('info', { write });
  const lines = () => text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Json]));
  return { log, lines };
}

async function operate(person: Person, query: string, headers: Readonly<Record<string, string>>): Promise<Json> {
  const { headers: ofBody, body } = operationBody({ query, variables: {} });
  const all = { ...person.headers, ...ofBody, ...headers };
  return JSON.parse((await send(person.url, { method: 'POST', path: '/graphql', headers: all, body })).text);
}

describe('without an exporter', () => {
  let service: InProcess;
  let people: Organization;
  const { log, lines } = logged();
  beforeAll(async () => {
    service = await startOnDatabaseOfRun({ log });
    people = await createOrganization({}, { on: service });
  });
  afterAll(() => service[Symbol.asyncDispose]());

  test('log lines of a request contain the id of its trace, an invalid one none', async () => {
    const { member } = people;
    const { traceId, traceparent } = newTrace();
    await operate(member, '{ viewer { fullName } }', { traceparent });
    await member.ok('GET', '/users/me', {}, { headers: { traceparent } });
    await using socket = await RawSocket.connected(member);
    const query = '{ viewer { fullName } }';
    socket.send({ id: '1', type: 'subscribe', payload: { query, extensions: { traceparent } } });
    await socket.next('complete');
    const requests = () => lines().filter(({ msg, trace_id }) => msg === 'request' && trace_id === traceId);
    await expect.poll(() => requests().map(({ method }) => method)).toEqual(['POST', 'GET', 'WEBSOCKET']);
    const before = lines().length;
    await member.ok('GET', '/users/me', {}, { headers: { traceparent: `${traceparent}-more` } });
    await expect.poll(() => lines().slice(before)).toMatchObject([{ msg: 'request' }]);
    expect(lines().at(-1)).not.toHaveProperty('trace_id');
  });

  test('no module of OpenTelemetry is loaded', () => {
    const root = join(import.meta.dirname, '../../src');
    const importing = (pattern: RegExp) =>
      globSync('**/*.ts', { cwd: root }).filter((file) => pattern.test(readFileSync(join(root, file), 'utf8')));
    expect(importing(/^import (?!type)[^;]*'@opentelemetry\//m)).toEqual(['platform/tracing-export.ts']);
    expect(importing(/^import[^;(]*tracing-export\.ts'/m)).toEqual([]);
  });
});

/** A server that records the headers of each request, as a provider of the service. */
async function startProvider() {
  const received: Json[] = [];
  const server = await startHttpServer((request, response) => {
    received.push(request.headers);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"join_url":"https://calls.example/1"}');
  });
  return { ...server, received };
}

test('requests to other servers carry the trace context of the request that caused them', async () => {
  await using provider = await startProvider();
  const { traceparent } = newTrace();
  const call = () => requestCall({ createUrl: provider.url } as never, 'token');
  const note = newRequest('r1', traceContextIn({ traceparent, tracestate: 'vendor=1' }));
  expect(await answering(note, call)).toBe('https://calls.example/1');
  await answering(newRequest(), call);
  await call();
  expect(provider.received.map((headers) => [headers.traceparent, headers.tracestate])).toEqual([
    [traceparent, 'vendor=1'],
    [undefined, undefined],
    [undefined, undefined],
  ]);
});

describe('with an exporter', () => {
  const stack = new AsyncDisposableStack();
  let collector: Collector;
  let provider: Awaited<ReturnType<typeof startProvider>>;
  let service: InProcess;
  let people: Organization;
  const { log, lines } = logged();

  beforeAll(async () => {
    collector = stack.use(await startCollector());
    provider = stack.use(await startProvider());
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=a%20secret',
      OTEL_SERVICE_NAME: 'chat of the tests',
      AVATAR_PROVIDER_URL: `${provider.url}/avatar/`,
    };
    service = stack.use(await startOnDatabaseOfRun({ log, env }));
    people = await createOrganization({}, { on: service });
  });
  afterAll(() => stack.disposeAsync());

  const ofTrace = (traceId: string) => collector.spans.filter((span) => span.traceId === traceId);
  /** Waits until a trace has a span of this name. */
  async function spanOf(traceId: string, name: string | RegExp): Promise<ExportedSpan> {
    const find = () =>
      ofTrace(traceId).find((span) => (typeof name === 'string' ? span.name === name : name.test(span.name)));
    await expect.poll(find, { message: `span ${name}` }).toBeDefined();
    return find() as ExportedSpan;
  }
  const childrenOf = (parent: ExportedSpan) => ofTrace(parent.traceId).filter(({ parentId }) => parentId === parent.id);
  const namesOf = (spans: readonly ExportedSpan[]) => spans.map(({ name }) => name);

  test('a query is a request, an operation and statements, nested in the span of the client', async () => {
    const { traceId, traceparent } = newTrace();
    const { data } = await operate(
      people.member,
      'query Screen { viewer { fullName } channels(first: 3) { nodes { name } } }',
      {
        traceparent,
      },
    );
    expect(data.viewer.fullName).toBe(people.member.name);
    const request = await spanOf(traceId, 'POST /graphql');
    expect(request).toMatchObject({
      ...{ parentId: CLIENT_SPAN, kind: 2, status: 0 },
      attributes: { 'http.response.status_code': 200, 'http.route': '/graphql', 'user.id': String(people.member.id) },
      resource: { 'service.name': 'chat of the tests', 'process.pid': process.pid },
    });
    const operation = await spanOf(traceId, 'query Screen');
    expect(operation).toMatchObject({
      parentId: request.id,
      attributes: { 'graphql.operation.type': 'query', 'graphql.operation.name': 'Screen', 'graphql.error.count': 0 },
    });
    expect(operation.durationMs).toBeLessThanOrEqual(request.durationMs);
    const statements = childrenOf(operation);
    expect(namesOf(statements)).toContain('SELECT user_group');
    for (const { kind, attributes } of statements) {
      expect([kind, attributes['db.system.name'], typeof attributes['db.query.text']]).toEqual([
        3,
        'postgresql',
        'string',
      ]);
    }
    // The sign-in reads the account before the operation begins.
    expect(namesOf(childrenOf(request)).some((name) => name.startsWith('SELECT'))).toBe(true);
    const id = request.attributes['chat.request_id'];
    expect(lines().find(({ request_id }) => request_id === id)).toMatchObject({ msg: 'request', trace_id: traceId });
    expect(collector.requests[0]).toMatchObject({ path: '/v1/traces', headers: { 'x-api-key': 'a secret' } });
  });

  test('a request over REST is a span with its statements, and no value of it is exported', async () => {
    const { traceId, traceparent } = newTrace();
    const text = `unique text ${traceId.slice(-4)} of a draft`;
    const drafts = [{ type: '', to: [], topic: '', content: text }];
    await people.member.ok('POST', '/drafts', { drafts }, { headers: { traceparent } });
    const request = await spanOf(traceId, 'POST /api/v1/drafts');
    expect(namesOf(childrenOf(request))).toEqual(expect.arrayContaining(['BEGIN', 'INSERT draft', 'COMMIT']));
    expect(collector.text).not.toContain(text);
  });

  test('a refused statement is a failed span, without the message of its error', async () => {
    const { traceId, traceparent } = newTrace();
    await service.app.db.$executeRaw`ALTER TABLE saved_snippet RENAME TO gone`;
    await people.member.rest('GET', '/saved_snippets', {}, { headers: { traceparent } });
    await service.app.db.$executeRaw`ALTER TABLE gone RENAME TO saved_snippet`;
    const request = await spanOf(traceId, 'GET /api/v1/saved_snippets');
    expect(request.status).toBe(2);
    const statement = await spanOf(traceId, 'SELECT saved_snippet');
    expect([statement.parentId, statement.status]).toEqual([request.id, 2]);
    expect(collector.text).not.toContain('does not exist');
  });

  test('an operation on a socket has the trace context in its extensions', async () => {
    const { traceId, traceparent } = newTrace();
    await using socket = await RawSocket.connected(people.member);
    const query = 'query Me { viewer { fullName } }';
    socket.send({ id: '1', type: 'subscribe', payload: { query, extensions: { traceparent } } });
    await socket.next('complete');
    const request = await spanOf(traceId, 'WEBSOCKET /graphql');
    expect(request).toMatchObject({ parentId: CLIENT_SPAN, attributes: { 'user.id': String(people.member.id) } });
    expect((await spanOf(traceId, 'query Me')).parentId).toBe(request.id);
  });

  test('the delivery of events is part of the trace of the change, with the statements of each reader', async () => {
    const { owner, member } = people;
    const channel = await channelOf(owner, 'traced', [owner, member]);
    // The permission is not in the event, so it is read for each reader.
    await using stream = await member.events('... on MessageSentEvent { message { viewerCanDelete } }');
    await say(owner, channel, 'first', 'the stream is attached');
    await stream.next();
    const { traceId, traceparent } = newTrace();
    const said = { type: 'channel', to: String(channel), topic: 'first', content: 'hello' };
    await owner.ok('POST', '/messages', said, { headers: { traceparent } });
    expect(await stream.next()).toEqual({ message: { viewerCanDelete: false } });
    const delivery = await spanOf(traceId, 'deliver events');
    expect(delivery.attributes).toEqual({
      ...{ 'chat.organization_id': people.organization.id, 'chat.events': expect.any(Number), 'chat.readers': 1 },
    });
    await expect.poll(() => namesOf(childrenOf(delivery)).length).toBeGreaterThan(0);
    expect(namesOf(childrenOf(delivery)).every((name) => /^(SELECT|WITH)\b/.test(name))).toBe(true);
    // The delivery is below the request whose statement was sent.
    const byId = new Map(ofTrace(traceId).map((span) => [span.id, span]));
    const path: string[] = [];
    for (let span: ExportedSpan | undefined = delivery; span; span = byId.get(span.parentId)) path.unshift(span.name);
    expect(path[0]).toBe('POST /api/v1/messages');
  });

  test('requests to other servers are spans, and carry them', async () => {
    const { owner } = people;
    await owner.ok('PATCH', '/realm', { default_avatar_source: 'G' });
    const zoe = await people.signUp('Zoe');
    const { avatar_url } = (await zoe.ok('GET', '/users/me')) as Json;
    const { traceId, traceparent } = newTrace();
    await send(zoe.url, {
      method: 'GET',
      path: avatar_url,
      headers: { ...zoe.headers, traceparent, tracestate: 'vendor=1' },
    });
    const outgoing = await spanOf(traceId, 'GET');
    expect(outgoing).toMatchObject({
      kind: 3,
      attributes: { 'http.request.method': 'GET', 'server.address': '127.0.0.1', 'http.response.status_code': 200 },
    });
    expect(provider.received.at(-1)).toMatchObject({
      traceparent: `00-${traceId}-${outgoing.id}-01`,
      tracestate: 'vendor=1',
    });
    await owner.ok('PATCH', '/realm', { default_avatar_source: 'J' });
  });

  test('a client that does not record its trace is not recorded', async () => {
    const [hidden, shown] = [newTrace('00'), newTrace('01')];
    for (const { traceparent } of [hidden, shown]) await operate(people.member, '{ viewer { id } }', { traceparent });
    await spanOf(shown.traceId, 'POST /graphql');
    expect(ofTrace(hidden.traceId)).toEqual([]);
    expect(lines().some(({ trace_id }) => trace_id === hidden.traceId)).toBe(true);
  });

  test('a request without a trace begins one, except for health checks and background work', async () => {
    await operate(people.member, 'query Alone { viewer { id } }', {});
    const find = () => collector.spans.find(({ name }) => name === 'query Alone');
    await expect.poll(find).toBeDefined();
    await send(service.url, { method: 'GET', path: '/healthz', headers: { host: 'localhost' } });
    await sleep(2_500);
    const roots = collector.spans.filter(({ parentId }) => parentId === '');
    expect(roots.length).toBeGreaterThan(0);
    expect(new Set(roots.map(({ name }) => name.split(' ')[0]))).not.toContain('SELECT');
    expect(collector.text).not.toContain('/healthz');
  });
});

test('the share of recorded traces applies to those that begin here', async () => {
  await using collector = await startCollector();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`, OTEL_TRACES_SAMPLER_ARG: '0' };
  const { traceId, traceparent } = newTrace();
  {
    await using service = await startOnDatabaseOfRun({ env });
    const { member } = await createOrganization({}, { on: service });
    await operate(member, '{ viewer { id } }', {});
    await operate(member, '{ viewer { id } }', { traceparent });
  }
  // The service exports its last spans before it stops.
  expect(new Set(collector.spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
});

test('the service works while its collector fails, and logs that once', async () => {
  await using collector = await startCollector({ status: 400 });
  const { log, lines } = logged();
  await using service = await startOnDatabaseOfRun({ log, env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } });
  const { member } = await createOrganization({}, { on: service });
  const failures = () => lines().flatMap(({ msg, reason }) => (msg === 'trace export failed' ? [reason] : []));
  for (let i = 0; i < 2; i++) {
    const before = collector.requests.length;
    expect((await operate(member, '{ viewer { fullName } }', {})).data.viewer.fullName).toBe(member.name);
    await expect.poll(() => collector.requests.length).toBeGreaterThan(before);
    await expect.poll(failures).toEqual(['400 Bad Request']);
  }
});

test.for([
  { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' },
  { OTEL_EXPORTER_OTLP_ENDPOINT: 'grpc://collector:4317' },
  { OTEL_EXPORTER_OTLP_HEADERS: 'no value' },
  { OTEL_EXPORTER_OTLP_HEADERS: 'x-key=%ff' },
  { OTEL_TRACES_SAMPLER_ARG: '2' },
])('the configuration refuses %o', (env) => {
  expect(() => readConfig(env)).toThrow(ConfigError);
});
