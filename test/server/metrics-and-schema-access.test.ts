import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../src/platform/config.ts';
import { send } from '../helpers/http.ts';
import { type InProcess, shareInProcess, startInProcess } from '../helpers/in-process.ts';
import type { Visitor } from '../helpers/person.ts';
import { RawSocket } from '../helpers/raw-socket.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';

// Tests that metrics and schema are not exposed to clients without credentials.

const metricsOf = async (url: string, headers: Record<string, string> = {}) => {
  const reply = await send(url, { method: 'GET', path: '/metrics', headers: { host: 'localhost', ...headers } });
  return { ...reply, isMetrics: reply.text.includes('process_cpu_seconds_total') };
};

const METRICS_ADDRESS = '127.0.0.1:46817';
let closed: InProcess;
beforeAll(async () => {
  closed = await startInProcess({ env: { METRICS_ADDRESS, ANONYMOUS_INTROSPECTION: 'off' } });
});
afterAll(() => closed[Symbol.asyncDispose]());

describe('metrics', () => {
  const TOKEN = 'a token of sixteen characters or more';

  test('are public in a trial setup, and otherwise only if the operator configures it', async () => {
    await using open = await shareInProcess();
    expect(await metricsOf(open.url)).toMatchObject({ status: 200, isMetrics: true });
    await using named = await startInProcess({ env: { EXTERNAL_HOST: 'localhost' } });
    expect(await metricsOf(named.url)).toMatchObject({ status: 404, isMetrics: false });
  });

  test('require the configured token', async () => {
    await using service = await startInProcess({ env: { EXTERNAL_HOST: 'localhost', METRICS_TOKEN: TOKEN } });
    for (const authorization of [
      '',
      TOKEN,
      `Bearer ${TOKEN}x`,
      `Bearer ${TOKEN.slice(1)}`,
      'Bearer',
      `Basic ${TOKEN}`,
    ]) {
      const { status, isMetrics, headers } = await metricsOf(service.url, { authorization });
      expect([authorization, status, isMetrics, headers['www-authenticate']]).toEqual([
        authorization,
        401,
        false,
        'Bearer',
      ]);
    }
    expect(await metricsOf(service.url, { authorization: `Bearer ${TOKEN}` })).toMatchObject({
      status: 200,
      isMetrics: true,
    });
  });

  test('count for the address of a client without the token', async () => {
    const env = { EXTERNAL_HOST: 'localhost', METRICS_TOKEN: TOKEN, RATE_LIMIT_PER_IP: '2' };
    await using service = await startInProcess({ env });
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await metricsOf(service.url)).status);
    expect(statuses).toEqual([401, 401, 429]);
    expect(await metricsOf(service.url, { authorization: `Bearer ${TOKEN}` })).toMatchObject({ status: 200 });
    await using open = await startInProcess({ env: { RATE_LIMIT_PER_IP: '2' } });
    const replies = [];
    for (let i = 0; i < 3; i++) replies.push(await metricsOf(open.url));
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(Number(replies[2]?.headers['retry-after'])).toBeGreaterThan(0);
  });

  test('are served at the configured address only, and nothing else is served there', async () => {
    expect(await metricsOf(closed.url)).toMatchObject({ status: 404, isMetrics: false });
    const reply = await metricsOf(`http://${METRICS_ADDRESS}`);
    expect(reply).toMatchObject({ status: 200, isMetrics: true, headers: { 'x-content-type-options': 'nosniff' } });
    for (const path of ['/', '/api/v1/server_settings', '/graphql?query={__typename}']) {
      const other = await send(`http://${METRICS_ADDRESS}`, { method: 'GET', path, headers: { host: 'localhost' } });
      expect([path, other.status]).toEqual([path, 404]);
    }
  });

  test('need a complete configuration', () => {
    expect(readConfig({ METRICS_ADDRESS: '[::1]:9090' }).metricsAddress).toEqual({ host: '::1', port: 9090 });
    expect(() => readConfig({ METRICS_ADDRESS: '9090' })).toThrow(/^METRICS_ADDRESS: must be an address/);
    expect(() => readConfig({ PORT: '9090', METRICS_ADDRESS: '127.0.0.1:9090' })).toThrow(
      /^METRICS_ADDRESS: must differ from/,
    );
    expect(() => readConfig({ METRICS_TOKEN: 'short' })).toThrow(/^METRICS_TOKEN: must have at least 16/);
  });
});

