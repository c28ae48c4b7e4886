import { once } from 'node:events';
import { type IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { Unread } from '../src/platform/unread.ts';
import { open } from './helpers/http.ts';
import { type InProcess, startInProcess } from './helpers/in-process.ts';
import { RawSocket } from './helpers/raw-socket.ts';
import { type Organisation, organisation } from './helpers/server.ts';

/** More than fits into the network stacks between, and than `LIMIT` besides. */
const LONG_MESSAGES = 600;
const LIMIT = 256 * 1024;

let service: InProcess;
let people: Organisation;

beforeAll(async () => {
  service = await startInProcess();
  (service.app as { unread: Unread }).unread = new Unread(LIMIT);
  people = await organisation({}, { on: service });
  const content = 'x'.repeat(9_900);
  const fifty = Array.from({ length: 50 }, (_, i) => `m${i}: sendMessage(input: $input) { __typename }`).join(' ');
  for (let sent = 0; sent < LONG_MESSAGES; sent += 50) {
    const input = { to: { direct: [people.member.id] }, content };
    await people.owner.graphql(`mutation ($input: SendMessageInput!) { ${fifty} }`, { input });
  }
}, 120_000);
afterAll(() => service[Symbol.asyncDispose]());

const MANY = `/api/v1/messages?anchor=newest&num_before=${LONG_MESSAGES}&num_after=0&apply_markdown=false`;

test('an account that does not read what it asked for gets no more, over any door, until it does', async () => {
  const { member, owner } = people;
  const unread: IncomingMessage[] = [];
  // Nobody reads the body of these.
  unread.push(await open(service.url, { method: 'GET', path: MANY, headers: member.headers }));
  const refused = await member.rest('GET', '/users/me');
  expect(refused).toMatchObject({
    status: 429,
    headers: { 'retry-after': '5' },
    body: { code: 'RATE_LIMIT_HIT', 'retry-after': 5, msg: expect.stringContaining('read them first') },
  });
  const { errors } = await member.graphql('{ viewer { id } }');
  expect(errors).toMatchObject([{ extensions: { code: 'RATE_LIMIT_HIT' } }]);
  expect(await owner.rest('GET', '/users/me')).toMatchObject({ status: 200 });
  for (const answer of unread) answer.resume();
  await vi.waitFor(async () => expect(await member.rest('GET', '/users/me')).toMatchObject({ status: 200 }), 20_000);
});

test('nor does one whose answers were broken off count on', async () => {
  const { member } = people;
  const answer = await open(service.url, { method: 'GET', path: MANY, headers: member.headers });
  expect(await member.rest('GET', '/users/me')).toMatchObject({ status: 429 });
  answer.destroy();
  await vi.waitFor(async () => expect(await member.rest('GET', '/users/me')).toMatchObject({ status: 200 }), 20_000);
});

test('what was closed while its caller was signed in is not counted, nor kept', async () => {
  const { member } = people;
  const { unread } = service.app;
  let late = 0;
  const hold = vi.spyOn(unread, 'hold').mockImplementation((userId, outgoing) => {
    if ((outgoing as ServerResponse).destroyed) late++;
    Unread.prototype.hold.call(unread, userId, outgoing);
  });
  const { hostname, port } = new URL(service.url);
  const head = Object.entries(member.headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const connection = connect(Number(port), hostname);
  await once(connection, 'connect');
  // While the one connection of the database is taken, nobody is looked up.
  await service.app.db.$transaction(async (tx) => {
    await tx.$queryRaw`SELECT 1`;
    connection.write(`GET /api/v1/users/me HTTP/1.1\r\n${head.join('')}\r\n`);
    await sleep(200);
    connection.destroy();
    await sleep(200);
  });
  await vi.waitFor(() => expect(late).toBe(1));
  await vi.waitFor(() => expect(unread.size).toBe(0));
  hold.mockRestore();
});

test.for(['/api/v1/openapi.json', '/static/generated/emoji/emoji_api.json', '/schema.graphql'])(
  'strangers who do not read %s share what they are sent, however many they are',
  async (path) => {
    const end = vi.spyOn(ServerResponse.prototype, 'end');
    for (let i = 0; i < 2; i++) {
      const answer = await open(service.url, { method: 'GET', path, headers: {} });
      expect(answer.statusCode).toBe(200);
      answer.destroy();
    }
    // Answers that others had asked for before may come meanwhile.
    const ofThese = end.mock.calls.filter((_, i) => (end.mock.contexts[i] as ServerResponse).req.url === path);
    const [first, second] = ofThese.map(([body]) => body as unknown);
    end.mockRestore();
    // Text would be copied for each of them.
    expect(first).toBeInstanceOf(Uint8Array);
    expect(second).toBe(first);
  },
);

test('strangers who do not read the reference share all of it but where they found it', async () => {
  const write = vi.spyOn(ServerResponse.prototype, 'write');
  const copies: unknown[][] = [];
  for (const host of ['a.localhost', 'b.localhost']) {
    const answer = await open(service.url, { method: 'GET', path: '/docs', headers: { host } });
    const page = await text(answer);
    expect(page).toContain(`URL=http://${host}`);
    expect(answer.headers['content-length']).toBe(String(Buffer.byteLength(page)));
    copies.push(write.mock.calls.splice(0).map(([body]) => body));
  }
  write.mockRestore();
  const [first = [], second = []] = copies.map((pieces) => pieces.filter((piece) => (piece as Buffer).length > 200));
  expect(first).toHaveLength(2);
  for (const [i, piece] of first.entries()) expect(second[i]).toBe(piece);
});

test('the streams of an account that leaves too much unread in all are closed with a code to come back on', async () => {
  const { member } = people;
  const { queue_id: queueId } = await member.register({ fetch_event_types: [] });
  await using socket = await RawSocket.connected(member);
  const contents = Array.from({ length: 5 }, (_, i) => `c${i}: content`).join(' ');
  socket.subscribe(
    '1',
    `subscription ($queueId: String!) { events(queueId: $queueId) { ... on DraftsAddedEvent { drafts { ${contents} } } } }`,
    { queueId },
  );
  const save = async (count: number) => {
    const draft = { type: '', to: [], topic: '', content: 'y'.repeat(9_900) };
    const { ids } = await member.ok('POST', '/drafts', { drafts: Array.from({ length: count }, () => draft) });
    // There is not room for many at a time.
    await Promise.all((ids as number[]).map((id) => member.ok('DELETE', `/drafts/${id}`)));
  };
  await save(1);
  await socket.next('next');
  socket.stopReading();
  // 7 MB: less than one stream may leave unread.
  for (let i = 0; i < 4; i++) await save(35).catch(() => {});
  socket.readOn();
  expect((await socket.closed).code).toBe(1013);
});
