import { getIntrospectionQuery } from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../src/platform/config.ts';
import { addressOf, networkOf, RateLimits } from '../../src/platform/rate-limits.ts';
import { webSocketClient } from '../helpers/events.ts';
import { globalId } from '../helpers/global-ids.ts';
import { type Json, type Reply, send } from '../helpers/http.ts';
import { basic, type Person, type Visitor } from '../helpers/person.ts';
import { RawSocket } from '../helpers/raw-socket.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';
import { type Served, startService } from '../helpers/service.ts';

/**
 * Rate limits, as src/api/README.md documents them, with numbers that a test can reach: requests per user and per IP address.
 */
const PER_USER = 6;
const PER_IP = 3;

let server: Served;
let people: Organization;

/** Configuration of a provider of video calls. The service redirects browsers to it, but no test sends it a request. */
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
  people = await createOrganization({}, { on: server });
});
afterAll(() => server[Symbol.asyncDispose]());

let addresses = 0;
/**
 * Returns options for a request from another client address. The address is in the header that a proxy in front of the service
 * adds.
 */
const from = (address = `192.0.2.${++addresses}`) => ({ headers: { 'x-forwarded-for': address } });

const remaining = ({ headers }: { headers: Reply['headers'] }) => Number(headers['x-ratelimit-remaining']);

/** Sends an operation over HTTP. @returns The response with its headers. */
async function ask(who: Visitor, query: string, headers: Readonly<Record<string, string>> = {}) {
  const all = { ...who.headers, 'content-type': 'application/json', accept: 'application/graphql-response+json' };
  const body = JSON.stringify({ query });
  const reply = await send(who.url, { method: 'POST', path: '/graphql', headers: { ...all, ...headers }, body });
  const isJson = reply.headers['content-type']?.includes('json') === true;
  return { ...reply, body: isJson ? (JSON.parse(reply.text) as Json) : undefined };
}

test('every reply contains the remaining requests; beyond them: 429, code, retry-after in body and header', async () => {
  const { member } = people;
  const before = Date.now() / 1000;
  const replies = [
    await member.rest('GET', '/users/me'),
    // Requests also count if they are refused because of parameters, unknown objects or permissions. The service counts them
    // before it checks them.
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
  expect(refused.headers['retry-after']).toBe(String(Math.ceil(refused.body['retry-after'])));
  expect(refused.headers).toMatchObject({ 'x-ratelimit-limit': String(PER_USER), 'x-ratelimit-remaining': '0' });
  // Each user has a separate limit.
  expect(remaining(await people.owner.rest('GET', '/users/me'))).toBe(PER_USER - 1);
});

test('a redirect contains them, too', async () => {
  const { member } = await createOrganization({}, { on: server });
  const reply = await member.rest('GET', '/calls/videoprovider/register');
  expect([reply.status, remaining(reply)]).toEqual([302, PER_USER - 1]);
});

test('counts an account once across REST, GraphQL over HTTP, event streams and sockets', async () => {
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
      headers: { 'retry-after': expect.stringMatching(/^\d+$/), 'x-ratelimit-remaining': '0' },
      body: { errors: [{ extensions: { code: 'RATE_LIMIT_HIT', retryAfterSeconds: expect.any(Number) } }] },
    });
    await expect(overSocket()).rejects.toMatchObject([{ extensions: { code: 'RATE_LIMIT_HIT' } }]);
    const refused = await ask(administrator, query, { accept: 'text/event-stream' });
    expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': expect.stringMatching(/^\d+$/) } });
  } finally {
    await client.dispose();
  }
});

