import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ConfigError, readConfig } from '../../src/platform/config.ts';
import { CHROMIUM_NOTE, hasChromium, launchChromium } from '../helpers/chromium.ts';
import { type Json, type Reply, send } from '../helpers/http.ts';
import { startHttpServer } from '../helpers/http-server.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';
import { type Served, startService } from '../helpers/service.ts';

// Tests front ends that run on other origins. Pages of allowed origins have the same access as the service's own pages. Pages
// of other origins have none.

const PASSWORD = 'correct horse battery';
const APP = 'https://app.example';

const stack = new AsyncDisposableStack();
let service: Served;
let people: Organization;
/**
 * Origin of a page that is allowed (`allowed`), and of a page that is not (`other`). Both are on this machine, on different
 * ports.
 */
let allowed: string;
let other: string;

/** Serves an empty page, as a development server does. */
async function servePage(): Promise<string> {
  const { url } = stack.use(
    await startHttpServer((_incoming, outgoing) => {
      outgoing.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Elsewhere</title>');
    }),
  );
  return url.replace('127.0.0.1', 'localhost');
}

beforeAll(async () => {
  [allowed, other] = [await servePage(), await servePage()];
  service = stack.use(await startService({ env: { ALLOWED_ORIGINS: `${APP}, ${allowed}`, TRUST_PROXY: '1' } }));
  people = await createOrganization({}, { on: service, password: PASSWORD, subdomain: '' });
});
afterAll(() => stack.disposeAsync());

const ask = (method: string, path: string, headers: Record<string, string>, body?: string): Promise<Reply> =>
  send(service.url, { method, path, headers: { host: people.owner.host, ...headers }, body });

describe('cross-origin access', () => {
  const preflight = (path: string, origin: string, names = 'content-type,idempotency-key') =>
    ask('OPTIONS', path, {
      ...{ origin, 'access-control-request-method': 'POST' },
      'access-control-request-headers': names,
    });

  test.for(['/graphql', '/api/v1/messages'])('is allowed at %s for allowed origins', async (path) => {
    const { status, headers } = await preflight(path, APP);
    expect([status, headers['access-control-allow-origin']]).toEqual([204, APP]);
    expect(headers).toMatchObject({ 'access-control-allow-credentials': 'true', 'access-control-max-age': '7200' });
    expect(headers['access-control-allow-methods']).toContain('DELETE');
    expect(headers['access-control-allow-headers']).toBe('content-type,idempotency-key');
    expect(headers.vary).toBe('Origin');
  });

  test('allows every header that an allowed origin asks for', async () => {
    // Headers of Apollo Client (`clientAwareness`), W3C Trace Context, Sentry and request ids.
    const names =
      'apollographql-client-name,apollographql-client-version,baggage,content-type,sentry-trace,traceparent,x-request-id';
    expect((await preflight('/graphql', APP, names)).headers['access-control-allow-headers']).toBe(names);
    expect((await preflight('/graphql', 'https://evil.example', names)).headers).not.toHaveProperty(
      'access-control-allow-headers',
    );
  });

  test('names no headers to a preflight request that asks for none', async () => {
    const { status, headers } = await ask('OPTIONS', '/graphql', {
      ...{ origin: APP, 'access-control-request-method': 'DELETE' },
    });
    expect([status, headers['access-control-allow-headers']]).toEqual([204, undefined]);
  });

  test.for(['https://evil.example', 'null', 'https://app.example:444', 'https://app.example.evil.example'])(
    'is denied for %s in preflights and in replies',
    async (origin) => {
      for (const { headers } of [
        await preflight('/graphql', origin),
        await preflight('/api/v1/messages', origin),
        await ask('GET', '/api/v1/server_settings', { origin }),
      ]) {
        expect(headers['access-control-allow-origin']).toBeUndefined();
        expect(headers.vary).toContain('Origin');
      }
    },
  );

  test.for(['/', '/docs', '/start', '/metrics', '/graphqlx'])('is allowed on no page: %s', async (path) => {
    expect((await preflight(path, APP)).headers['access-control-allow-origin']).toBeUndefined();
  });

  test('is allowed in all replies, including errors, with readable rate limit headers', async () => {
    for (const [method, path] of [
      ['GET', '/api/v1/users/me'],
      ['GET', '/graphql?query={__typename}'],
      ['GET', '/api/v1/nothing'],
    ] as const) {
      const { headers } = await ask(method, path, { origin: APP });
      expect([path, headers['access-control-allow-origin']]).toEqual([path, APP]);
      expect(headers['access-control-expose-headers']).toContain('X-RateLimit-Remaining');
    }
  });
});

