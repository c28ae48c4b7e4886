import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../src/platform/config.ts';
import { addressOf, networkOf, RateLimits } from '../src/platform/rate-limits.ts';
import { webSocketClient } from './helpers/events.ts';
import { globalId } from './helpers/global-ids.ts';
import { type Json, type Reply, send } from './helpers/http.ts';
import type { Visitor } from './helpers/person.ts';
import { RawSocket } from './helpers/raw-socket.ts';
import { type Organisation, organisation } from './helpers/server.ts';
import { type Served, startService } from './helpers/service.ts';

/** The limits of src/api/README.md, with numbers a test gets to the end of. */
const PER_USER = 6;
const PER_IP = 3;

let server: Served;
let people: Organisation;

/** Never asked: only sent to. */
const PROVIDER = {
  ...{ VIDEO_PROVIDER_CLIENT_ID: 'id', VIDEO_PROVIDER_CLIENT_SECRET: 'secret' },
  VIDEO_PROVIDER_AUTHORIZE_URL: 'https://video.example/authorize',
  VIDEO_PROVIDER_TOKEN_URL: 'https://video.example/token',
  VIDEO_PROVIDER_CREATE_URL: 'https://video.example/create',
};

beforeAll(async () => {
  const limits = { RATE_LIMIT_PER_USER: String(PER_USER), RATE_LIMIT_PER_IP: String(PER_IP) };
  const env = { ...limits, ...PROVIDER, TRUST_PROXY: '1' };
  server = await startService({ env });
  people = await organisation({}, { on: server });
}, 60_000);
afterAll(() => server[Symbol.asyncDispose]());

let addresses = 0;
/** As if from somewhere else: a proxy in front says where. */
const from = (address = `192.0.2.${++addresses}`) => ({ headers: { 'x-forwarded-for': address } });

const remaining = ({ headers }: { headers: Reply['headers'] }) => Number(headers['x-ratelimit-remaining']);

/** Over HTTP, with the headers of the reply. */
async function ask(who: Visitor, query: string, headers: Readonly<Record<string, string>> = {}) {
  const all = { ...who.headers, 'content-type': 'application/json', accept: 'application/graphql-response+json' };
  const body = JSON.stringify({ query });
  const reply = await send(who.url, { method: 'POST', path: '/graphql', headers: { ...all, ...headers }, body });
  const isJson = reply.headers['content-type']?.includes('json') === true;
  return { ...reply, body: isJson ? (JSON.parse(reply.text) as Json) : undefined };
}

test('says on every reply what is left, and refuses what comes after: 429, code, retry-after in body and header', async () => {
  const { member } = people;
  const before = Date.now() / 1000;
  const replies = [
    await member.rest('GET', '/users/me'),
    // Refused for its parameters, for what is not there, for who may: counted as well, and before they are looked at.
    await member.rest('GET', '/users/me/subscriptions', { include_subscribers: 'maybe' }),
    await member.rest('GET', '/users/2000000000'),
    await member.rest('PATCH', '/realm', { name: 'mine' }),
    await member.rest('GET', '/users/me', {}, { headers: { 'x-forwarded-for': '198.51.100.1' } }),
    await member.rest('POST', '/drafts', { drafts: [] }),
  ];
  expect(replies.map(({ headers }) => headers['x-ratelimit-limit'])).toEqual(replies.map(() => String(PER_USER)));
  expect(replies.map(remaining)).toEqual([5, 4, 3, 2, 1, 0]);
  for (const { headers } of replies) {
    const reset = Number(headers['x-ratelimit-reset']);
    expect(reset).toBeGreaterThan(before + 50);
    expect(reset).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000 + 60));
  }
  const refused = await member.rest('GET', '/users/me/subscriptions', { include_subscribers: 'maybe' });
  expect(refused).toMatchObject({ status: 429, body: { result: 'error', code: 'RATE_LIMIT_HIT' } });
  expect(refused.body['retry-after']).toBeGreaterThan(50);
  expect(refused.body['retry-after']).toBeLessThanOrEqual(60);
  expect(refused.headers['retry-after']).toBe(String(refused.body['retry-after']));
  expect(refused.headers).toMatchObject({ 'x-ratelimit-limit': String(PER_USER), 'x-ratelimit-remaining': '0' });
  // Nothing of it is anybody else's.
  expect(remaining(await people.owner.rest('GET', '/users/me'))).toBe(PER_USER - 1);
});

