import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../src/platform/config.ts';
import { send } from '../helpers/http.ts';
import type { Person } from '../helpers/person.ts';
import { METRICS, type ServerProcess } from '../helpers/process.ts';
import { RawSocket } from '../helpers/raw-socket.ts';
import { createOrganization, type Organization, startServer } from '../helpers/server.ts';

/**
 * Maximum number of connections per IP address (`PER_IP`) and per process (`MAX`). They are low, so that a test can reach them.
 */
const PER_IP = 6;
const MAX = 24;

const opened: Connection[] = [];
afterEach(() => {
  for (const connection of opened.splice(0)) connection.socket.destroy();
});

/** A connection that stays open until the server closes it. */
class Connection {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  isClosed = false;
  text = '';

  constructor({ port }: { port: number }) {
    this.socket = connect({ port, host: '127.0.0.1' });
    this.socket.on('error', () => {});
    this.socket.on('data', (chunk) => {
      this.text += chunk;
    });
    this.closed = new Promise((resolve) => this.socket.once('close', () => resolve()));
    void this.closed.then(() => {
      this.isClosed = true;
    });
    opened.push(this);
  }

  get statuses(): number[] {
    return [...this.text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
  }

  /**
   * Sends a request and waits for its response.
   *
   * @returns The status. Undefined if the connection closes first.
   */
  async ask(host: string, path: string, headers: Readonly<Record<string, string>> = {}): Promise<number | undefined> {
    const before = this.statuses.length;
    const lines = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
    this.socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
    while (this.statuses.length === before && !this.isClosed) await sleep(5);
    return this.statuses[before];
  }
}

async function connected(server: ServerProcess, count: number): Promise<Connection[]> {
  const connections = Array.from({ length: count }, () => new Connection(server));
  await Promise.all(connections.map(({ socket }) => once(socket, 'connect')));
  return connections;
}

const signedIn = (connection: Connection, { host, authorization = '' }: Person) =>
  connection.ask(host, '/api/v1/users/me', { authorization });

/** Returns the value of `connections_open` in the newest metrics in a text. */
const openOf = (text = ''): number => Number([...text.matchAll(/^connections_open (\d+)$/gm)].at(-1)?.[1]);

/** Waits until the server has noticed that the connections of earlier tests are closed, so that they do not count. */
async function allGone(server: ServerProcess): Promise<void> {
  const openNow = async () => {
    // With this header, the server closes the kept-alive connection that `send` uses.
    await send(server.url, { method: 'GET', path: '/healthz', headers: { host: 'localhost', connection: 'close' } });
    const [one] = await connected(server, 1);
    await one?.ask('localhost', '/metrics', { ...METRICS.headers, connection: 'close' });
    await one?.closed;
    return openOf(one?.text);
  };
  await expect.poll(openNow).toBe(1);
}

describe('connections of one address', () => {
  let server: ServerProcess;
  let people: Organization;

  beforeAll(async () => {
    const env = { CONNECTIONS_PER_IP: String(PER_IP), MAX_CONNECTIONS: String(MAX), ...METRICS.env };
    server = await startServer({ env });
    people = await createOrganization({}, { on: server });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test('without authentication are limited by 429, while open connections and long polls continue', async () => {
    await allGone(server);
    const { member, owner } = people;
    const [poll, other] = await connected(server, 2);
    const { queue_id } = await member.register({ fetch_event_types: [] });
    if (poll !== undefined) expect(await signedIn(poll, member)).toBe(200);
    const polled = poll?.ask(member.host, `/api/v1/events?queue_id=${queue_id}&last_event_id=-1`, {
      authorization: String(member.authorization),
    });
    // Opens connections without credentials. One of them has sent a request, which was answered.
    const [first] = await connected(server, PER_IP - 1);
    // The server accepts sockets in no fixed order, so this waits until all are counted. The count includes the connection that
    // registered the queue.
    const openNow = async () => {
      expect(await other?.ask('localhost', '/metrics', METRICS.headers)).toBe(200);
      return openOf(other?.text);
    };
    await expect.poll(openNow).toBe(PER_IP + 2);
    const [late, upgrading, silent] = await connected(server, 3);
    expect(await late?.ask(owner.host, '/api/v1/server_settings')).toBe(429);
    expect(late?.text).toMatch(/^retry-after: 10\r$/im);
    expect(late?.text).toContain('"code":"RATE_LIMIT_HIT"');
    expect(late?.text).toContain(`${PER_IP} unauthenticated connections are open from this address`);
    await late?.closed;
    const upgrade = { connection: 'upgrade', upgrade: 'websocket' };
    expect(await upgrading?.ask(owner.host, '/graphql', upgrade)).toBe(429);
    // The limit does not affect connections that are already open.
    expect(await first?.ask('localhost', '/healthz')).toBe(200);
    expect(await other?.ask('localhost', '/healthz')).toBe(200);
    expect(await polled).toBe(200);
    expect(poll?.statuses).toEqual([200, 200]);
    expect(silent?.statuses).toEqual([]);
    await silent?.closed;
  });

  test('are not limited by connections with valid credentials, over HTTP or a socket', async () => {
    await allGone(server);
    const { member, owner } = people;
    const connections = await connected(server, PER_IP);
    for (const connection of connections) expect(await signedIn(connection, member)).toBe(200);
    const socket = await RawSocket.open(owner);
    socket.send({ type: 'connection_init', payload: { authorization: owner.authorization } });
    await socket.next('connection_ack');
    const strangers = await connected(server, MAX / 2 - PER_IP - 1);
    for (const stranger of strangers) expect(await stranger.ask('localhost', '/healthz')).toBe(200);
    // The address now has half of the connections that the process permits, so the next one is refused.
    const [late] = await connected(server, 1);
    expect(await late?.ask('localhost', '/healthz')).toBe(429);
    expect(late?.text).toContain('Too many connections are open from this address');
    socket.cut();
  });

  test('free their permit as soon as they close', async () => {
    await allGone(server);
    const [one, ...others] = await connected(server, PER_IP);
    one?.socket.destroy();
    const status = async () => {
      const [next] = await connected(server, 1);
      return next?.ask('localhost', '/healthz');
    };
    await expect.poll(status).toBe(200);
    expect(others.filter(({ isClosed }) => isClosed)).toEqual([]);
  });

  test('beyond the limit belong to the account that signs in on them, and stay open', async () => {
    await allGone(server);
    const { member } = people;
    const strangers = await connected(server, PER_IP);
    for (const stranger of strangers) expect(await stranger.ask('localhost', '/healthz')).toBe(200);
    const late = await connected(server, MAX / 2 - PER_IP);
    for (const connection of late) expect(await signedIn(connection, member)).toBe(200);
    // Waits longer than the server keeps a refused connection open.
    await sleep(2_500);
    for (const connection of late) expect(await signedIn(connection, member)).toBe(200);
    // The address now has half of the connections that the process permits. Even a request with a valid key is refused.
    const [over] = await connected(server, 1);
    expect(over && (await signedIn(over, member))).toBe(429);
    expect(over?.text).toContain('Too many connections are open from this address');
  });
});

/**
 * Starts a simple reverse proxy. It opens a connection to the server for each request, and sends the head of the request first.
 */
async function startProxy({ port }: ServerProcess): Promise<AsyncDisposable & { readonly port: number }> {
  const proxy = createServer((incoming, outgoing) => {
    const { method = '', url = '' } = incoming;
    const forwarded = { 'x-forwarded-for': incoming.socket.remoteAddress ?? '', via: '1.1 proxy' };
    const headers = { ...incoming.headers, ...forwarded, connection: 'close' };
    const passed = request({ host: '127.0.0.1', port, method, path: url, headers, agent: false }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    passed.flushHeaders();
    incoming.pipe(passed);
    outgoing.on('close', () => passed.destroy());
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    port: (proxy.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      proxy.closeAllConnections();
      proxy.close();
    },
  };
}

describe.for([
  ['that nobody trusts', '0'],
  ['that is trusted', '1'],
] as const)('behind a proxy %s, 250 connections of strangers', ([, trustedProxies]) => {
  const isTrusted = trustedProxies === '1';

  test('do not lock out clients with a valid key, and a warning names the setting', async () => {
    const env = { CONNECTIONS_PER_IP: undefined, TRUST_PROXY: trustedProxies, RATE_LIMIT_PER_IP: '20', ...METRICS.env };
    await using server = await startServer({ env });
    const { owner, member } = await createOrganization({}, { on: server });
    await using proxy = await startProxy(server);
    const strangers = Array.from({ length: 250 }, () => new Connection(proxy));
    for (const { socket } of strangers) {
      // The rest of the body is never sent.
      socket.write(`POST /api/v1/fetch_api_key HTTP/1.1\r\nhost: ${owner.host}\r\ncontent-length: 9\r\n`);
      socket.write('content-type: application/x-www-form-urlencoded\r\n\r\na');
    }
    const direct = new Connection(server);
    const openNow = async () => {
      await direct.ask('localhost', '/metrics', METRICS.headers);
      return openOf(direct.text);
    };
    await expect.poll(openNow).toBeGreaterThanOrEqual(isTrusted ? 251 : 250);
    const through = async (path: string, headers: Readonly<Record<string, string>> = {}) => {
      const connection = new Connection(proxy);
      const status = await connection.ask(owner.host, path, headers);
      connection.socket.destroy();
      return status;
    };
    const stranger = () => through('/api/v1/server_settings');
    expect(await stranger()).toBe(isTrusted ? 200 : 429);
    expect(await through('/developers', { authorization: String(member.authorization) })).toBe(isTrusted ? 200 : 429);
    // Opens more connections than the server refuses with an answer at the same time. A request that is accepted later is not
    // counted as refused.
    for (let i = 0; i < 110; i++) {
      expect(await through('/api/v1/users/me', { authorization: String(member.authorization) })).toBe(200);
    }
    const query = `/graphql?query=${encodeURIComponent('{ viewer { id } }')}`;
    expect(await through(query, { authorization: String(member.authorization) })).toBe(200);
    const [wrong, none] = [{ authorization: `Basic ${btoa('x:y')}` }, { authorization: 'x' }];
    expect(await through('/api/v1/users/me', wrong)).toBe(401);
    expect(await through('/api/v1/server_settings', none)).toBe(isTrusted ? 200 : 429);
    const warnings = server.log().split('TRUST_PROXY').length - 1;
    expect(warnings).toBe(isTrusted ? 0 : 1);
  });
});

describe('connections of the process', () => {
  test('are limited, including those of a trusted proxy, which are not counted by address', async () => {
    const env = { CONNECTIONS_PER_IP: String(PER_IP), MAX_CONNECTIONS: String(MAX), TRUST_PROXY: '1', ...METRICS.env };
    await using server = await startServer({ env });
    await allGone(server);
    const connections = await connected(server, MAX);
    for (const connection of connections) expect(await connection.ask('localhost', '/healthz')).toBe(200);
    const [late] = await connected(server, 1);
    expect(await late?.ask('localhost', '/healthz')).toBeUndefined();
    for (const connection of connections) expect(await connection.ask('localhost', '/healthz')).toBe(200);
  });
});

test('the configuration is a number, or "off" except for the whole process, and leaves room beside sockets', () => {
  expect(readConfig({})).toMatchObject({ connectionsPerIp: 250, maxConnections: 30_000 });
  expect(readConfig({ MAX_SOCKETS: '50000' }).maxConnections).toBe(60_000);
  expect(readConfig({ CONNECTIONS_PER_IP: 'off', MAX_CONNECTIONS: '7' })).toMatchObject({ maxConnections: 7 });
  for (const name of ['CONNECTIONS_PER_IP', 'MAX_CONNECTIONS']) {
    for (const wrong of ['0', '-1', '1.5', 'on']) {
      expect(() => readConfig({ [name]: wrong }), wrong).toThrow(`${name}: `);
    }
  }
});
