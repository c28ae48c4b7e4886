import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { readConfig } from '../../src/platform/config.ts';
import { send } from '../helpers/http.ts';
import type { Visitor } from '../helpers/person.ts';
import { METRICS, type ServerProcess } from '../helpers/process.ts';
import { RawSocket } from '../helpers/raw-socket.ts';
import { createOrganization, type Organization, startServer } from '../helpers/server.ts';

/** Maximum number of WebSockets per IP address and per user. They are low, so that a test can reach them. */
const PER_IP = 4;
const PER_USER = 3;
const MAX = 10;

describe('limits of sockets', () => {
  let server: ServerProcess;
  let people: Organization;

  beforeAll(async () => {
    const limits = { SOCKETS_PER_IP: String(PER_IP), SOCKETS_PER_USER: String(PER_USER), MAX_SOCKETS: String(MAX) };
    server = await startServer({ env: { ...limits, ...METRICS.env, TRUST_PROXY: '1' } });
    people = await createOrganization({}, { on: server });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  let addresses = 0;
  /** Returns the header that a proxy adds to a request from another client address. */
  const from = (address = `192.0.2.${++addresses}`) => ({ 'x-forwarded-for': address });

  const open = (headers: Readonly<Record<string, string>>) => RawSocket.open(people.anonymous, undefined, headers);

  /** Opens a socket and authenticates it. @throws {Error} If the server closes it instead. */
  async function signedIn(who: Visitor, headers: Readonly<Record<string, string>>): Promise<RawSocket> {
    const socket = await RawSocket.open(who, undefined, headers);
    socket.send({ type: 'connection_init', payload: { authorization: who.authorization } });
    await socket.next('connection_ack');
    return socket;
  }

  const handshake = {
    ...{ connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' },
    ...{ 'sec-websocket-key': Buffer.alloc(16).toString('base64'), 'sec-websocket-protocol': 'graphql-transport-ws' },
  };

  /** Sends a WebSocket handshake that must be refused. @returns The HTTP response. */
  async function refusal(headers: Readonly<Record<string, string>>) {
    const { host } = people.organization;
    const reply = await send(server.url, {
      method: 'GET',
      path: '/graphql',
      headers: { ...handshake, host, ...headers },
    });
    return { status: reply.status, retryAfter: reply.headers['retry-after'], body: JSON.parse(reply.text) };
  }

  /** Waits until the server has noticed that the sockets of the previous test are closed. */
  async function allGone(timeout?: number): Promise<void> {
    const metrics = () => send(server.url, { method: 'GET', path: '/metrics', headers: METRICS.headers });
    await expect
      .poll(async () => (await metrics()).text, { ...(timeout && { timeout }) })
      .toMatch(/^websockets_open 0$/m);
  }

  /** Sends bytes over a new connection. If the server closes its end of the connection, this end stays open. */
  async function raw(bytes: string): Promise<{ socket: Socket; closed: Promise<void>; head: Promise<string> }> {
    const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => {});
    const head = once(socket, 'data').then(([data]) => String(data));
    head.catch(() => {});
    await once(socket, 'connect');
    socket.write(bytes);
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    return { socket, head, closed };
  }

  describe('sockets of one address', () => {
    test('without credentials are limited: 429 at the handshake, and open ones stay open', async () => {
      await allGone();
      const here = from();
      const sockets = [await open(here), await open(here), await open(here)];
      // A socket that connects without credentials still counts for its IP address.
      sockets[0]?.send({ type: 'connection_init' });
      await sockets[0]?.next('connection_ack');
      sockets.push(await open(here));
      expect(await refusal(here)).toEqual({
        status: 429,
        retryAfter: '10',
        body: {
          ...{ result: 'error', code: 'RATE_LIMIT_HIT', 'retry-after': 10 },
          msg: '4 unauthenticated sockets are open from this address; try again in 10 seconds',
        },
      });
      sockets.push(await open(from()));
      sockets[0]?.subscribe('1', '{ __typename }');
      expect((await sockets[0]?.next('next'))?.payload.data).toEqual({ __typename: 'Query' });
      // When a socket is closed, another one can be opened immediately.
      sockets[1]?.cut();
      await vi.waitFor(async () => sockets.push(await open(here)), 4_000);
      for (const socket of sockets) socket.cut();
    });

    test('are not limited by authenticated ones, up to half of the process', async () => {
      await allGone();
      const here = from();
      const { owner, member, guest } = people;
      const sockets: RawSocket[] = [];
      for (const who of [owner, member, guest, owner, member]) sockets.push(await signedIn(who, here));
      expect(await refusal(here)).toMatchObject({
        status: 429,
        body: { code: 'RATE_LIMIT_HIT', msg: expect.stringContaining('Too many sockets are open from this address') },
      });
      for (const socket of sockets) socket.cut();
    });
  });

  test('sockets of one account are limited across all addresses: 1013 with the reason, and open ones stay open', async () => {
    await allGone();
    const { member, owner } = people;
    const sockets: RawSocket[] = [];
    for (let i = 0; i < PER_USER; i++) sockets.push(await signedIn(member, from()));
    await using late = await RawSocket.open(member, undefined, from());
    late.send({ type: 'connection_init', payload: { authorization: member.authorization } });
    expect(await late.closed).toEqual({
      code: 1013,
      reason: '3 sockets of this account are open; try again in 10 seconds',
    });
    sockets.push(await signedIn(owner, from()));
    sockets[0]?.subscribe('1', '{ __typename }');
    expect((await sockets[0]?.next('next'))?.payload.data).toEqual({ __typename: 'Query' });
    sockets[0]?.cut();
    await vi.waitFor(async () => sockets.push(await signedIn(member, from())), 15_000);
    for (const socket of sockets) socket.cut();
  });

  test('sockets of the process are limited: 503 at the handshake', async () => {
    await allGone();
    const sockets: RawSocket[] = [];
    for (let i = 0; i < MAX; i++) sockets.push(await open(from()));
    const { status, retryAfter, body } = await refusal(from());
    expect([status, retryAfter, body.code]).toEqual([503, '1', 'REQUEST_TIMEOUT']);
    for (const socket of sockets) socket.cut();
  });

  const upgrade = (path: string): string =>
    `GET ${path} HTTP/1.1\r\nHost: ${people.organization.host}\r\n${Object.entries(handshake)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')}\r\n`;

  describe.concurrent('connections that their clients do not close', () => {
    test('sockets that send nothing are closed seconds after the time limit for connection_init', async () => {
      await allGone();
      const sockets = await Promise.all(Array.from({ length: PER_IP }, () => raw(upgrade('/graphql'))));
      for (const { head } of sockets) expect(await head).toContain('101 Switching Protocols');
      // The server waits 5 s for `connection_init`, and 1 s for the answer to its close frame. The default of the ws library is
      // 30 s.
      await allGone(25_000);
      for (const { socket } of sockets) socket.destroy();
    });

    test.for([
      ['no HTTP', (): string => 'garbage\r\n\r\n', '400'],
      ['a socket where there is none', (): string => upgrade('/api/v1/events'), '404'],
      ['a head without end', (): string => `GET / HTTP/1.1\r\nX: ${'x'.repeat(40_000)}`, '431'],
    ] as const)(
      'a connection that requested %s is closed even if the peer keeps it half open',
      async ([, bytes, status]) => {
        const { socket, head, closed } = await raw(bytes());
        expect(await head).toContain(`HTTP/1.1 ${status}`);
        // If the client sends more data after the server has ended the connection, the connection is reset.
        const probe = setInterval(() => socket.write('still here'), 250);
        await closed.finally(() => clearInterval(probe));
      },
    );
  });
});

test('the configuration is a number, or "off" except for the whole process', () => {
  expect(readConfig({})).toMatchObject({ socketsPerUser: 100, socketsPerIp: 100, maxSockets: 20_000 });
  const off = readConfig({ SOCKETS_PER_USER: 'off', SOCKETS_PER_IP: 'off' });
  expect([off.socketsPerUser, off.socketsPerIp]).toEqual([undefined, undefined]);
  for (const name of ['SOCKETS_PER_USER', 'SOCKETS_PER_IP', 'MAX_SOCKETS']) {
    for (const wrong of ['0', '-1', '1.5', 'on']) {
      expect(() => readConfig({ [name]: wrong }), wrong).toThrow(`${name}: `);
    }
  }
});
