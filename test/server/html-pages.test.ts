import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { takesIdempotencyKey } from '../../src/api/rest/endpoint.ts';
import { isFile } from '../../src/api/rest/params.ts';
import { readConfig } from '../../src/platform/config.ts';
import { hidesDemoKey } from '../../src/server/demo/demo-access.ts';
import { routes } from '../../src/server/registries/features.ts';
import { type Json, type Reply, send } from '../helpers/http.ts';
import { basic } from '../helpers/person.ts';
import type { ServerProcess } from '../helpers/process.ts';
import { createOrganization, serverOf, startServer } from '../helpers/server.ts';

const PAGES = ['/developers', '/docs', '/docs/events', '/graphql'];
const AS_BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };

/**
 * Host headers that the service receives from a proxy that is configured with `proxy_pass` only. nginx then sends the name of
 * the upstream server, and no forwarded headers.
 */
const PROXIED = ['127.0.0.1', 'localhost', '[::1]'];

let demo: ServerProcess;
let proxy: Server;
let proxyUrl: string;
let secrets: string[];
let startUrl: string;
/** Cookie of a browser that has opened the start address of the demo. */
let cookie: string;

beforeAll(async () => {
  // The server listens on all interfaces, so that requests can come from other machines.
  demo = await startServer({ env: { DEMO: 'on', HOST: '0.0.0.0', DATABASE_URL: undefined } });
  proxy = createServer((incoming, outgoing) => {
    const { method, url: path } = incoming;
    const headers = { ...incoming.headers, host: `127.0.0.1:${demo.port}`, connection: 'close' };
    const passed = request(demo.url, { method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(outgoing);
    });
    incoming.pipe(passed);
  }).listen(0);
  await once(proxy, 'listening');
  proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const file = JSON.parse(readFileSync(join(demo.dataDir, 'demo.json'), 'utf8'));
  const { email, api_key } = file.users[0];
  secrets = [api_key, basic(email, api_key)];
  startUrl = file.start_url;
  cookie = cookieOf(await show(tokenOf(startUrl)));
});
afterAll(async () => {
  proxy?.close();
  await demo[Symbol.asyncDispose]();
});

const get = (path: string, headers: Record<string, string> = {}, url = demo.url): Promise<Reply> =>
  send(url, { method: 'GET', path, headers: { host: `localhost:${demo.port}`, ...AS_BROWSER, ...headers } });

const tokenOf = (url: string) => new URL(url).hash.slice('#start='.length);