test("counts a bot's requests for its owner, over every transport, whatever the number of bots", async () => {
  const { owner, administrator, moderator, guest } = await createOrganization({}, { on: server });
  const botOf = async (person: Person, name: string) => {
    const { email, api_key } = await person.ok('POST', '/bots', { full_name: name, short_name: name });
    return person.as(basic(email, api_key));
  };
  const [first, second] = [await botOf(moderator, 'one'), await botOf(moderator, 'two')];
  // Both bots share the limit of their owner.
  expect(remaining(await first.rest('GET', '/users/me'))).toBe(PER_USER - 3);
  expect(remaining(await ask(second, '{ me { fullName } }'))).toBe(PER_USER - 4);
  const client = webSocketClient(first);
  try {
    for await (const result of client.iterate({ query: '{ rateLimit { remaining } }' })) {
      expect(result).toMatchObject({ data: { rateLimit: { remaining: PER_USER - 5 } } });
    }
  } finally {
    await client.dispose();
  }
  expect(remaining(await moderator.rest('GET', '/users/me'))).toBe(0);
  for (const one of [first, second, moderator]) expect((await one.rest('GET', '/users/me')).status).toBe(429);
  expect((await guest.rest('GET', '/users/me')).status).toBe(200);

  // After the bot's owner has changed, requests of the bot count for the new owner.
  const bot = await botOf(owner, 'three');
  const { user_id } = await bot.ok('GET', '/users/me');
  await owner.ok('PATCH', `/bots/${user_id}`, { bot_owner_id: administrator.id });
  expect(remaining(await bot.rest('GET', '/users/me'))).toBe(PER_USER - 1);
  expect(remaining(await owner.rest('GET', '/users/me'))).toBe(PER_USER - 4);
});

