import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { type IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { OutboundBacklog } from '../../src/platform/outbound-backlog.ts';
import { open } from '../helpers/http.ts';
import { type InProcess, startInProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { RawSocket } from '../helpers/raw-socket.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';
import { copyMessage } from '../helpers/talk.ts';

/**
 * Number of long messages. Together they have 18 MB and so exceed the network buffers and `LIMIT`, which is the maximum backlog
 * in bytes.
 */
const LONG_MESSAGES = 600;
const LIMIT = 256 * 1024;

let service: InProcess;
let people: Organization;

beforeAll(async () => {
  service = await startInProcess();
  (service.app as { outboundBacklog: OutboundBacklog }).outboundBacklog = new OutboundBacklog(LIMIT);
  people = await createOrganization({}, { on: service });
  const message = { type: 'direct', to: [people.member.id], content: '字'.repeat(9_900) };
  const { id } = await people.owner.ok('POST', '/messages', message);
  await copyMessage(service, id, LONG_MESSAGES - 1);
});
afterAll(() => service[Symbol.asyncDispose]());

const MANY = `/api/v1/messages?anchor=newest&num_before=${LONG_MESSAGES}&num_after=0&apply_markdown=false`;

/** Requests `MANY` and reads only the head of the response. */
const openMany = ({ headers }: Person) =>
  // The connection is not used again: the system grows the buffer of a connection while a client reads from it.
  open(service.url, { method: 'GET', path: MANY, headers: { ...headers, connection: 'close' } });

test('an account that does not read its replies gets no further ones in either API, until it does', async () => {
  const { member, owner } = people;
  const unread: IncomingMessage[] = [];
  // The client has not read the body of this response yet, so it is part of the backlog.
  unread.push(await openMany(member));
  const refused = await member.rest('GET', '/users/me');
  expect(refused).toMatchObject({
    status: 429,
    headers: { 'retry-after': '5' },
    body: { code: 'RATE_LIMIT_HIT', 'retry-after': 5, msg: expect.stringContaining('have not been read yet') },
  });
  const { errors } = await member.graphql('{ viewer { id } }');
  expect(errors).toMatchObject([{ extensions: { code: 'RATE_LIMIT_HIT' } }]);
  expect(await owner.rest('GET', '/users/me')).toMatchObject({ status: 200 });
  for (const answer of unread) answer.resume();
  await expect.poll(() => member.rest('GET', '/users/me')).toMatchObject({ status: 200 });
});

test('aborted replies are no longer counted', async () => {
  const { member } = people;
  const answer = await openMany(member);
  expect(await member.rest('GET', '/users/me')).toMatchObject({ status: 429 });
  answer.destroy();
  await expect.poll(() => member.rest('GET', '/users/me')).toMatchObject({ status: 200 });
});

test('a connection that closes during authentication is neither counted nor kept', async () => {
  const { member } = people;
  const { outboundBacklog } = service.app;
  let late = 0;
  const hold = vi.spyOn(outboundBacklog, 'hold').mockImplementation((userId, outgoing) => {
    if ((outgoing as ServerResponse).destroyed) late++;
    OutboundBacklog.prototype.hold.call(outboundBacklog, userId, outgoing);
  });
  const { hostname, port } = new URL(service.url);
  const head = Object.entries(member.headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const connection = connect(Number(port), hostname);
  await once(connection, 'connect');
  const arrived = Promise.withResolvers<ServerResponse>();
  const note = (message: unknown) => arrived.resolve((message as { response: ServerResponse }).response);
  subscribe('http.server.request.start', note);
  // While the test uses the only database connection, the service cannot look up the account, so the request waits.
  await service.app.db.$transaction(async (tx) => {
    await tx.$queryRaw`SELECT 1`;
    connection.write(`GET /api/v1/users/me HTTP/1.1\r\n${head.join('')}\r\n`);
    const response = await arrived.promise;
    connection.destroy();
    await once(response, 'close');
  });
  unsubscribe('http.server.request.start', note);
  await expect.poll(() => late).toBe(1);
  await expect.poll(() => outboundBacklog.size).toBe(0);
  hold.mockRestore();
});

test.for(['/docs', '/api/v1/openapi.json', '/static/generated/emoji/emoji_api.json', '/schema.graphql'])(
  'anonymous clients that do not read %s share one copy of it, however many they are',
  async (path) => {
    const end = vi.spyOn(ServerResponse.prototype, 'end');
    for (let i = 0; i < 2; i++) {
      const answer = await open(service.url, { method: 'GET', path, headers: {} });
      expect(answer.statusCode).toBe(200);
      answer.destroy();
    }
    // The service can still send responses to earlier requests here. They are ignored.
    const ofThese = end.mock.calls.filter((_, i) => (end.mock.contexts[i] as ServerResponse).req.url === path);
    const [first, second] = ofThese.map(([body]) => body as unknown);
    end.mockRestore();
    // If the body was a string, the service would copy it for each response.
    expect(first).toBeInstanceOf(Uint8Array);
    expect(second).toBe(first);
  },
);

test('the streams of an account over its total outbound backlog are closed with a retryable code', async () => {
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
    // Deletes the drafts, because their number is limited.
    await Promise.all((ids as number[]).map((id) => member.ok('DELETE', `/drafts/${id}`)));
  };
  await save(1);
  await socket.next('next');
  socket.stopReading();
  // Sends 7 MB, which is less than the maximum backlog of one stream.
  for (let i = 0; i < 4; i++) await save(35).catch(() => {});
  socket.readOn();
  expect((await socket.closed).code).toBe(1013);
});
