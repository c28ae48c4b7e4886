import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type Agent, request as requestPlain } from 'node:http';
import { request as requestTls } from 'node:https';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { readConfig } from '../../src/platform/config.ts';
import { urlOf } from '../../src/platform/hosts.ts';
import { MAX_FILE_SIZES_MIB } from '../../src/platform/limits.ts';
import { createMigratedDatabase } from '../helpers/database.ts';
import { send } from '../helpers/http.ts';
import { Person } from '../helpers/person.ts';
import { createOrganization, startServer } from '../helpers/server.ts';
import { type Served, startService } from '../helpers/service.ts';

// Runs the nginx configuration of the documentation in a real nginx. Only its ports and paths are changed.

const NGINX = ['/usr/sbin/nginx', '/usr/local/sbin/nginx', '/usr/bin/nginx'].find(existsSync);
const NOTE = NGINX === undefined ? ': skipped, for there is no nginx' : '';
const DOCUMENTED = readFileSync(join(import.meta.dirname, '../../src/server/nginx.conf'), 'utf8');
const HOST = 'chat.example';
const PASSWORD = 'correct horse battery';
const PATIENCE_MS = 10_000;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const answers = async (port: number): Promise<boolean> => {
  const socket = connect(port, '127.0.0.1');
  const isOpen = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isOpen;
};

interface Ports {
  /** Ports of the service's nodes, to which nginx forwards. */
  readonly nodes: readonly number[];
  readonly plain: number;
  readonly tls: number;
  readonly bare: number;
}

/**
 * Returns the documented nginx configuration with other ports, one with TLS and one without. Adds a second server that has only
 * `proxy_pass`.
 */