test('says so on a redirect, too', async () => {
  const { member } = await organisation({}, { on: server });
  const reply = await member.rest('GET', '/calls/videoprovider/register');
  expect([reply.status, remaining(reply)]).toEqual([302, PER_USER - 1]);
});

test('counts an account once for all doors: REST, GraphQL over HTTP, event streams and sockets', async () => {
  const { administrator } = people;
  const query = '{ rateLimit { limit remaining resetAt cost } }';
  await administrator.ok('GET', '/users/me');
  const overHttp = await ask(administrator, query);
  expect(overHttp.body.data.rateLimit).toMatchObject({ limit: PER_USER, remaining: 4, cost: expect.any(Number) });
  expect(overHttp.headers).toMatchObject({ 'x-ratelimit-limit': String(PER_USER), 'x-ratelimit-remaining': '4' });
  const { resetAt } = overHttp.body.data.rateLimit;
  expect(overHttp.body.extensions.rateLimit).toEqual({ limit: PER_USER, remaining: 4, resetAt });
  expect(overHttp.body.extensions.cost).toMatchObject({ requested: overHttp.body.data.rateLimit.cost });
  const client = webSocketClient(administrator);
  const overSocket = async () => {
    for await (const result of client.iterate({ query })) return result as Json;
  };
  try {
    expect(await overSocket()).toMatchObject({ data: { rateLimit: { remaining: 3 } }, extensions: { rateLimit: {} } });
    const streamed = await ask(administrator, query, { accept: 'text/event-stream' });
    expect(streamed).toMatchObject({ status: 200, headers: { 'x-ratelimit-remaining': '2' } });
    expect(streamed.text).toContain('"remaining":2');
    expect((await overSocket())?.data.rateLimit.remaining).toBe(1);
    await administrator.ok('GET', '/users/me');
    expect(await ask(administrator, query)).toMatchObject({
      status: 429,
      headers: { 'retry-after': expect.stringMatching(/^[\d.]+$/), 'x-ratelimit-remaining': '0' },
      body: { errors: [{ extensions: { code: 'RATE_LIMIT_HIT', 'retry-after': expect.any(Number) } }] },
    });
    await expect(overSocket()).rejects.toMatchObject([{ extensions: { code: 'RATE_LIMIT_HIT' } }]);
    const refused = await ask(administrator, query, { accept: 'text/event-stream' });
    expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': expect.stringMatching(/^[\d.]+$/) } });
  } finally {
    await client.dispose();
  }
});

/** Every way to send an operation: its result, refusals included. */
const DOORS: Readonly<
  Record<string, (who: Visitor, query: string, headers?: Record<string, string>) => Promise<Json>>
> = {
  HTTP: async (who, query, headers) => (await ask(who, query, headers)).body,
  'a socket': async (who, query, headers = {}) => {
    const client = webSocketClient({ url: who.url, headers: { ...who.headers, ...headers } });
    try {
      for await (const result of client.iterate({ query })) return result;
    } catch (errors) {
      return { errors };
    } finally {
      await client.dispose();
    }
  },
  'server-sent events': async (who, query, headers) => {
    const { text } = await ask(who, query, { ...headers, accept: 'text/event-stream' });
    return JSON.parse(/^data: (.+)$/m.exec(text)?.[1] ?? text);
  },
};