test('a page of another site signs in over HTTPS only, with a partitioned cookie', async () => {
  const signIn = (proto: string) =>
    ask(
      'POST',
      '/api/v1/sessions',
      {
        ...{ origin: APP, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors', 'x-forwarded-proto': proto },
        'content-type': 'application/x-www-form-urlencoded',
      },
      new URLSearchParams({ username: people.owner.email, password: PASSWORD }).toString(),
    );
  const plain = await signIn('http');
  expect([plain.status, plain.headers['set-cookie']]).toEqual([400, undefined]);
  const [cookie] = (await signIn('https')).headers['set-cookie'] ?? [];
  expect(cookie).toMatch(/^__Host-chat-session=[\w-]{43};.* HttpOnly; Secure; SameSite=None; Partitioned$/);
});

test.for(['app.example', 'https://app.example/', 'https://app.example/chat', '*', 'null', 'app://chat'])(
  'the configuration refuses a value that is not an origin: %s',
  (origin) => {
    expect(() => readConfig({ ALLOWED_ORIGINS: origin })).toThrow(ConfigError);
  },
);

describe.runIf(hasChromium)(`in a browser${CHROMIUM_NOTE}`, () => {
  let browser: Browser;
  let api: string;

  beforeAll(async () => {
    browser = await launchChromium();
    stack.defer(() => browser.close());
    api = service.url.replace('127.0.0.1', 'localhost');
  });

  /**
   * Signs in on a page of this origin, and subscribes over a WebSocket and over an event stream. Then changes the user's status
   * on that page.
   *
   * @returns The page, and the response to the sign-in.
   */
  async function tryFrom(origin: string): Promise<{ readonly page: Page; readonly session: Json }> {
    const page = await (await browser.newContext()).newPage();
    await page.goto(origin);
    const login = { username: people.owner.email, password: PASSWORD };
    const session = await page.evaluate(
      async ({ api, login }) => {
        const graphql = async (query: string, variables: object) => {
          const answer = await fetch(`${api}/graphql`, {
            ...{ method: 'POST', credentials: 'include' },
            headers: {
              'content-type': 'application/json',
              // Headers that libraries for tracing and client awareness add to each request.
              ...{ traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', baggage: 'a=1' },
              ...{ 'sentry-trace': '0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-1' },
              ...{ 'apollographql-client-name': 'web', 'x-request-id': '1' },
            },
            body: JSON.stringify({ query, variables }),
          });
          return answer.json();
        };
        try {
          const signIn = 'mutation ($input: SignInInput!) { signIn(input: $input) { __typename } }';
          return (await graphql(signIn, { input: login })).data.signIn.__typename;
        } catch (error) {
          return String(error);
        }
      },
      { api, login },
    );
    return { page, session };
  }

  /**
   * Subscribes to a queue from a script on the page. @returns The first message that the subscription delivers, or the reason
   * why it failed.
   */
  const listen = (page: Page, queueId: string, transport: 'ws' | 'sse'): Promise<string> =>
    page.evaluate(
      ({ api, queueId, transport }) => {
        const query = `subscription { events(queueId: "${queueId}") { type } }`;
        const { promise, resolve } = Promise.withResolvers<string>();
        if (transport === 'sse') {
          const address = `${api}/graphql?query=${encodeURIComponent(query)}`;
          const source = new EventSource(address, { withCredentials: true });
          source.addEventListener('next', (event) => resolve(JSON.parse(event.data).data.events.type));
          source.onerror = () => resolve('refused');
        } else {
          const socket = new WebSocket(`${api.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
          socket.onopen = () => socket.send(JSON.stringify({ type: 'connection_init' }));
          socket.onmessage = ({ data }) => {
            const { type, payload } = JSON.parse(data);
            if (type === 'connection_ack')
              socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query } }));
            if (type === 'next') resolve(payload.data.events.type);
          };
          socket.onclose = () => resolve('refused');
        }
        return promise;
      },
      { api, queueId, transport },
    );

  test('a page of an allowed origin signs in and subscribes without an API key', async () => {
    const { page, session } = await tryFrom(allowed);
    expect(session).toBe('SignInPayload');
    for (const transport of ['ws', 'sse'] as const) {
      const { queue_id } = await people.owner.register({ fetch_event_types: [] });
      await people.owner.ok('POST', '/users/me/status', { status_text: transport });
      expect([transport, await listen(page, queue_id, transport)]).toEqual([transport, 'USER_STATUS']);
    }
  });

  test('a page of another origin cannot call the API, even if the visitor has a session', async () => {
    const { page, session } = await tryFrom(other);
    expect(session).toContain('Failed to fetch');
    const { page: ours } = await tryFrom(allowed);
    // The cookie belongs to the host, regardless of the port. So the browser would also send it with requests of the page on
    // the other port.
    await ours.goto(other);
    for (const visited of [page, ours]) {
      for (const transport of ['ws', 'sse'] as const) {
        const { queue_id } = await people.owner.register({ fetch_event_types: [] });
        await people.owner.ok('POST', '/users/me/status', { status_text: `${transport} elsewhere` });
        expect(await listen(visited, queue_id, transport)).toBe('refused');
      }
    }
  });
});