function configuration(folder: string, { nodes, plain, tls, bare }: Ports): string {
  const changed = DOCUMENTED.replace(/server 127\.0\.0\.1:4000(.*;)/, (_, parameters) =>
    nodes.map((port) => `server 127.0.0.1:${port}${parameters}`).join('\n'),
  )
    .replace('listen 443 ssl;', `listen 127.0.0.1:${tls} ssl; listen 127.0.0.1:${plain};`)
    .replace('/etc/ssl/chat.example.pem', join(folder, 'cert.pem'))
    .replace('/etc/ssl/chat.example.key', join(folder, 'key.pem'));
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${join(folder, name)};`)
    .join('\n');
  return `${process.getuid?.() === 0 ? 'user root;' : ''}
    daemon off; worker_processes 1; pid ${join(folder, 'pid')}; error_log stderr crit;
    events { worker_connections 256; }
    http {
      access_log off; ${temporary}
      ${changed}
      server { listen 127.0.0.1:${bare}; location / { proxy_pass http://127.0.0.1:${nodes[0]}; } }
    }`;
}

/** Starts nginx with the documented configuration in front of the service's nodes. @returns The ports. */
async function startNginx(stack: AsyncDisposableStack, urls: readonly string[]): Promise<Ports> {
  const folder = mkdtempSync(join(tmpdir(), 'nginx-'));
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  const certificate = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const files = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'cert.pem')];
  execFileSync('openssl', [...certificate, ...files, '-days', '2', '-subj', `/CN=${HOST}`], { stdio: 'ignore' });
  const nodes = urls.map((url) => Number(new URL(url).port));
  const ports = { nodes, plain: await freePort(), tls: await freePort(), bare: await freePort() };
  writeFileSync(join(folder, 'nginx.conf'), configuration(folder, ports));
  const nginx = spawn(NGINX ?? '', ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'inherit' });
  stack.defer(async () => {
    nginx.kill('SIGTERM');
    if (nginx.exitCode === null) await once(nginx, 'exit');
  });
  await vi.waitFor(async () => expect(await answers(ports.plain)).toBe(true), { timeout: PATIENCE_MS });
  return ports;
}

describe.runIf(NGINX !== undefined)(`behind nginx${NOTE}`, () => {
  const stack = new AsyncDisposableStack();
  let service: Served;
  let owner: Person;
  let ports: Ports;

  beforeAll(async () => {
    service = stack.use(
      await startService({ env: { EXTERNAL_HOST: HOST, TRUST_PROXY: '1', EVENT_HEARTBEAT_SECONDS: '2' } }),
    );
    const made = await createOrganization({}, { on: service, password: PASSWORD, subdomain: '' });
    ports = await startNginx(stack, [service.url]);
    owner = new Person({ url: `http://127.0.0.1:${ports.plain}`, host: HOST }, made.owner);
  });
  afterAll(() => stack.disposeAsync());

  test('REST and GraphQL work unchanged', async () => {
    expect((await owner.ok('GET', '/users/me')).user_id).toBe(owner.id);
    expect((await owner.query('{ viewer { databaseId } }')).viewer.databaseId).toBe(owner.id);
    const { realm_url } = await owner.ok('GET', '/server_settings');
    expect(realm_url).toBe(`https://${HOST}`);
  });

  test('sockets and event streams deliver events immediately', async () => {
    for (const transport of ['ws', 'sse'] as const) {
      const { queue_id: queueId } = await owner.register({ fetch_event_types: [] });
      await using stream = await owner.events('position', { queueId, transport });
      const since = performance.now();
      await owner.ok('POST', '/users/me/status', { status_text: transport });
      await stream.next();
      // If nginx buffered the event, it would arrive two seconds later with a heartbeat, or never.
      expect(performance.now() - since).toBeLessThan(1_500);
    }
  });

  test('the heartbeat of a long poll arrives before the timeout of nginx', async () => {
    const { queue_id, last_event_id } = await owner.register({ fetch_event_types: [] });
    expect(await owner.poll(queue_id, last_event_id)).toEqual([expect.objectContaining({ type: 'heartbeat' })]);
    const patience = Number(/proxy_read_timeout (\d+)s/.exec(DOCUMENTED)?.[1]);
    expect(patience * 1000).toBeGreaterThan(2 * readConfig({}).heartbeatMs);
  });

  test('larger files than the limit of the service are refused, others pass', async () => {
    const file = (mebibytes: number) => ({ file: Buffer.alloc(mebibytes * 1024 * 1024) });
    expect((await owner.rest('POST', '/user_uploads', file(20))).status).toBe(200);
    const limitMib = Number(/client_max_body_size (\d+)m/.exec(DOCUMENTED)?.[1]);
    expect(limitMib).toBeGreaterThan(MAX_FILE_SIZES_MIB.upload);
    await expect(owner.rest('POST', '/user_uploads', file(limitMib))).rejects.toThrow(/<html>|EPIPE|ECONNRESET/);
  });

  /** Signs in with a password, from the client address 127.0.0.3. @param headers Additional headers. */
  async function signIn(scheme: 'http' | 'https', headers: Readonly<Record<string, string>> = {}) {
    const body = new URLSearchParams({ username: owner.email, password: PASSWORD }).toString();
    const options = {
      ...{
        method: 'POST',
        path: '/api/v1/sessions',
        host: '127.0.0.1',
        localAddress: '127.0.0.3',
        agent: false as unknown as Agent,
      },
      headers: { host: HOST, 'content-type': 'application/x-www-form-urlencoded', ...headers },
    };
    const outgoing =
      scheme === 'http'
        ? requestPlain({ ...options, port: ports.plain })
        : requestTls({ ...options, agent: undefined, port: ports.tls, rejectUnauthorized: false });
    outgoing.end(body);
    const [answer] = await once(outgoing, 'response');
    const { session_id: id } = JSON.parse(await text(answer));
    const { sessions } = await owner.ok('GET', '/sessions');
    const session = sessions.find((one: { id: number }) => one.id === id);
    return { cookie: answer.headers['set-cookie']?.[0] as string, address: session.network_address };
  }

  test('a cookie is secure if the browser uses https', async () => {
    expect((await signIn('https')).cookie).toMatch(/^__Host-chat-session=.*; Secure;/);
    expect((await signIn('http')).cookie).not.toMatch(/Secure/);
  });

  test("the client's address is the one that nginx sees, whatever the client claims", async () => {
    expect((await signIn('https')).address).toBe('127.0.0.3');
    expect((await signIn('http', { 'x-forwarded-for': '203.0.113.9' })).address).toBe('127.0.0.3');
  });

  test('nginx generates the request id, whatever the client sends', async () => {
    const ask = (id?: string) =>
      send(`http://127.0.0.1:${ports.plain}`, {
        ...{ method: 'GET', path: '/api/v1/server_settings' },
        headers: { host: HOST, ...(id !== undefined && { 'x-request-id': id }) },
      });
    for (const id of [undefined, 'chosen-by-a-stranger', 'x'.repeat(128), `${'0'.repeat(31)}1`]) {
      const { headers } = await ask(id);
      expect(headers['x-request-id']).toMatch(/^[0-9a-f]{32}$/);
      expect(headers['x-request-id']).not.toBe(id);
    }
  });

  test('the error behind a proxy that does not forward the host names the missing setting', async () => {
    const lost = new Person({ url: `http://127.0.0.1:${ports.bare}`, host: HOST }, owner);
    const { status, body } = await lost.rest('GET', '/users/me');
    expect([status, body.code]).toEqual([404, 'NONEXISTENT_SUBDOMAIN']);
    expect(body.msg).toMatch(
      /^Unknown host name "127\.0\.0\.1"\. The operator must set EXTERNAL_HOST .* forward the Host header$/,
    );
  });
});