describe.for(Object.entries(DOORS))('an operation over %s', ([name, operate]) => {
  const sending = (to: number, count: number) =>
    `mutation { ${Array.from({ length: count }, (_, i) => `a${i}: sendMessage(input: { to: { direct: ["${globalId('User', to)}"] }, content: "${count}" }) { __typename }`).join(' ')} }`;

  test('counts as many requests as it has root fields, and none is executed of more than are left', async () => {
    const { member, owner } = await organisation({}, { on: server });
    const sent = await operate(member, sending(owner.id, 4));
    expect(sent.extensions).toMatchObject({ cost: { charged: 4 }, rateLimit: { limit: PER_USER, remaining: 2 } });
    const refused = await operate(member, sending(owner.id, 3));
    expect(refused).toMatchObject({
      errors: [{ extensions: { code: 'RATE_LIMIT_HIT', 'retry-after': expect.any(Number) } }],
    });
    expect(refused).not.toHaveProperty('data');
    // What was refused for its size counts as one, and leaves the rest to a smaller one.
    const last = await operate(member, sending(owner.id, 1));
    expect(last.extensions).toMatchObject({ cost: { charged: 1 }, rateLimit: { remaining: 0 } });
    const inbox = { anchor: 'newest', num_before: 100, num_after: 0, apply_markdown: false };
    const { messages } = await owner.ok('GET', '/messages', inbox);
    expect(messages.map(({ content }: Json) => content)).toEqual(['4', '4', '4', '4', '1']);
  });

  test('counts its root fields as they are executed: fragments spread, and without what is left out', async () => {
    const { member } = await organisation({}, { on: server });
    const register = 'registerEventQueue(input: {}) { __typename }';
    const { extensions } = await operate(
      member,
      `mutation ($no: Boolean! = false) {
        __typename
        a: ${register} a: ${register}
        b: ${register.replace(') {', ') @skip(if: true) {')}
        c: ${register.replace(') {', ') @include(if: $no) {')}
        ... on Mutation { d: ${register} ...F }
        ...F
        ...G @include(if: $no)
      }
      fragment F on Mutation { e: ${register} ... @skip(if: $no) { f: ${register} } }
      fragment G on Mutation { g: ${register} }`,
    );
    expect(extensions).toMatchObject({ cost: { charged: 4 }, rateLimit: { remaining: 2 } });
  });

  test('without an account counts on its address as many requests', async () => {
    const { headers } = from();
    const confirming = (count: number) =>
      `mutation { ${Array.from({ length: count }, (_, i) => `a${i}: confirmEmailChange(input: { token: "x" }) { __typename }`).join(' ')} }`;
    const refused = await operate(people.anonymous, confirming(PER_IP + 1), headers);
    expect(refused).toMatchObject({ errors: [{ extensions: { code: 'RATE_LIMIT_HIT' } }] });
    expect(refused.errors[0].message).toContain(
      `counts as ${PER_IP + 1} requests, of which there are ${PER_IP} a minute`,
    );
  });

  test.for([
    ['cannot be parsed', `{ ${'a '.repeat(3_000)}`],
    ['is not valid', `{ ${'nothingOfTheKind '.repeat(150)}}`],
    ['is too large', `{ ${'a '.repeat(10_000)}}`],
    ['costs too much', `{ ${'users(first: 100) { nodes { groups(first: 100) { nodes { id } } } }'} }`],
  ])('counts one that %s as a request of its sender, and reads none of who has none left', async ([, document]) => {
    const { member } = await organisation({}, { on: server });
    const { headers } = from();
    for (const [who, limit] of [
      [people.anonymous, PER_IP],
      [member, PER_USER],
    ] as const) {
      const refusals = [];
      for (let i = 0; i < limit + 1; i++) {
        const { errors } = await operate(who, String(document), headers);
        refusals.push(errors.code === 1013 || errors[0].extensions.code === 'RATE_LIMIT_HIT');
      }
      // A socket on which nobody signs in counts as well.
      const each = name === 'a socket' && who === people.anonymous ? 2 : 1;
      expect(refusals.indexOf(true)).toBe(Math.floor(limit / each));
    }
  });

  test('may try credentials once', async () => {
    const byPassword = 'fetchApiKey(input: { username: "x", password: "y" }) { __typename }';
    const byToken = 'fetchApiKeyByJwt(input: { token: "x" }) { __typename }';
    for (const [fields, actual] of [
      [Array.from({ length: 50 }, (_, i) => `a${i}: ${byPassword}`).join(' '), 50],
      [`${byPassword} ${byToken}`, 2],
      [`a: ${byToken} ... { ...F } } fragment F on Mutation { b: ${byToken}`, 2],
    ] as const) {
      const refused = await operate(people.anonymous, `mutation { ${fields} }`, from().headers);
      expect(refused).not.toHaveProperty('data');
      expect(refused.errors).toMatchObject([{ extensions: { code: 'DOCUMENT_LIMIT_EXCEEDED', max: 1, actual } }]);
    }
    const { data } = await operate(people.anonymous, `mutation { a: ${byPassword} a: ${byPassword} }`, from().headers);
    expect(data.a.__typename).toBe('AuthenticationFailedError');
  });
});

