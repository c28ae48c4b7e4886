import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type Agent, request as requestPlain } from 'node:http';
import { request as requestTls } from 'node:https';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { readConfig } from '../src/platform/config.ts';
import { urlOf } from '../src/platform/hosts.ts';
import { isGroupPicked } from './helpers/part.ts';
import { Person } from './helpers/person.ts';
import { organisation } from './helpers/server.ts';
import { type Served, startService } from './helpers/service.ts';

// The configuration that is documented for nginx, run by a real one: what of it is changed here are ports and paths.

const NGINX = ['/usr/sbin/nginx', '/usr/local/sbin/nginx', '/usr/bin/nginx'].find(existsSync);
const NOTE = NGINX === undefined ? ': skipped, for there is no nginx' : '';
const DOCUMENTED = readFileSync(join(import.meta.dirname, '../src/server/nginx.conf'), 'utf8');
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

/** The documented file at other ports, over TLS and without, and a proxy that does nothing but `proxy_pass`. */
function configuration(folder: string, { port, plain, tls, bare }: Readonly<Record<string, number>>): string {
  const changed = DOCUMENTED.replace('server 127.0.0.1:4000;', `server 127.0.0.1:${port};`)
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
      server { listen 127.0.0.1:${bare}; location / { proxy_pass http://127.0.0.1:${port}; } }
    }`;
}

describe.runIf(NGINX !== undefined && isGroupPicked('nginx.test.ts'))(`behind nginx${NOTE}`, () => {
  const stack = new AsyncDisposableStack();
  let service: Served;
  let owner: Person;
  let ports: { readonly plain: number; readonly tls: number; readonly bare: number };

  beforeAll(async () => {
    service = stack.use(
      await startService({ env: { EXTERNAL_HOST: HOST, TRUST_PROXY: '1', EVENT_HEARTBEAT_SECONDS: '2' } }),
    );
    const made = await organisation({}, { on: service, password: PASSWORD, subdomain: '' });
    const folder = mkdtempSync(join(tmpdir(), 'nginx-'));
    stack.defer(() => rmSync(folder, { recursive: true, force: true }));
    const certificate = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
    const files = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'cert.pem')];
    execFileSync('openssl', [...certificate, ...files, '-days', '2', '-subj', `/CN=${HOST}`], { stdio: 'ignore' });
    ports = { plain: await freePort(), tls: await freePort(), bare: await freePort() };
    writeFileSync(
      join(folder, 'nginx.conf'),
      configuration(folder, { port: Number(new URL(service.url).port), ...ports }),
    );
    const nginx = spawn(NGINX ?? '', ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'inherit' });
    stack.defer(async () => {
      nginx.kill('SIGTERM');
      if (nginx.exitCode === null) await once(nginx, 'exit');
    });
    await vi.waitFor(async () => expect(await answers(ports.plain)).toBe(true), { timeout: PATIENCE_MS });
    owner = new Person({ url: `http://127.0.0.1:${ports.plain}`, host: HOST }, made.owner);
  });
  afterAll(() => stack.disposeAsync());

  test('REST and GraphQL are what they are', async () => {
    expect((await owner.ok('GET', '/users/me')).user_id).toBe(owner.id);
    expect((await owner.query('{ viewer { databaseId } }')).viewer.databaseId).toBe(owner.id);
    const { realm_url } = await owner.ok('GET', '/server_settings');
    expect(realm_url).toBe(`https://${HOST}`);
  });

  test('sockets and event streams bring events at once', async () => {
    for (const transport of ['ws', 'sse'] as const) {
      const { queue_id: queueId } = await owner.register({ fetch_event_types: [] });
      await using stream = await owner.events('position', { queueId, transport });
      const since = performance.now();
      await owner.ok('POST', '/users/me/status', { status_text: transport });
      await stream.next();
      // Held back, it would come with a heartbeat two seconds later, or never.
      expect(performance.now() - since).toBeLessThan(1_500);
    }
  });

  test('a long poll waits for its heartbeat, which comes before nginx gives up', async () => {
    const { queue_id, last_event_id } = await owner.register({ fetch_event_types: [] });
    expect(await owner.poll(queue_id, last_event_id)).toEqual([expect.objectContaining({ type: 'heartbeat' })]);
    const patience = Number(/proxy_read_timeout (\d+)s/.exec(DOCUMENTED)?.[1]);
    expect(patience * 1000).toBeGreaterThan(2 * readConfig({}).heartbeatMs);
  });

  test('files pass as large as the service takes them', async () => {
    const file = (mebibytes: number) => ({ file: Buffer.alloc(mebibytes * 1024 * 1024) });
    const { status, body } = await owner.rest('POST', '/users/me/avatar', file(5));
    expect([status, body.code]).toEqual([400, 'BAD_IMAGE']);
    await expect(owner.rest('POST', '/users/me/avatar', file(7))).rejects.toThrow(/<html>|EPIPE|ECONNRESET/);
  });

  /** Signs in, from an address of the test's own. */
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

  test('a cookie is for https where the browser came over it', async () => {
    expect((await signIn('https')).cookie).toMatch(/^__Host-chat-session=.*; Secure;/);
    expect((await signIn('http')).cookie).not.toMatch(/Secure/);
  });

  test("the client's address is the one that nginx saw, whatever the client says", async () => {
    expect((await signIn('https')).address).toBe('127.0.0.3');
    expect((await signIn('http', { 'x-forwarded-for': '203.0.113.9' })).address).toBe('127.0.0.3');
  });

  test('a proxy that does not pass on the name is told what to set', async () => {
    const lost = new Person({ url: `http://127.0.0.1:${ports.bare}`, host: HOST }, owner);
    const { status, body } = await lost.rest('GET', '/users/me');
    expect([status, body.code]).toEqual([404, 'NONEXISTENT_SUBDOMAIN']);
    expect(body.msg).toMatch(
      /does not go by the name "127\.0\.0\.1": its operator sets EXTERNAL_HOST .* pass on the Host/,
    );
  });
});

test('the address that people are told has the scheme that is configured', () => {
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
