import { describe, expect, test } from 'vitest';
import { parseJson } from '../../src/platform/json.ts';
import { type Json, send } from '../helpers/http.ts';
import { multipart, PREFLIGHT } from '../helpers/multipart.ts';
import { RawSocket } from '../helpers/raw-socket.ts';
import { createOrganization } from '../helpers/server.ts';

const DEEP = 5_000;
const arrays = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
const objects = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
const TOO_DEEP = /nested too deep \(limit: 64\)$/;
const QUERY = 'mutation ($input: AddAlertWordsInput!) { addAlertWords(input: $input) { __typename } }';

describe('JSON from clients', () => {
  test.for([
    ['arrays', arrays],
    ['objects', objects],
    [
      'both, with texts full of brackets and quotes',
      (n: number) => `${'[{"a\\"[[":'.repeat(n / 2)}"]]\\\\"${'}]'.repeat(n / 2)}`,
    ],
  ] as const)('is parsed to a depth of 64, and refused beyond: %s', ([, nested]) => {
    expect(parseJson(nested(64), 'it')).toBeDefined();
    expect(() => parseJson(nested(66), 'it')).toThrow('it is nested too deep (limit: 64)');
  });

  test('does not count as deep because of long lists or text content', () => {
    const wide = JSON.stringify([Array.from({ length: 1_000 }, () => [{}]), '[{'.repeat(1_000), '\\"[[', '\\']);
    expect(parseJson(`${wide}`, 'it')).toEqual(JSON.parse(wide));
  });
});

test.for(['variables', 'extensions', 'other'])(
  'GraphQL under an idempotency key refuses a body with deep %s without failing',
  async (name) => {
    const { member } = await createOrganization();
    for (const nested of [arrays(DEEP), objects(DEEP)]) {
      const input = name === 'variables' ? nested : '{"words":["ahoy"]}';
      const besides = name === 'variables' ? '' : `,"${name}":{"deep":${nested}}`;
      const body = `{"query":${JSON.stringify(QUERY)},"variables":{"input":${input}}${besides}}`;
      const ask = { 'content-type': 'application/json', 'idempotency-key': `of ${name}` };
      const reply = await send(member.url, {
        ...{ method: 'POST', path: '/graphql', headers: { ...member.headers, ...ask }, body },
      });
      expect(reply.status).toBe(400);
      const [error] = (JSON.parse(reply.text) as Json).errors;
      expect(error).toMatchObject({ message: expect.stringMatching(TOO_DEEP), extensions: { code: 'BAD_REQUEST' } });
    }
    expect((await member.ok('GET', '/users/me/alert_words')).alert_words).toEqual([]);
  },
);

test.concurrent.for<[string, string, string, Record<string, string>, string?]>([
  ['a query string', 'GET', `/graphql?query={viewer{id}}&variables=${objects(1_000)}`, {}],
  [
    'an event stream',
    'POST',
    '/graphql',
    { accept: 'text/event-stream', 'content-type': 'application/json' },
    arrays(DEEP),
  ],
  [
    'an event stream by GET',
    'GET',
    `/graphql?query={viewer{id}}&variables=${objects(1_000)}`,
    { accept: 'text/event-stream' },
  ],
])('GraphQL refuses deep JSON in %s', async ([, method, path, headers, body]) => {
  const { member } = await createOrganization();
  const all = { ...member.headers, ...headers };
  const reply = await send(member.url, { method, path: encodeURI(path), headers: all, body });
  expect(reply.status).toBe(400);
  expect((JSON.parse(reply.text) as Json).errors[0].message).toMatch(TOO_DEEP);
});

test.concurrent.for(['operations', 'map'])('GraphQL refuses deep JSON in the %s of an upload', async (name) => {
  const { member } = await createOrganization();
  const fields = { operations: '{"query":"{ viewer { id } }"}', map: '{}', [name]: `{"a":${arrays(DEEP)}}` };
  const { type, content } = multipart(Object.entries(fields));
  const headers = { ...member.headers, ...PREFLIGHT, 'content-type': type };
  const reply = await send(member.url, { method: 'POST', path: '/graphql', headers, body: content });
  expect(reply.status).toBe(400);
  expect((JSON.parse(reply.text) as Json).errors[0].message).toMatch(TOO_DEEP);
});

test.concurrent.for([
  ['POST', '/messages', 'to', { type: 'direct', content: 'hello' }],
  ['POST', '/drafts', 'drafts', {}],
  ['GET', '/messages', 'narrow', { anchor: 'newest', num_before: 1, num_after: 0 }],
  ['PATCH', '/users/me/profile_data', 'data', {}],
  [
    'POST',
    '/scheduled_messages',
    'to',
    { type: 'direct', content: 'hello', scheduled_delivery_timestamp: 4_102_444_800 },
  ],
] as const)('REST refuses a deep parameter: %s %s', async ([method, path, name, others]) => {
  const { member } = await createOrganization();
  for (const nested of [arrays(1_000), objects(1_000)]) {
    const parameters = { ...others, [name]: nested };
    expect(await member.rest(method, path, parameters, { headers: { 'idempotency-key': 'k' } })).toMatchObject({
      status: 400,
      body: { code: 'BAD_REQUEST', msg: `${name} is nested too deep (limit: 64)` },
    });
  }
});

test.concurrent.for(['ping', 'subscribe', 'pong'])('a socket that sends a deeply nested %s is closed', async (type) => {
  const { member } = await createOrganization();
  await using socket = await RawSocket.connected(member);
  socket.send(`{"type":"${type}","id":"1","payload":${objects(DEEP)}}`);
  expect((await socket.closed).code).toBe(4400);
});