const JSON_BODY = { 'content-type': 'application/json' };
const EVENTS = { accept: 'text/event-stream' };
const MULTIPART = { 'content-type': 'multipart/form-data; boundary=x', 'graphql-require-preflight': '1' };
const URL_ENCODED = { 'content-type': 'application/x-www-form-urlencoded' };

/** Requests that are refused for their form, before anything of what they ask is known. */
const UNREADABLE = [
  { what: 'no JSON', path: '/graphql', headers: JSON_BODY, body: '{"query": ' },
  { what: 'no object', path: '/graphql', headers: JSON_BODY, body: '1' },
  { what: 'JSON nested too deep', path: '/graphql', headers: JSON_BODY, body: '['.repeat(100) },
  { what: 'no multipart', path: '/graphql', headers: MULTIPART, body: 'x' },
  { what: 'no operation with files', path: '/graphql', headers: MULTIPART, body: '--x--\r\n' },
  { what: 'no JSON in the query string', path: '/graphql?query=%7Bx%7D&variables=%7B', headers: {} },
  { what: 'no JSON, for events', path: '/graphql', headers: { ...JSON_BODY, ...EVENTS }, body: '{' },
  { what: 'no JSON in the query string, for events', path: '/graphql?query=%7Bx%7D&variables=%7B', headers: EVENTS },
  { what: 'no multipart, over REST', path: '/api/v1/messages', headers: MULTIPART, body: 'x' },
  { what: 'a form of too many fields', path: '/api/v1/messages', headers: URL_ENCODED, body: 'a&'.repeat(2_000) },
  { what: 'too large', path: '/api/v1/messages', headers: URL_ENCODED, body: 'a'.repeat(2 ** 20 + 1) },
].map(({ what, ...sent }) => [what, { ...sent, method: 'body' in sent ? 'POST' : 'GET' }] as const);

test.for(UNREADABLE)('counts a request that is %s, and reads none of who has none left', async ([, sent]) => {
  const { member } = await organisation({}, { on: server });
  for (const [who, limit] of [
    [people.anonymous, PER_IP],
    [member, PER_USER],
  ] as const) {
    const headers = { ...who.headers, ...sent.headers, ...from().headers };
    const replies = [];
    for (let i = 0; i < limit + 1; i++) replies.push(await send(who.url, { ...sent, headers }));
    expect(replies.map(remaining)).toEqual([...Array.from({ length: limit }, (_, i) => limit - 1 - i), 0]);
    expect(replies.map(({ status }) => status >= 400 && status !== 429)).toEqual([...Array(limit).fill(true), false]);
    expect(replies.at(-1)).toMatchObject({ status: 429, headers: { 'retry-after': expect.any(String) } });
  }
});

test('a stranger’s form of half a million fields keeps nobody waiting', async () => {
  const body = 'a&'.repeat(2 ** 19);
  const startedAt = performance.now();
  const sent = {
    method: 'POST',
    path: '/api/v1/fetch_api_key',
    headers: { ...people.anonymous.headers, ...URL_ENCODED },
  };
  const { status } = await send(people.anonymous.url, {
    ...sent,
    headers: { ...sent.headers, ...from().headers },
    body,
  });
  expect(status).toBe(400);
  // Reading them took some seconds, in which nobody else was answered.
  expect(performance.now() - startedAt).toBeLessThan(1_000);
});

test('tells in the field rateLimit what an operation is charged', async () => {
  const { member } = await organisation({}, { on: server });
  const { body } = await ask(member, '{ a: rateLimit { charged remaining } b: rateLimit { charged } }');
  expect(body.data).toEqual({ a: { charged: 1, remaining: PER_USER - 1 }, b: { charged: 1 } });
});

