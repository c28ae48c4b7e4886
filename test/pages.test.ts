import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { takesIdempotencyKey } from '../src/rest/endpoint.ts';
import { isFile } from '../src/rest/params.ts';
import { routes } from '../src/rest/routes.ts';
import { type Json, type Reply, send } from './helpers/http.ts';
import { basic } from './helpers/person.ts';
import type { ServerProcess } from './helpers/process.ts';
import { organisation, serverOf, startServer } from './helpers/server.ts';

const PAGES = ['/', '/docs', '/graphql'];
const AS_BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };

let demo: ServerProcess;
let secrets: string[];

beforeAll(async () => {
  // Reachable from outside, so that there can be visitors who are not on this machine.
  demo = await startServer({ env: { DEMO: 'on', HOST: '0.0.0.0' } });
  const { email, api_key } = JSON.parse(readFileSync(join(demo.dataDir, 'demo.json'), 'utf8')).users[0];
  secrets = [api_key, basic(email, api_key)];
}, 60_000);
afterAll(() => demo[Symbol.asyncDispose]());

const get = (path: string, headers: Record<string, string> = {}, url = demo.url): Promise<Reply> =>
  send(url, { method: 'GET', path, headers: { host: `localhost:${demo.port}`, ...AS_BROWSER, ...headers } });

/** Whether the page holds the demo owner's key, as it is or in a header. */
const holdsKey = (page: Reply) => secrets.some((secret) => page.text.includes(secret));

/** The page's own markup: what stands in its scripts is bound by its policy. */
const markupOf = (page: Reply) => page.text.replaceAll(/(<script[^>]*>)[\s\S]*?<\/script>/g, '$1');