describe('the schema, if introspection requires authentication', () => {
  let people: Organization;
  beforeAll(async () => {
    people = await createOrganization({}, { on: closed });
  });

  const INTROSPECTION = [
    '{ __schema { queryType { name } } }',
    '{ a: __type(name: "User") { name } }',
    '{ ...a } fragment a on Query { ... { __schema { queryType { name } } } }',
    'query A { __typename } query B { __schema { queryType { name } } }',
  ];

  test.for(INTROSPECTION)('%s is answered only with credentials, over every transport', async (query) => {
    const operationName = query.includes('query B') ? 'B' : undefined;
    const over = async (by: Visitor, accept: string) => {
      const headers = { ...by.headers, accept, 'content-type': 'application/json' };
      const body = JSON.stringify({ query, operationName });
      return send(by.url, { method: 'POST', path: '/graphql', headers, body });
    };
    for (const accept of ['application/json', 'text/event-stream']) {
      const refused = await over(people.anonymous, accept);
      // On an event stream, errors of an operation are sent as a result with status 200.
      const status = accept === 'text/event-stream' ? 200 : 401;
      expect([refused.status, refused.text]).toEqual([status, expect.stringContaining('"UNAUTHORIZED"')]);
      expect(refused.text).not.toContain('"name"');
      const told = await over(people.member, accept);
      expect([accept, told.status]).toEqual([accept, 200]);
      expect(told.text).toMatch(/"name":"(Query|User)"/);
    }
    await using socket = await RawSocket.connected(people.anonymous);
    socket.send({ id: '1', type: 'subscribe', payload: { query, operationName } });
    expect((await socket.next('error')).payload).toMatchObject([{ extensions: { code: 'UNAUTHORIZED' } }]);
  });

  test('cannot be guessed from errors: no name is suggested', async () => {
    const mistakes: [string, object?][] = [
      ['{ viewr { fullName } }'],
      ['{ viewer { fullNam } }'],
      ['{ serverSettings { featureLevl } }'],
      ['{ ... on Usr { id } }'],
      ['query ($x: Drafts) { viewer { fullName } }'],
      ['{ channels(frst: 1) { edges { node { id } } } }'],
      ['mutation { sendMesage }'],
      ['mutation { setStatus(input: { txt: "x" }) { __typename } }'],
      [
        'query ($x: MessageNarrowInput) { messages(last: 1, narrow: $x) { edges { node { id } } } }',
        { x: { serch: 'x' } },
      ],
      ['mutation ($x: SetStatusInput!) { setStatus(input: $x) { __typename } }', { x: { txt: 'x', tex: 'y' } }],
    ];
    for (const [query, variables = {}] of mistakes) {
      const { errors } = await people.anonymous.graphql(query, { ...variables });
      expect(errors?.length).toBeGreaterThan(0);
      expect(JSON.stringify(errors)).not.toMatch(/did you mean/i);
    }
    await using socket = await RawSocket.connected(people.anonymous);
    socket.subscribe('1', '{ viewr { fullName } }');
    expect(JSON.stringify(await socket.next('error'))).not.toMatch(/did you mean/i);
  });

  test('is not available as a file either, and not linked', async () => {
    const ask = (by: Visitor, path: string) => send(by.url, { method: 'GET', path, headers: by.headers });
    const refused = await ask(people.anonymous, '/schema.graphql');
    expect([refused.status, refused.text]).toEqual([401, expect.not.stringContaining('type')]);
    expect(refused.headers['www-authenticate']).toMatch(/^Basic /);
    const told = await ask(people.member, '/schema.graphql');
    expect([told.status, told.text]).toEqual([200, expect.stringContaining('type Query')]);
    expect((await ask(people.anonymous, '/developers')).text).not.toContain('/schema.graphql');
  });

  test('is a setting, off by default with an external database', () => {
    const database = { DATABASE_URL: 'postgres://localhost/chat', SECRET_KEY: 'x'.repeat(32) };
    const told = (env: Record<string, string>) => readConfig(env).anonymousIntrospection;
    expect([told({}), told(database), told({ ANONYMOUS_INTROSPECTION: 'off' })]).toEqual([true, false, false]);
    expect(told({ ...database, ANONYMOUS_INTROSPECTION: 'on' })).toBe(true);
  });
});