test('a socket without an account counts on its address, and is told to come back', async () => {
  const { headers } = from();
  const closings = [];
  for (let i = 0; i < PER_IP + 1; i++) {
    const socket = await RawSocket.open(people.anonymous, undefined, headers);
    socket.send({ type: 'connection_init' });
    closings.push(await Promise.race([socket.closed, socket.next('connection_ack').then(({ type }) => type)]));
    await socket[Symbol.asyncDispose]();
  }
  const refused = { code: 1013, reason: expect.stringContaining('try again in') };
  expect(closings).toEqual([...Array.from({ length: PER_IP }, () => 'connection_ack'), refused]);
});

test('counts a long poll once, when it starts', async () => {
  const { moderator } = people;
  const { queue_id, last_event_id } = await moderator.register({ fetch_event_types: [] });
  const waiting = moderator.rest('GET', '/events', { queue_id, last_event_id });
  await moderator.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content: 'heard' }] });
  const polled = await waiting;
  expect(polled.body.events).toMatchObject([{ type: 'drafts' }]);
  expect(remaining(await moderator.rest('GET', '/users/me'))).toBe(PER_USER - 4);
});

test('counts what has no account on its address, over all doors', async () => {
  const { anonymous } = people;
  const [here, there] = [from(), from()];
  expect(remaining(await anonymous.rest('GET', '/server_settings', {}, here))).toBe(2);
  expect(remaining(await ask(anonymous, '{ __typename }', here.headers))).toBe(1);
  const unauthorized = await anonymous.rest('GET', '/users/me', {}, here);
  expect(unauthorized).toMatchObject({ status: 401, headers: { 'x-ratelimit-remaining': '0' } });
  expect(unauthorized.headers['www-authenticate']).toContain('Basic');
  expect(await anonymous.rest('GET', '/server_settings', {}, here)).toMatchObject({ status: 429 });
  expect(await ask(anonymous, '{ __typename }', here.headers)).toMatchObject({ status: 429 });
  expect(await anonymous.rest('GET', '/server_settings', {}, there)).toMatchObject({ status: 200 });
});

test('counts wrong keys on the address they come from, and always lets in who has the right one', async () => {
  const { bot } = people;
  const stranger = bot.as(`Basic ${btoa(`${bot.email}:${'x'.repeat(32)}`)}`);
  const here = from();
  const tries = [];
  for (let i = 0; i < PER_IP + 2; i++) tries.push((await stranger.rest('GET', '/users/me', {}, here)).status);
  expect(tries).toEqual([401, 401, 401, 429, 429]);
  expect(await bot.rest('GET', '/users/me', {}, here)).toMatchObject({ status: 200 });
  expect((await ask(stranger, '{ __typename }', here.headers)).status).toBe(429);
});

test('believes only what its own proxies say of where a request comes from', async () => {
  const { anonymous } = people;
  // The client's own claim stands before what the proxy adds.
  const [claims, real] = [['203.0.113.1', '203.0.113.2', '203.0.113.3', '203.0.113.4'], '192.0.2.250'];
  const statuses = [];
  for (const claim of claims) {
    statuses.push((await anonymous.rest('GET', '/server_settings', {}, from(`${claim}, ${real}`))).status);
  }
  expect(statuses).toEqual([200, 200, 200, 429]);
});

test('pages and health are nobody’s budget', async () => {
  const { anonymous } = people;
  for (const path of ['/developers', '/docs', '/healthz', '/readyz']) {
    const { status, headers } = await send(anonymous.url, { method: 'GET', path, headers: anonymous.headers });
    expect(status, path).toBe(200);
    expect(headers, path).not.toHaveProperty('x-ratelimit-limit');
  }
});

test('says nothing of limits where there are none', async () => {
  const { member, anonymous } = await organisation();
  for (const who of [member, anonymous]) {
    expect((await who.rest('GET', '/users/me')).headers).not.toHaveProperty('x-ratelimit-limit');
  }
  const { data, extensions } = await member.graphql('{ rateLimit { limit } }');
  expect({ data, extensions }).toEqual({ data: { rateLimit: null }, extensions: { cost: expect.anything() } });
});