const { DATABASE_URL } = process.env;
const hasTwoNodes = NGINX !== undefined && DATABASE_URL !== undefined;

describe.runIf(hasTwoNodes)(`two nodes behind nginx${NOTE}`, () => {
  test('restarting one node after the other under load fails no request', async () => {
    await using stack = new AsyncDisposableStack();
    const database = stack.use(await createMigratedDatabase(DATABASE_URL ?? ''));
    const env = {
      ...{ DATABASE_URL: database.url, SECRET_KEY: randomBytes(32).toString('hex') },
      ...{ EXTERNAL_HOST: HOST, TRUST_PROXY: '1' },
    };
    const nodes = await Promise.all([startServer({ env }), startServer({ env })]);
    for (const node of nodes) stack.use(node);
    const made = await createOrganization({}, { on: nodes[0] as Served, password: PASSWORD, subdomain: '' });
    const { plain } = await startNginx(
      stack,
      nodes.map(({ url }) => url),
    );
    const member = new Person({ url: `http://127.0.0.1:${plain}`, host: HOST }, made.member);
    const { queue_id, last_event_id } = await member.register({ fetch_event_types: [] });

    let isOver = false;
    const outcomes = new Map<string, number>();
    const load = async (kind: string, request: () => Promise<{ status: number }>) => {
      while (!isOver) {
        const outcome = await request().then(
          ({ status }) => String(status),
          (error: unknown) => String(error),
        );
        outcomes.set(`${kind} ${outcome}`, (outcomes.get(`${kind} ${outcome}`) ?? 0) + 1);
        // A client that waits for each response sends at about this rate.
        await setTimeout(10);
      }
    };
    let last = last_event_id;
    const poll = async () => {
      const reply = await member.rest('GET', '/events', { queue_id, last_event_id: last });
      for (const { id } of reply.body.events ?? []) last = Math.max(last, id);
      return reply;
    };
    const clients = Array.from({ length: 4 }, (_, i) => [
      load('read', () => member.rest('GET', '/users/me')),
      load('change', () => member.rest('POST', '/users/me/status', { status_text: `change ${i} ${Math.random()}` })),
      load('graphql', () => send(member.url, graphqlRequest(member))),
    ]).flat();
    clients.push(load('poll', poll));
    for (const node of nodes) {
      await setTimeout(500);
      await node.restart();
    }
    await setTimeout(500);
    isOver = true;
    await Promise.all(clients);
    expect([...outcomes.keys()].toSorted()).toEqual(['change 200', 'graphql 200', 'poll 200', 'read 200']);
    for (const count of outcomes.values()) expect(count).toBeGreaterThan(4);
  });
});

const graphqlRequest = ({ authorization = '' }: Person) => ({
  ...{ method: 'POST', path: '/graphql', body: '{"query":"{ viewer { databaseId } }"}' },
  headers: { host: HOST, authorization, 'content-type': 'application/json' },
});

test('the public address has the configured scheme', () => {
  const at = (EXTERNAL_HOST: string) => urlOf(readConfig({ EXTERNAL_HOST }), 'acme');
  expect(at('chat.example')).toBe('https://acme.chat.example');
  expect(at('https://Chat.Example')).toBe('https://acme.chat.example');
  expect(at('http://chat.lan:8080')).toBe('http://acme.chat.lan:8080');
  expect(at('localhost:4000')).toBe('http://acme.localhost:4000');
  expect(at('https://localhost:8443')).toBe('https://acme.localhost:8443');
  for (const wrong of ['ftp://chat.example', 'http://chat.example/', 'chat.example/x', 'http://']) {
    expect(() => at(wrong)).toThrow('EXTERNAL_HOST');
  }
});