/** Sends a token to the server, as the start page does with the token in its address. */
const show = (token: string, headers: Record<string, string> = {}, url = demo.url): Promise<Reply> =>
  send(url, {
    method: 'POST',
    path: '/start',
    headers: { host: `127.0.0.1:${demo.port}`, 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: new URLSearchParams({ token }).toString(),
  });

const cookieOf = ({ headers }: Reply) => headers['set-cookie']?.[0]?.split(';')[0] ?? '';

/** Returns whether a page contains the API key of the demo's owner, plain or encoded in an Authorization header. */
const holdsKey = (page: Reply) => secrets.some((secret) => page.text.includes(secret));

/** Returns the HTML of a page without its scripts. The content security policy restricts scripts separately. */
const markupOf = (page: Reply) => page.text.replaceAll(/(<script[^>]*>)[\s\S]*?<\/script>/g, '$1');

describe.for(PAGES)('%s', (path) => {
  test('is self-contained: nothing is loaded from another host', async () => {
    const page = await get(path);
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    const markup = markupOf(page);
    const assets = [
      ...[...markup.matchAll(/\s(?:src|srcset|data|poster|action)=["']?([^"'>\s]*)/gi)],
      ...[...markup.matchAll(/<(?:link|base)[^>]*\shref=["']?([^"'>\s]*)/gi)],
      ...[...markup.matchAll(/(?:url\(|@import)\s*["']?([^"')\s]*)/gi)],
    ].map(([, url = '']) => url);
    expect(assets.filter((url) => !/^(data:|#|\/(?!\/))/.test(url))).toEqual([]);
  });

  test('prevents other resources, other scripts and framing', async () => {
    const { headers } = await get(path);
    const policy = new Map(
      String(headers['content-security-policy'])
        .split(';')
        .map((directive) => directive.trim().split(' '))
        .map(([name = '', ...sources]) => [name, sources]),
    );
    expect(policy.get('default-src')).toEqual(["'none'"]);
    expect(policy.get('frame-ancestors')).toEqual(["'none'"]);
    expect(policy.get('base-uri')).toEqual(["'none'"]);
    for (const source of policy.get('script-src') ?? []) expect(source).toMatch(/^'(nonce|sha256)-[\w+/=]+'$/);
    for (const source of [...policy.values()].flat()) expect(source).not.toMatch(/^(https?|wss?):|\*/);
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(headers['referrer-policy']).toBe('no-referrer');
    expect(headers['cache-control']).toBe(path === '/graphql' ? 'private, no-store' : 'private, no-cache');
  });

  test('links only to existing pages', async () => {
    const links = [...markupOf(await get(path)).matchAll(/<a [^>]*href="([^"#]+)"/g)].map(([, link = '']) => link);
    for (const link of links) expect([link, (await get(link)).status]).toEqual([link, 200]);
  });

  test('contains the key of the demo owner only for the browser that opened the start address, and is not cached', async () => {
    const page = await get(path, { cookie: `other=1; ${cookie}` });
    const isKeyed = path !== '/docs/events';
    expect([page.status, holdsKey(page)]).toEqual([200, isKeyed]);
    // Pages with a key are not compressed, even by a proxy, because the length would reveal parts of the key.
    expect(page.headers['cache-control']).toBe(isKeyed ? 'private, no-store, no-transform' : 'private, no-cache');
    expect(page.headers['cross-origin-resource-policy']).toBe('same-origin');
  });

  test.for(PROXIED)(
    'contains no key if the visitor comes through a default proxy and looks local as %s',
    async (name) => {
      for (const [url, host] of [
        [proxyUrl, 'chat.example'],
        [demo.url, `${name}:${demo.port}`],
      ] as const) {
        const page = await get(path, { host }, url);
        expect([page.status, holdsKey(page)]).toEqual([200, false]);
      }
    },
  );

  test('holds no key for another cookie than the valid one', async () => {
    const [name = '', value = ''] = cookie.split('=');
    const others = [
      ...['', 'x', value.slice(1), `${value}x`, value.toUpperCase(), tokenOf(startUrl), '%', '"', 'null', 'true'],
    ].map((other) => `${name}=${other}`);
    for (const shown of [...others, value, `x${cookie}`, `${name.slice(0, -1)}=${value}`]) {
      expect([shown, holdsKey(await get(path, { cookie: shown }))]).toEqual([shown, false]);
    }
  });

  const address = Object.values(networkInterfaces())
    .flat()
    .find((known) => known?.family === 'IPv4' && !known.internal)?.address;
  test.skipIf(address === undefined)(
    'holds no key for a visitor from another machine, whatever the headers claim',
    async () => {
      const url = `http://${address}:${demo.port}`;
      for (const headers of [{}, { host: '127.0.0.1' }, { 'x-forwarded-for': '127.0.0.1' }]) {
        const page = await get(path, headers, url);
        expect([page.status, holdsKey(page)]).toEqual([200, false]);
      }
    },
  );

  test('contains placeholders if there is no demo', async () => {
    const page = await get(path, { host: 'localhost' }, serverOf().url);
    expect(page.status).toBe(200);
    expect(/Basic [\w+/]{20}|-u [^\s']+@/.test(page.text)).toBe(false);
  });
});

describe('the start address', () => {
  test('has its token in the fragment, invisible to servers, proxies and logs, and sets a cookie for it', async () => {
    const { origin, pathname, search, hash } = new URL(startUrl);
    expect([origin, pathname, search]).toEqual([demo.url, '/', '']);
    expect(hash).toMatch(/^#start=[\w-]{43}$/);
    const reply = await show(tokenOf(startUrl));
    expect([reply.status, reply.text, reply.headers['cache-control']]).toEqual([204, '', 'private, no-store']);
    const [set = '', ...more] = reply.headers['set-cookie'] ?? [];
    const [pair = '', ...attributes] = set.split('; ');
    expect(more).toEqual([]);
    // Browsers send a cookie to every port of its host, so its name contains the id of the service.
    expect(pair.split('=')[0]).toMatch(/^chat-start-[\da-f]{12}$/);
    expect(attributes.toSorted()).toEqual(['HttpOnly', 'Path=/', 'SameSite=Strict']);
    expect(pair).not.toContain(tokenOf(startUrl));
    expect(secrets.some((secret) => set.includes(secret))).toBe(false);
  });

  test('is good over a proxy, and over restarts, like the cookie', async () => {
    expect((await show(tokenOf(startUrl), {}, proxyUrl)).status).toBe(204);
    await demo.restart();
    const file = JSON.parse(readFileSync(join(demo.dataDir, 'demo.json'), 'utf8'));
    expect(file.start_url).toBe(startUrl);
    expect((await show(tokenOf(startUrl))).status).toBe(204);
    expect(holdsKey(await get('/developers', { cookie }))).toBe(true);
  });

  test('refuses another token', async () => {
    const token = tokenOf(startUrl);
    for (const wrong of ['', 'x', token.slice(1), `${token}x`, token.toLowerCase(), cookie.split('=')[1] ?? '', 'é']) {
      const { status, headers } = await show(wrong);
      expect([wrong, status, headers['set-cookie']]).toEqual([wrong, 403, undefined]);
    }
    for (const path of [`/start?token=${token}`, `/?start=${token}`, `/developers?start=${token}`]) {
      const reply = await get(path);
      expect([reply.headers['set-cookie'], holdsKey(reply)]).toEqual([undefined, false]);
    }
    const huge = await show('x'.repeat(3_000_000));
    expect([huge.status, huge.headers['set-cookie']]).toEqual([413, undefined]);
  });

  test('is printed with the path of demo.json, without API keys', () => {
    const log = demo.log();
    expect(log).toContain(startUrl);
    expect(log).toContain(join(demo.dataDir, 'demo.json'));
    const { users } = JSON.parse(readFileSync(join(demo.dataDir, 'demo.json'), 'utf8'));
    for (const { api_key } of users) expect(log).not.toContain(api_key);
  });

  test('is off where the server has a name of its own, and the output says so', async () => {
    await using named = await startServer({
      env: { DEMO: 'on', DATABASE_URL: undefined, EXTERNAL_HOST: 'localhost', SECRET_KEY: 'x'.repeat(40) },
    });
    const file = JSON.parse(readFileSync(join(named.dataDir, 'demo.json'), 'utf8'));
    expect(file.start_url).toBeNull();
    expect(named.log()).toContain('No page signs in as the demo owner, because EXTERNAL_HOST is set.');
    expect(named.log()).not.toContain(file.users[0].api_key);
    const headers = { host: 'localhost', 'content-type': 'application/x-www-form-urlencoded' };
    const reply = await send(named.url, { method: 'POST', path: '/start', headers, body: 'token=x' });
    expect(reply.status).toBe(404);
    for (const path of PAGES) {
      const page = await get(path, { host: 'localhost', cookie }, named.url);
      expect([path, page.status, page.text.includes(file.users[0].api_key)]).toEqual([path, 200, false]);
    }
  });

  test('is off with an external database, too', () => {
    const config = (env: Record<string, string>) => readConfig({ SECRET_KEY: 'x'.repeat(32), ...env });
    expect(hidesDemoKey(config({}))).toBeUndefined();
    expect(hidesDemoKey(config({ DATABASE_URL: 'postgres://localhost/chat' }))).toBe('DATABASE_URL');
    expect(hidesDemoKey(config({ EXTERNAL_HOST: 'chat.example' }))).toBe('EXTERNAL_HOST');
  });
});

test('a request without a Host gets no API key', async () => {
  for (const head of [
    'GET /developers HTTP/1.0',
    'GET /docs HTTP/1.0\r\nHost:',
    'GET /developers HTTP/1.1\r\nConnection: close\r\nHost:',
  ]) {
    const socket = connect(demo.port, '127.0.0.1');
    socket.write(`${head}\r\n\r\n`);
    const answer = await text(socket);
    expect(answer).toMatch(/^HTTP\/1\.1 \d{3} /);
    expect(answer).not.toContain(secrets[0]);
  }
});

test('an invalid Host is not shown, because the calls are run in a shell', async () => {
  for (const host of ['x"><script>alert(1)</script>', "x';rm -rf ~;'", '$(reboot)', 'a b', `localhost\`id\``]) {
    const page = await get('/developers', { host });
    expect(page.text).not.toContain(host);
    expect(page.text).not.toMatch(/alert\(1\)|rm -rf|reboot|`id`/);
  }
});

describe('the chat', () => {
  const chatPaths = ['/', '/inbox', '/channels/x/general/.a%20topic', '/direct/x', '/views/all', '/sign-in'];

  test.for(chatPaths)('is at %s, is revalidated each time, and runs nothing from another host', async (path) => {
    const { status, headers, text } = await get(path);
    expect([status, headers['content-type'], headers['cache-control']]).toEqual([
      200,
      'text/html; charset=utf-8',
      'no-cache',
    ]);
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; script-src 'self' 'sha256-[^']+'; style-src 'self';/,
    );
    expect(headers['content-security-policy']).not.toMatch(/https?:|unsafe-eval/);
    expect(text).toContain('<div id="root">');
    const again = await get(path, { 'if-none-match': headers.etag ?? '' });
    expect([again.status, again.text]).toEqual([304, '']);
  });

  test('has assets that are cached permanently, and compressed if the client accepts that', async () => {
    const { text } = await get('/');
    const [, script = ''] = [...text.matchAll(/src="(\/assets\/[^"]+\.js)"/g)].at(-1) ?? [];
    const plain = await get(script);
    for (const encoding of ['br', 'gzip']) {
      const packed = await get(script, { 'accept-encoding': `${encoding}, zstd` });
      expect([packed.status, packed.headers['content-encoding'], packed.headers.vary?.split(', ').at(0)]).toEqual([
        200,
        encoding,
        'Accept-Encoding',
      ]);
      expect(packed.headers['cache-control']).toBe('public, max-age=31536000, immutable');
      expect(Number(packed.headers['content-length'])).toBeLessThan(Number(plain.headers['content-length']) / 2);
    }
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect((await get('/assets/nothing.js')).status).toBe(404);
  });
});

describe('an unknown address', () => {
  test('returns a page with links to a browser', async () => {
    const page = await get('/nothing/"here"<script>');
    expect([page.status, page.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8']);
    expect(page.headers['content-security-policy']).toContain("default-src 'none'");
    expect(page.text).toContain('Page not found');
    expect(page.text).not.toContain('"here"<script>');
  });

  test('returns JSON to programs, and to all clients below the paths of the API', async () => {
    for (const [path, accept] of [
      ['/nothing', '*/*'],
      ['/nothing', 'application/json'],
      ['/api/v1/nothing', AS_BROWSER.accept],
      ['/api/nothing', AS_BROWSER.accept],
    ] as const) {
      const reply = await get(path, { accept });
      expect([path, reply.status, reply.headers['content-type']]).toEqual([path, 404, 'application/json']);
      expect(JSON.parse(reply.text)).toMatchObject({ result: 'error' });
    }
  });
});

test('an icon exists and is cached', async () => {
  for (const path of ['/favicon.svg', '/favicon.ico']) {
    const icon = await get(path);
    expect([icon.status, icon.headers['content-type']]).toEqual([200, 'image/svg+xml']);
    expect(icon.text).toContain('<svg');
    expect((await get(path, { 'if-none-match': String(icon.headers.etag) })).status).toBe(304);
  }
});

describe('the files of GraphiQL', () => {
  const filesOf = (page: Reply) =>
    [...page.text.matchAll(/(?:src|href)="(\/graphiql\/[^"]+)"/g)].map(([, path = '']) => path);

  test('are compressed once, and their names contain a hash of their content', async () => {
    const page = await get('/graphql');
    expect(Buffer.byteLength(page.text)).toBeLessThan(10_000);
    const files = filesOf(page);
    expect(files).toHaveLength(2);
    for (const path of files) {
      const whole = await get(path);
      expect([whole.status, whole.headers['content-encoding']]).toEqual([200, undefined]);
      expect(whole.headers['cache-control']).toBe('public, max-age=31536000, immutable');
      for (const [asked, encoding, unpack] of [
        ['gzip, deflate, br, zstd', 'br', brotliDecompressSync],
        ['gzip', 'gzip', gunzipSync],
        ['br;q=0, gzip', 'gzip', gunzipSync],
      ] as const) {
        const { headers, bytes } = await rawOf(path, asked);
        expect([asked, headers['content-encoding'], headers.vary]).toEqual([
          asked,
          encoding,
          'Accept-Encoding, Origin',
        ]);
        expect(unpack(bytes).toString() === whole.text, `${path} as ${encoding}`).toBe(true);
        expect(bytes.length).toBeLessThan(0.6 * Buffer.byteLength(whole.text));
      }
    }
  });

  test('do not exist under another name', async () => {
    const [path = ''] = filesOf(await get('/graphql'));
    for (const other of [
      path.replace(/[0-9a-f]{16}/, '0'.repeat(16)),
      path.replace('graphiql.', 'other.'),
      '/graphiql/',
    ]) {
      expect([other, (await get(other)).status]).toEqual([other, 404]);
    }
  });
});

/** Requests a file, and returns its bytes as received, without decompressing them. */
async function rawOf(path: string, acceptEncoding: string): Promise<{ headers: IncomingHttpHeaders; bytes: Buffer }> {
  const asked = request(demo.url + path, { headers: { 'accept-encoding': acceptEncoding, connection: 'close' } }).end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  return { headers: answer.headers, bytes: await buffer(answer) };
}

const NAMED = [
  ...['Message', 'User', 'Channel', 'Subscription', 'Draft', 'Event', 'ScheduledMessage', 'SavedSnippet', 'Reminder'],
  ...['UserGroup', 'UserStatus', 'NavigationView', 'ChannelFolder', 'CustomEmoji', 'ProfileField', 'RealmDomain'],
];

/** Returns the values of every `$ref`, at any depth. */
function referencesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => (key === '$ref' ? [String(inner)] : referencesIn(inner)));
}

/** Expected statuses of a successful response, for paths that can redirect on success. */
const SUCCESSES: ReadonlyMap<string, readonly string[]> = new Map([
  ['/calls/videoprovider/register', ['302']],
  ['/calls/videoprovider/complete', ['200', '302']],
]);

describe('the OpenAPI file', () => {
  let file: Json;
  beforeAll(async () => {
    file = JSON.parse((await get('/api/v1/openapi.json')).text);
  });
  const operations = (): [string, string, Json][] =>
    Object.entries<Json>(file.paths).flatMap(([path, item]) =>
      Object.entries<Json>(item).map(([method, operation]): [string, string, Json] => [method, path, operation]),
    );

  test('lists every endpoint once', () => {
    const listed = operations().map(([method, path]) => `${method.toUpperCase()} ${path}`);
    expect(listed.toSorted()).toEqual(routes.map(({ method, path }) => `${method} ${path}`).toSorted());
    const ids = operations().map(([, , { operationId }]) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('follows version 3.1', () => {
    expect(file).toMatchObject({
      openapi: expect.stringMatching(/^3\.1\.\d+$/),
      info: { title: expect.any(String), version: expect.any(String) },
    });
    expect(
      Object.keys(file).filter(
        (name) => !['openapi', 'info', 'servers', 'paths', 'components', 'tags', 'security'].includes(name),
      ),
    ).toEqual([]);
    expect(file.servers).toEqual([{ url: '/api/v1' }]);
    for (const [method, path, operation] of operations()) {
      const at = `${method} ${path}`;
      const { summary, tags, parameters = [], responses, security, requestBody } = operation;
      expect([typeof summary, Array.isArray(tags), Object.keys(responses)], at).toEqual([
        'string',
        true,
        [...(SUCCESSES.get(path) ?? ['200']), 'default'],
      ]);
      for (const requirement of security)
        expect(Object.keys(file.components.securitySchemes)).toContain(Object.keys(requirement)[0]);
      const slots = parameters.filter((parameter: Json) => parameter.in === 'path');
      expect(
        slots.map(({ name }: Json) => `{${name}}`),
        at,
      ).toEqual(path.match(/\{\w+\}/g) ?? []);
      expect(
        slots.every(({ required }: Json) => required === true),
        at,
      ).toBe(true);
      for (const { name, in: place, schema, content } of parameters) {
        expect([name, place], at).toEqual([expect.any(String), expect.stringMatching(/^(path|query|header)$/)]);
        // A parameter has either `schema` or `content`, but not both.
        expect((schema === undefined) !== (content === undefined), `${at} ${name}`).toBe(true);
      }
      if (method === 'get') expect(requestBody, at).toBeUndefined();
      for (const { schema, encoding } of Object.values<Json>(requestBody?.content ?? {})) {
        expect(schema.type, at).toBe('object');
        const names = Object.keys(schema.properties);
        for (const name of [...(schema.required ?? []), ...Object.keys(encoding)]) expect(names, at).toContain(name);
      }
    }
  });

  test('contains only references to itself, with existing targets', () => {
    for (const [, reference = ''] of JSON.stringify(file).matchAll(/"\$ref":"([^"]*)"/g)) {
      expect(reference).toMatch(/^#\//);
      const target = reference
        .slice(2)
        .split('/')
        .reduce((part: Json, name) => part?.[name], file);
      expect(target, reference).toBeDefined();
    }
  });

  test('contains for each endpoint whether it requires credentials, and its parameters', async () => {
    const { anonymous } = await createOrganization();
    for (const endpoint of routes) {
      const { method, path, auth, params } = endpoint;
      const operation = file.paths[path][method.toLowerCase()];
      expect(operation.security).toEqual(auth === 'none' ? [] : [{ basic: [] }]);
      const { content } = operation.requestBody ?? {};
      const form = Object.keys(content?.['multipart/form-data'].schema.properties ?? {});
      const needsFile = Object.values(params).some((param) => isFile(param) && param.presence === 'required');
      expect(content?.['application/x-www-form-urlencoded'] === undefined, path).toBe(needsFile || form.length === 0);
      const inHeaders = operation.parameters.filter((parameter: Json) => parameter.in === 'header');
      expect(inHeaders.length, `${method} ${path}`).toBe(takesIdempotencyKey(endpoint) ? 1 : 0);
      const others = operation.parameters.filter((parameter: Json) => parameter.in !== 'header');
      const named = [...others.map(({ name }: Json) => name), ...form];
      expect(named.toSorted(), `${method} ${path}`).toEqual(Object.keys(params).toSorted());
    }
    expect((await anonymous.rest('GET', '/openapi.json')).status).toBe(200);
  });

  test('describes every parameter', () => {
    const said = operations().flatMap(([method, path, { parameters, requestBody }]) => {
      const fields = requestBody?.content['multipart/form-data'].schema.properties ?? {};
      return [...parameters, ...Object.entries<Json>(fields).map(([name, field]) => ({ name, ...field }))].map(
        ({ name, description }: Json) => ({ at: `${method} ${path} ${name}`, description }),
      );
    });
    expect(said.length).toBeGreaterThan(500);
    for (const { at, description } of said) expect(description, at).toMatch(/^\S.{5,}[.!…]$/s);
  });

  test('contains the shapes that replies share, by name', () => {
    const { schemas } = file.components;
    for (const name of NAMED) expect(schemas[name]).toMatchObject({ type: 'object', properties: expect.any(Object) });
    const reply = (path: string) => file.paths[path].get.responses[200].content['application/json'].schema.properties;
    expect(reply('/messages').messages.items).toEqual({ $ref: '#/components/schemas/Message' });
    expect(reply('/messages/{message_id}').message).toEqual({ $ref: '#/components/schemas/Message' });
    expect(reply('/users').members.items).toEqual({ $ref: '#/components/schemas/User' });
    expect(reply('/drafts').drafts.items).toEqual({ $ref: '#/components/schemas/Draft' });
    expect(reply('/events').events.items).toEqual({ $ref: '#/components/schemas/Event' });
  });

  test('contains only references with a target', () => {
    const references = referencesIn(file);
    expect(references.length).toBeGreaterThan(NAMED.length);
    for (const reference of references) {
      const place = reference.replace('#/', '').split('/');
      expect(
        place.reduce((within: Json, key) => within?.[key], file),
        reference,
      ).toBeDefined();
    }
  });

  test('answers 304 if the client has it', async () => {
    for (const path of ['/api/v1/openapi.json', '/schema.graphql']) {
      const { headers } = await get(path);
      const again = await get(path, { 'if-none-match': String(headers.etag) });
      expect([again.status, again.text]).toEqual([304, '']);
      expect((await get(path, { 'if-none-match': '"other"' })).status).toBe(200);
    }
  });
});

test('the schema file equals the one in the repository', async () => {
  expect((await get('/schema.graphql')).text).toBe(
    readFileSync(join(import.meta.dirname, '../../schema.graphql'), 'utf8'),
  );
});

describe('signing in as a demo user', () => {
  const begin = (userId: number | string, headers: Record<string, string>) =>
    send(demo.url, {
      method: 'POST',
      path: '/start/session',
      headers: { host: `localhost:${demo.port}`, 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: new URLSearchParams({ user_id: String(userId) }).toString(),
    });
  const people = async (headers: Record<string, string>): Promise<Json[]> =>
    JSON.parse((await get('/start/people', headers)).text).people;

  test('takes one click for each role, in the browser that opened the start address', async () => {
    const shown = await people({ cookie });
    expect(new Set(shown.map(({ role }) => role))).toEqual(
      new Set(['owner', 'administrator', 'moderator', 'member', 'guest']),
    );
    for (const { user_id } of shown) {
      const reply = await begin(user_id, { cookie });
      expect(reply.status).toBe(204);
      const me = await get('/api/v1/users/me', { cookie: cookieOf(reply) });
      expect(JSON.parse(me.text).user_id).toBe(user_id);
    }
  });

  test('is refused to other browsers, for pages of other sites, and for users outside the demo', async () => {
    expect(await people({})).toEqual([]);
    const [{ user_id }] = (await people({ cookie })) as [Json];
    for (const headers of [{}, { cookie: `${cookie}x` }, { cookie, origin: 'https://evil.example' }]) {
      const reply = await begin(user_id, headers);
      expect([reply.status, reply.headers['set-cookie']]).toEqual([403, undefined]);
    }
    const bot = JSON.parse(readFileSync(join(demo.dataDir, 'demo.json'), 'utf8')).users.find(
      ({ role }: Json) => role === 'bot',
    );
    for (const nobody of [bot.user_id, 0, 'x', '']) expect((await begin(nobody, { cookie })).status).toBe(400);
  });
});