describe('the address', () => {
  const origin = (remoteAddress: string, forwarded?: string) =>
    ({ socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } }) as never;

  test('is the connection’s, or what the trusted proxies wrote', () => {
    expect(addressOf(origin('10.0.0.1', '192.0.2.1'), 0)).toBe('10.0.0.1');
    expect(addressOf(origin('10.0.0.1', '192.0.2.9, 192.0.2.1'), 1)).toBe('192.0.2.1');
    expect(addressOf(origin('10.0.0.1', '192.0.2.9, 192.0.2.1, 10.0.0.2'), 2)).toBe('192.0.2.1');
    // Fewer than there should be, or nonsense: somebody came past the proxies.
    expect(addressOf(origin('10.0.0.1', '192.0.2.1'), 2)).toBe('10.0.0.1');
    expect(addressOf(origin('10.0.0.1', 'unknown'), 1)).toBe('10.0.0.1');
    expect(addressOf(origin('10.0.0.1'), 1)).toBe('10.0.0.1');
  });

  test('is a whole network with IPv6, where everybody has as many as they like', () => {
    expect(networkOf('2001:db8:0:1::1')).toBe(networkOf('2001:DB8::1:ffff:0:0:1'));
    expect(networkOf('2001:db8:0:1::1')).not.toBe(networkOf('2001:db8:0:2::1'));
    expect(networkOf('::1')).toBe('0:0:0:0::/64');
    expect(networkOf('fe80::1%eth0')).toBe('fe80:0:0:0::/64');
    expect(networkOf('::ffff:192.0.2.1')).toBe('192.0.2.1');
    expect(networkOf('192.0.2.1')).toBe('192.0.2.1');
  });
});

test('the configuration is a number, or "off", and as documented when it says nothing', () => {
  expect(readConfig({})).toMatchObject({ rateLimitPerUser: 200, rateLimitPerIp: 100, trustedProxies: 0 });
  expect(readConfig({ RATE_LIMIT_PER_USER: 'off' }).rateLimitPerUser).toBeUndefined();
  for (const wrong of ['0', '-1', '1.5', 'on']) {
    expect(() => readConfig({ RATE_LIMIT_PER_IP: wrong }), wrong).toThrow('RATE_LIMIT_PER_IP: ');
  }
});

const { REDIS_URL } = process.env;
const log = { warn() {} } as never;

test.skipIf(REDIS_URL === undefined)('nodes with one Redis count together', async () => {
  const config = readConfig({ RATE_LIMIT_PER_USER: '5', ...(REDIS_URL !== undefined && { REDIS_URL }) });
  const nodes = [new RateLimits(config, log), new RateLimits(config, log)] as const;
  try {
    // Nobody else uses the number; what earlier runs counted is forgotten in a minute.
    const somebody = () => 2 ** 31 + Math.floor(Math.random() * 2 ** 31);
    const countByBoth = async (userId = somebody()) => {
      await nodes[0].countUser(userId);
      return (await nodes[1].countUser(userId))?.remaining;
    };
    await expect.poll(() => countByBoth()).toBe(3);
    const userId = somebody();
    const counts = [];
    for (let i = 0; i < 5; i++) counts.push((await nodes[i % 2]?.countUser(userId))?.remaining);
    expect(counts).toEqual([4, 3, 2, 1, 0]);
    await expect(nodes[0].countUser(userId)).rejects.toMatchObject({ code: 'RATE_LIMIT_HIT' });
    await expect(nodes[1].countUser(userId)).rejects.toMatchObject({ code: 'RATE_LIMIT_HIT' });
  } finally {
    for (const node of nodes) node.close();
  }
});

test('a node counts alone while Redis is away', async () => {
  // Port 9 discards, or refuses.
  const limits = new RateLimits(readConfig({ RATE_LIMIT_PER_USER: '2', REDIS_URL: 'redis://127.0.0.1:9' }), log);
  try {
    expect(await limits.countUser(1)).toMatchObject({ remaining: 1 });
    expect(await limits.countUser(1)).toMatchObject({ remaining: 0 });
    await expect(limits.countUser(1)).rejects.toMatchObject({ code: 'RATE_LIMIT_HIT' });
  } finally {
    limits.close();
  }
});