/** Functions that send a GraphQL operation, by transport. They resolve with its result, which can be a refusal. */
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

  test('counts one request per root field, and executes nothing if fewer are left', async () => {
    const { member, owner } = await createOrganization({}, { on: server });
    const sent = await operate(member, sending(owner.id, 4));
    expect(sent.extensions).toMatchObject({ cost: { charged: 4 }, rateLimit: { limit: PER_USER, remaining: 2 } });
    const refused = await operate(member, sending(owner.id, 3));
    expect(refused).toMatchObject({
      errors: [{ extensions: { code: 'RATE_LIMIT_HIT', retryAfterSeconds: expect.any(Number) } }],
    });
    expect(refused).not.toHaveProperty('data');
    // An operation that is refused because of its size counts as one request. A smaller operation can still run.
    const last = await operate(member, sending(owner.id, 1));
    expect(last.extensions).toMatchObject({ cost: { charged: 1 }, rateLimit: { remaining: 0 } });
    const inbox = { anchor: 'newest', num_before: 100, num_after: 0, apply_markdown: false };
    const { messages } = await owner.ok('GET', '/messages', inbox);
    expect(messages.map(({ content }: Json) => content)).toEqual(['4', '4', '4', '4', '1']);
  });

  test('counts root fields as executed: with expanded fragments, and without skipped fields', async () => {
    const { member } = await createOrganization({}, { on: server });
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

  test('without credentials counts for its address, with the number of its root fields', async () => {
    const { headers } = from();
    const confirming = (count: number) =>
      `mutation { ${Array.from({ length: count }, (_, i) => `a${i}: confirmEmailChange(input: { token: "x" }) { __typename }`).join(' ')} }`;
    const refused = await operate(people.anonymous, confirming(PER_IP + 1), headers);
    expect(refused).toMatchObject({ errors: [{ extensions: { code: 'RATE_LIMIT_HIT' } }] });
    expect(refused.errors[0].message).toContain(
      `counts as ${PER_IP + 1} requests, and the limit is ${PER_IP} per minute`,
    );
  });

  test.for([
    ['cannot be parsed', `{ ${'a '.repeat(3_000)}`],
    ['is not valid', `{ ${'nothingOfTheKind '.repeat(150)}}`],
    ['is too large', `{ ${'a '.repeat(10_000)}}`],
    ['costs too much', `{ ${'users(first: 100) { nodes { groups(first: 100) { nodes { id } } } }'} }`],
  ])('counts one that %s as a request of its sender, and parses none if no budget is left', async ([, document]) => {
    const { member } = await createOrganization({}, { on: server });
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
      // An anonymous socket counts as a request, too, so an operation over a new socket counts twice.
      const each = name === 'a socket' && who === people.anonymous ? 2 : 1;
      expect(refusals.indexOf(true)).toBe(Math.floor(limit / each));
    }
  });

  test('counts introspection by the requested fields, for each alias again', async () => {
    const { member } = await createOrganization({}, { on: server });
    const charged = async (query: string, by: Visitor = member) => {
      const { data, extensions } = await operate(by, query, from().headers);
      expect(data).toBeDefined();
      return extensions.cost.charged;
    };
    expect(await charged('{ __schema { types { name } } }')).toBe(1);
    expect(
      await charged('{ a: __type(name: "User") { name } ... { b: __type(name: "User") { name } } __typename }'),
    ).toBe(2);
    expect(await charged('{ a: __schema { description } b: __schema { description } }', people.anonymous)).toBe(2);
    const all = getIntrospectionQuery();
    const aliases = all
      .replace('__schema {', 'a: __schema { ...S } b: __schema { ...S } } fragment S on __Schema {')
      .replace(/\}\s*\}\s*fragment FullType/, '} fragment FullType');
    for (const who of [member, people.anonymous]) {
      const costOf = async (query: string): Promise<number> =>
        Number(/counts as (\d+) requests/.exec((await operate(who, query, from().headers)).errors[0].message)?.[1]);
      const cost = await costOf(all);
      expect([cost >= 22, cost <= 34]).toEqual([true, true]);
      expect(Math.abs((await costOf(aliases)) - 2 * cost)).toBeLessThanOrEqual(2);
    }
  });

  test('can try credentials once', async () => {
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

/** Requests that are refused before they are parsed or validated, because their format is wrong. */
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

test.for(UNREADABLE)('counts a request that is %s, and parses none if no budget is left', async ([, sent]) => {
  const { member } = await createOrganization({}, { on: server });
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

const AS_BROWSER = { accept: 'text/html,*/*' };

test.for<[method: string, path: string, headers?: Readonly<Record<string, string>>]>([
  ['GET', '/docs'],
  ['HEAD', '/docs'],
  ['GET', '/docs/events'],
  ['GET', '/d%6fcs'],
  ['GET', '/developers'],
  ['GET', '/schema.graphql'],
  ['GET', '/api/v1/openapi.json'],
  ['GET', '/graphql', AS_BROWSER],
  ['GET', '/nothing', AS_BROWSER],
  ['GET', '/nothing'],
  ['GET', '/api/v1/nothing'],
  ['GET', '/%'],
  ['POST', '/docs'],
  ['DELETE', '/nothing'],
  ['PUT', '/api/v1/users/me'],
  ['OPTIONS', '/api/v1/users/me'],
  ['GET', '/assets'],
])(
  'counts %s %s on the network address, signed in or not, and refuses requests above the limit',
  async ([method, path, accept]) => {
    const { anonymous } = people;
    const headers = { ...anonymous.headers, ...accept, ...from().headers };
    const replies = [];
    for (let i = 0; i < PER_IP + 1; i++) replies.push(await send(anonymous.url, { method, path, headers }));
    expect(replies.map(remaining)).toEqual([2, 1, 0, 0]);
    expect(replies.map(({ status }) => status === 429)).toEqual([false, false, false, true]);
    expect(replies.at(-1)?.headers['retry-after']).toMatch(/^[\d.]+$/);
  },
);

test('files have a separate limit, twenty times as high', async () => {
  const { headers } = from();
  const { anonymous } = people;
  const ask = (path: string, method = 'GET') =>
    send(anonymous.url, { method, path, headers: { ...anonymous.headers, ...headers } });
  const paths = [
    ...[
      '/',
      '/inbox',
      '/people/1',
      '/favicon.svg',
      '/favicon.ico',
      '/manifest.webmanifest',
      '/service-worker.js',
      '/assets/nothing.js',
      '/avatar/1',
      '/avatar/1/medium',
    ],
    ...['/avatar/organization', '/api/v1/users/1/avatar', '/emoji/nothing', '/static/generated/emoji/emoji_api.json'],
  ];
  let left = 20 * PER_IP;
  for (const path of paths) {
    const reply = await ask(path);
    left--;
    expect([path, reply.headers['x-ratelimit-limit'], remaining(reply)]).toEqual([path, String(20 * PER_IP), left]);
  }
  while (left > 0) {
    await ask('/favicon.svg', 'HEAD');
    left--;
  }
  expect((await ask('/')).status).toBe(429);
  expect(remaining(await ask('/docs'))).toBe(PER_IP - 1);
  const health = await Promise.all(Array.from({ length: PER_IP + 1 }, () => ask('/healthz')));
  expect(health.map(({ status }) => status)).toEqual(health.map(() => 200));
});

test('a form of half a million fields from an anonymous client does not delay other requests', async () => {
  const body = 'a&'.repeat(2 ** 19);
  const durations = [];
  // Compares the fastest of several requests, because other processes can delay some of them.
  for (let i = 0; i < 3; i++) {
    const startedAt = performance.now();
    const headers = { ...people.anonymous.headers, ...URL_ENCODED, ...from().headers };
    const { status } = await send(people.anonymous.url, {
      method: 'POST',
      path: '/api/v1/fetch_api_key',
      headers,
      body,
    });
    durations.push(performance.now() - startedAt);
    expect(status).toBe(400);
  }
  // A slow parser would take several seconds for this form, while all other requests wait.
  expect(Math.min(...durations)).toBeLessThan(1_000);
});

test('returns the charge of an operation in the field rateLimit', async () => {
  const { member } = await createOrganization({}, { on: server });
  const { body } = await ask(member, '{ a: rateLimit { charged remaining } b: rateLimit { charged } }');
  expect(body.data).toEqual({ a: { charged: 1, remaining: PER_USER - 1 }, b: { charged: 1 } });
});

test('a socket without credentials counts for its address, and is closed with a retryable code', async () => {
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

test('counts requests without credentials for their address, over all transports', async () => {
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

test('counts wrong keys for their address, and always accepts the right one', async () => {
  const { bot } = people;
  const stranger = bot.as(`Basic ${btoa(`${bot.email}:${'x'.repeat(32)}`)}`);
  const here = from();
  const tries = [];
  for (let i = 0; i < PER_IP + 2; i++) tries.push((await stranger.rest('GET', '/users/me', {}, here)).status);
  expect(tries).toEqual([401, 401, 401, 429, 429]);
  expect(await bot.rest('GET', '/users/me', {}, here)).toMatchObject({ status: 200 });
  expect((await ask(stranger, '{ __typename }', here.headers)).status).toBe(429);
});

test('trusts only the configured proxies for the address of a request', async () => {
  const { anonymous } = people;
  // A client can send its own x-forwarded-for, to which the proxy appends the real address.
  const [claims, real] = [['203.0.113.1', '203.0.113.2', '203.0.113.3', '203.0.113.4'], '192.0.2.250'];
  const statuses = [];
  for (const claim of claims) {
    statuses.push((await anonymous.rest('GET', '/server_settings', {}, from(`${claim}, ${real}`))).status);
  }
  expect(statuses).toEqual([200, 200, 200, 429]);
});

test('health checks do not count', async () => {
  const { anonymous } = people;
  for (const path of ['/healthz', '/readyz']) {
    const { status, headers } = await send(anonymous.url, { method: 'GET', path, headers: anonymous.headers });
    expect(status, path).toBe(200);
    expect(headers, path).not.toHaveProperty('x-ratelimit-limit');
  }
});

test('replies without limits contain no limit headers', async () => {
  const { member, anonymous } = await createOrganization();
  for (const who of [member, anonymous]) {
    expect((await who.rest('GET', '/users/me')).headers).not.toHaveProperty('x-ratelimit-limit');
  }
  const { data, extensions } = await member.graphql('{ rateLimit { limit } }');
  expect({ data, extensions }).toEqual({ data: { rateLimit: null }, extensions: { cost: expect.anything() } });
});

describe('the address', () => {
  const origin = (remoteAddress: string, forwarded?: string) =>
    ({ socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } }) as never;

  test('is that of the connection, or the one that trusted proxies added', () => {
    expect(addressOf(origin('10.0.0.1', '192.0.2.1'), 0)).toBe('10.0.0.1');
    expect(addressOf(origin('10.0.0.1', '192.0.2.9, 192.0.2.1'), 1)).toBe('192.0.2.1');
    expect(addressOf(origin('10.0.0.1', '192.0.2.9, 192.0.2.1, 10.0.0.2'), 2)).toBe('192.0.2.1');
    // If the header has fewer entries than there are proxies, or an invalid one, the request has bypassed the proxies.
    expect(addressOf(origin('10.0.0.1', '192.0.2.1'), 2)).toBe('10.0.0.1');
    expect(addressOf(origin('10.0.0.1', 'unknown'), 1)).toBe('10.0.0.1');
    expect(addressOf(origin('10.0.0.1'), 1)).toBe('10.0.0.1');
  });

  test.for([
    ['203.0.113.2', '203.0.113.2'],
    ['203.0.113.2:1111', '203.0.113.2'],
    ['203.0.113.2:65535', '203.0.113.2'],
    ['"203.0.113.2:1111"', '203.0.113.2'],
    ['2001:db8::1', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[2001:db8::1]:4711', '2001:db8::1'],
    ['"[2001:db8::1]:4711"', '2001:db8::1'],
    ['[fe80::1%eth0]:80', 'fe80::1%eth0'],
    ['::ffff:203.0.113.2', '203.0.113.2'],
    ['[::ffff:203.0.113.2]:1111', '203.0.113.2'],
    ['::FFFF:cb00:7102', '203.0.113.2'],
    ['0:0:0:0:0:ffff:203.0.113.2', '203.0.113.2'],
    // If the IP address in the header is invalid, the IP address of the connection is used.
    ['203.0.113.2:', '10.0.0.1'],
    ['203.0.113.2:port', '10.0.0.1'],
    ['203.0.113.2:1111:2', '10.0.0.1'],
    ['203.0.113.256:1', '10.0.0.1'],
    ['[203.0.113.2]:1', '10.0.0.1'],
    ['[2001:db8::1', '10.0.0.1'],
    ['2001:db8::1]:1', '10.0.0.1'],
    ['[2001:db8::1]4711', '10.0.0.1'],
    ['', '10.0.0.1'],
    ['_hidden', '10.0.0.1'],
  ] as const)('in X-Forwarded-For can have a port or brackets: %s', ([written, address]) => {
    expect(addressOf(origin('10.0.0.1', `192.0.2.9, ${written}`), 1)).toBe(address);
    expect(addressOf(origin('::ffff:10.0.0.1', written), 1)).toBe(address);
  });

  test('of a client is the same for every port and notation', () => {
    const same = ['203.0.113.2', '203.0.113.2:1', '203.0.113.2:2', '::ffff:203.0.113.2', '[::ffff:cb00:7102]:3'];
    const networks = same.map((written) => networkOf(addressOf(origin('10.0.0.1', written), 1)));
    expect(new Set(networks)).toEqual(new Set(['203.0.113.2']));
    const longer = ['[2001:db8:0:1::1]:1', '2001:DB8:0:1::2', '[2001:db8:0:1:ffff::]:2', '2001:db8:0:1::192.0.2.1'];
    expect(new Set(longer.map((written) => networkOf(addressOf(origin('10.0.0.1', written), 1)))).size).toBe(1);
    expect(networkOf('2001:db8:0:2::1')).not.toBe(networkOf('2001:db8:0:1::1'));
  });

  test('is a whole network in IPv6, where clients can have any number of addresses', () => {
    expect(networkOf('2001:db8:0:1::1')).toBe(networkOf('2001:DB8::1:ffff:0:0:1'));
    expect(networkOf('2001:db8:0:1::1')).not.toBe(networkOf('2001:db8:0:2::1'));
    expect(networkOf('::1')).toBe('0:0:0:0::/64');
    expect(networkOf('fe80::1%eth0')).toBe('fe80:0:0:0::/64');
    expect(networkOf('::ffff:192.0.2.1')).toBe('192.0.2.1');
    expect(networkOf('192.0.2.1')).toBe('192.0.2.1');
  });
});

test('the configuration is a number, or "off", with the documented default', () => {
  expect(readConfig({})).toMatchObject({ rateLimitPerUser: 200, rateLimitPerIp: 100, trustedProxies: 0 });
  expect(readConfig({ RATE_LIMIT_PER_USER: 'off' }).rateLimitPerUser).toBeUndefined();
  for (const wrong of ['0', '-1', '1.5', 'on']) {
    expect(() => readConfig({ RATE_LIMIT_PER_IP: wrong }), wrong).toThrow('RATE_LIMIT_PER_IP: ');
  }
});

const { REDIS_URL } = process.env;
const log = { warn() {} } as never;

test.skipIf(REDIS_URL === undefined)('nodes with one Redis share their counts', async () => {
  const config = readConfig({ RATE_LIMIT_PER_USER: '5', ...(REDIS_URL !== undefined && { REDIS_URL }) });
  const nodes = [new RateLimits(config, log), new RateLimits(config, log)] as const;
  try {
    // Each call returns a user id that no other test uses. Counts of earlier runs expire within a minute.
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

const FAILURES = { points: 3, duration: 60 };

test.skipIf(REDIS_URL === undefined)('nodes with one Redis share their failure counts', async () => {
  const config = readConfig({ ...(REDIS_URL !== undefined && { REDIS_URL }) });
  const nodes = [new RateLimits(config, log), new RateLimits(config, log)] as const;
  try {
    const [a, b] = [nodes[0].failureCounter('tests', FAILURES), nodes[1].failureCounter('tests', FAILURES)];
    // Waits until both nodes are connected to Redis.
    await expect
      .poll(async () => {
        const key = `${Math.random()}`;
        for (let i = 0; i < 3; i++) await a.add(key);
        return b.waitMs(key);
      })
      .toBeGreaterThan(0);
    const key = `${Math.random()}`;
    await a.add(key);
    await b.add(key);
    expect([await a.waitMs(key), await b.waitMs(key)]).toEqual([0, 0]);
    await a.add(key);
    for (const node of [a, b]) {
      expect(await node.waitMs(key)).toBeGreaterThan(50_000);
      expect(await node.waitMs(key)).toBeLessThanOrEqual(60_000);
    }
    await b.clear(key);
    expect([await a.waitMs(key), await b.waitMs(key)]).toEqual([0, 0]);
  } finally {
    for (const node of nodes) node.close();
  }
});

test('a node counts failures locally while Redis is unavailable, and without Redis', async () => {
  for (const REDIS_URL of ['redis://127.0.0.1:9', '']) {
    const limits = new RateLimits(readConfig({ ...(REDIS_URL !== '' && { REDIS_URL }) }), log);
    try {
      const failures = limits.failureCounter('tests', FAILURES);
      for (let i = 0; i < 2; i++) await failures.add('a');
      expect([await failures.waitMs('a'), await failures.waitMs('b')]).toEqual([0, 0]);
      await failures.add('a');
      expect(await failures.waitMs('a')).toBeGreaterThan(50_000);
      await failures.clear('a');
      expect(await failures.waitMs('a')).toBe(0);
    } finally {
      limits.close();
    }
  }
});

test('a node counts locally while Redis is unavailable', async () => {
  // No Redis server answers on port 9, which discards data or refuses connections.
  const limits = new RateLimits(readConfig({ RATE_LIMIT_PER_USER: '2', REDIS_URL: 'redis://127.0.0.1:9' }), log);
  try {
    expect(await limits.countUser(1)).toMatchObject({ remaining: 1 });
    expect(await limits.countUser(1)).toMatchObject({ remaining: 0 });
    await expect(limits.countUser(1)).rejects.toMatchObject({ code: 'RATE_LIMIT_HIT' });
  } finally {
    limits.close();
  }
});