describe.for(PAGES)('%s', (path) => {
  test('is made of what it brings along: nothing comes from another host', async () => {
    const page = await get(path);
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    const markup = markupOf(page);
    const assets = [
      ...[...markup.matchAll(/\s(?:src|srcset|data|poster|action)=["']?([^"'>\s]*)/gi)],
      ...[...markup.matchAll(/<(?:link|base)[^>]*\shref=["']?([^"'>\s]*)/gi)],
      ...[...markup.matchAll(/(?:url\(|@import)\s*["']?([^"')\s]*)/gi)],
    ].map(([, url = '']) => url);
    expect(assets.filter((url) => !url.startsWith('data:') && !url.startsWith('#'))).toEqual([]);
  });

  test('lets the browser load nothing else, run nothing else, and frame it nowhere', async () => {
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
    expect(headers['cache-control']).toBe('private, no-store');
  });

  test('links only to pages that are there', async () => {
    const links = [...markupOf(await get(path)).matchAll(/<a [^>]*href="([^"#]+)"/g)].map(([, link = '']) => link);
    for (const link of links) expect([link, (await get(link)).status]).toEqual([link, 200]);
  });

  test('holds the key of the demo owner for whoever sits at this machine', async () => {
    for (const host of [`localhost:${demo.port}`, `127.0.0.1:${demo.port}`, '127.0.0.2', '[::1]:80', 'LOCALHOST']) {
      expect([host, holdsKey(await get(path, { host }))]).toEqual([host, true]);
    }
  });

  test.for<[string, Record<string, string>]>([
    ['of another name', { host: 'evil.example' }],
    ['of a name that begins like this machine', { host: 'localhost.evil.example' }],
    ['of a name that ends like it', { host: 'evil.example.localhost' }],
    ['of a name that begins like its address', { host: '127.0.0.1.evil.example' }],
    ['with a user in its name', { host: 'localhost@evil.example' }],
    ['passed on by a proxy', { 'x-forwarded-for': '127.0.0.1' }],
    ['passed on under another name', { 'x-forwarded-host': 'localhost' }],
    ['passed on by the newer header', { forwarded: 'for=127.0.0.1;host=localhost' }],
    ['passed on with an address', { 'x-real-ip': '127.0.0.1' }],
    ['passed on with a way', { via: '1.1 proxy' }],
  ])('holds no key for a request %s', async ([, headers]) => {
    expect(holdsKey(await get(path, headers))).toBe(false);
  });

  const address = Object.values(networkInterfaces())
    .flat()
    .find((known) => known?.family === 'IPv4' && !known.internal)?.address;
  test.skipIf(address === undefined)(
    'holds no key for a visitor from elsewhere, whatever the visitor says',
    async () => {
      const url = `http://${address}:${demo.port}`;
      for (const headers of [{}, { host: '127.0.0.1' }, { 'x-forwarded-for': '127.0.0.1' }]) {
        const page = await get(path, headers, url);
        expect([page.status, holdsKey(page)]).toEqual([200, false]);
      }
    },
  );

  test('holds placeholders where there is no demo', async () => {
    const page = await get(path, { host: 'localhost' }, serverOf().url);
    expect(page.status).toBe(200);
    expect(/Basic [\w+/]{20}|-u [^\s']+@/.test(page.text)).toBe(false);
  });
});

test('a request without a Host gets no key', async () => {
  for (const head of [
    'GET / HTTP/1.0',
    'GET /docs HTTP/1.0\r\nHost:',
    'GET / HTTP/1.1\r\nConnection: close\r\nHost:',
  ]) {
    const socket = connect(demo.port, '127.0.0.1');
    socket.write(`${head}\r\n\r\n`);
    const answer = await text(socket);
    expect(answer).toMatch(/^HTTP\/1\.1 \d{3} /);
    expect(answer).not.toContain(secrets[0]);
  }
});

test('a Host that is none is not shown, for the calls go into a shell', async () => {
  for (const host of ['x"><script>alert(1)</script>', "x';rm -rf ~;'", '$(reboot)', 'a b', `localhost\`id\``]) {
    const page = await get('/', { host });
    expect(page.text).not.toContain(host);
    expect(page.text).not.toMatch(/alert\(1\)|rm -rf|reboot|`id`/);
  }
});

describe('the OpenAPI file', () => {
  let file: Json;
  beforeAll(async () => {
    file = JSON.parse((await get('/api/v1/openapi.json')).text);
  });
  const operations = (): [string, string, Json][] =>
    Object.entries<Json>(file.paths).flatMap(([path, item]) =>
      Object.entries<Json>(item).map(([method, operation]): [string, string, Json] => [method, path, operation]),
    );

  test('lists every endpoint, once', () => {
    const listed = operations().map(([method, path]) => `${method.toUpperCase()} ${path}`);
    expect(listed.toSorted()).toEqual(routes.map(({ method, path }) => `${method} ${path}`).toSorted());
    const ids = operations().map(([, , { operationId }]) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('has the form of version 3.1', () => {
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
        [path === '/calls/videoprovider/register' ? '302' : '200', 'default'],
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
        // One of the two, never both.
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

  test('refers to nothing that is not in it, and to nothing elsewhere', () => {
    for (const [, reference = ''] of JSON.stringify(file).matchAll(/"\$ref":"([^"]*)"/g)) {
      expect(reference).toMatch(/^#\//);
      const target = reference
        .slice(2)
        .split('/')
        .reduce((part: Json, name) => part?.[name], file);
      expect(target, reference).toBeDefined();
    }
  });

  test('says of each endpoint whether one must sign in, and what it takes', async () => {
    const { anonymous } = await organisation();
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

  test('is sent once: who has it is told so', async () => {
    for (const path of ['/api/v1/openapi.json', '/schema.graphql']) {
      const { headers } = await get(path);
      const again = await get(path, { 'if-none-match': String(headers.etag) });
      expect([again.status, again.text]).toEqual([304, '']);
      expect((await get(path, { 'if-none-match': '"other"' })).status).toBe(200);
    }
  });
});

test('the schema file is the one in the repository', async () => {
  expect((await get('/schema.graphql')).text).toBe(
    readFileSync(join(import.meta.dirname, '../schema.graphql'), 'utf8'),
  );
});
