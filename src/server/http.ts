import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { getRequestListener } from '@hono/node-server';
import type { App } from '../access/context.ts';
import { addEmailPages } from '../administration/email-changes/page.ts';
import { answerBare, BARE_HEADERS, bareBody } from '../api/bare-answer.ts';
import { compressAnswer } from '../api/compression.ts';
import { answersCors } from '../api/cors.ts';
import { CsrfFailedError, challengeOf, requireOwnSite } from '../api/cross-site.ts';
import { warnOfProxy } from '../api/proxy-warning.ts';
import type { Endpoint } from '../api/rest/endpoint.ts';
import { API_PREFIX, createRestApp } from '../api/rest/router.ts';
import { headersOf, sessionTokenIn } from '../api/sessions.ts';
import { addAvatars } from '../people/avatars/pictures.ts';
import { addEmojiFiles } from '../people/emoji/files.ts';
import { addCustomEmoji } from '../people/emoji/pictures.ts';
import type { Config } from '../platform/config.ts';
import { expectedError } from '../platform/db/errors.ts';
import type { ChatError, RateLimitHitError } from '../platform/errors.ts';
import { observeRefusal, observeRequest } from '../platform/metrics.ts';
import { currentRequest } from '../platform/request-note.ts';
import type { DemoAccess } from './demo/demo-access.ts';
import { addHealth } from './health.ts';
import type { Listening } from './listen.ts';
import { addPages } from './pages/routes.ts';
import { routes as allRoutes } from './registries/endpoints.ts';
import { logged } from './request-log.ts';

const GRAPHQL_PATH = '/graphql';

/** What the server hands on. */
export interface Handlers {
  /** Answers everything at /graphql. */
  graphql(incoming: IncomingMessage, outgoing: ServerResponse): void;
  /** Takes over a connection that is to become a WebSocket at /graphql. */
  upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Who gets pages with the demo owner's key; null: nobody. */
  readonly demo?: DemoAccess | null;
  /** The REST endpoints; all of them, when absent. */
  readonly routes?: readonly Endpoint[];
}

/**
 * Our choices. Only the arrival of a request is bounded, never its answer: a long poll answers after a minute. Heads
 * come in one or two packets, so ten seconds cut off nobody but who holds connections on purpose. Idle connections
 * outlive the 60 s that load balancers keep theirs, or a request could meet a closing connection.
 */
const TIMEOUTS = {
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 75_000,
  connectionsCheckingInterval: 5_000,
} as const;
/** Our choice: an answer of which nothing is read for so long is not waited for any more. */
const SILENCE_MS = 120_000;
/** Our choice: lists of ids in a query string are long; Node's own limit is 16 KiB. */
const MAX_HEADER_BYTES = 32 * 1024;

/** The one HTTP server: /graphql to GraphQL, everything else to REST and the pages. It does not listen yet. */
export function createServer(app: App, { graphql, upgrade, demo = null, routes = allRoutes }: Handlers): Server {
  const web = createRestApp(app, routes);
  addPages(web, app, demo);
  addEmailPages(web, app);
  addHealth(web, app);
  addAvatars(web, app);
  addEmojiFiles(web);
  addCustomEmoji(web, app);
  web.onError((error, { env }) => {
    const expected = expectedError(error);
    if (expected !== undefined) {
      const { status, message } = expected;
      const headers = status === 401 ? { ...challengeOf(env.incoming.headers) } : {};
      return new Response(`${message}\n`, { status, headers: { 'Cache-Control': 'private, no-store', ...headers } });
    }
    app.log.error({ err: error }, 'a page failed unexpectedly');
    return new Response('Internal server error\n', { status: 500 });
  });
  // The name stands in for a Host that HTTP/1.0 does not ask for: health probes send none.
  const listener = getRequestListener(web.fetch, { hostname: 'localhost', errorHandler: refuseRequest });
  const options = { ...TIMEOUTS, maxHeaderSize: MAX_HEADER_BYTES, shouldUpgradeCallback: asksForWebSocket };
  const server = createHttpServer(options, (incoming, outgoing) => {
    // What is JSON or text is never taken for a page or a script.
    outgoing.setHeader('X-Content-Type-Options', 'nosniff');
    compressAnswer(incoming, outgoing);
    if (answersCors(app.config, incoming, outgoing)) return;
    logged(app, incoming, outgoing, () => hand(incoming, outgoing));
  });
  const hand = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const tooMany = tooManyConnections(app, incoming);
    const error = tooMany ?? crossSiteError(app.config, incoming, false);
    if (error !== undefined) {
      observeRefusal(isGraphql(incoming.url) ? 'graphql' : 'rest', error.code);
      if (isGraphql(incoming.url)) observeGraphql(incoming, outgoing);
      else observeRequest('other', tooMany === undefined ? 'cross-site' : 'too-many', error.status, 0);
      if (tooMany !== undefined) outgoing.setHeader('Connection', 'close');
      refuse(error, incoming.url, outgoing);
      return;
    }
    if (!isGraphql(incoming.url)) {
      void listener(incoming, outgoing);
      return;
    }
    observeGraphql(incoming, outgoing);
    graphql(incoming, outgoing);
  };
  // A long poll is silent until its heartbeat.
  server.timeout = Math.max(SILENCE_MS, 2 * app.config.heartbeatMs);
  server.on('connection', (socket) => app.connections.take(socket));
  server.on('upgrade', (incoming, socket, head) => {
    const error = tooManyConnections(app, incoming) ?? crossSiteError(app.config, incoming, true);
    if (error !== undefined) {
      observeRefusal('graphql', error.code);
      answerBare(socket, error.status, error.message, { code: error.code, ...error.data });
    } else if (isGraphql(incoming.url)) upgrade(incoming, socket, head);
    else answerBare(socket, 404, 'There is nothing here that speaks WebSocket');
  });
  server.on('clientError', refuseBytes);
  return server;
}

/** Other protocols, which some clients offer with every request, are left alone: they are answered in this one. */
const asksForWebSocket = ({ headers }: IncomingMessage): boolean => /^websocket$/i.test(headers.upgrade ?? '');

/** What lies below the address is none: there is one for all operations. */
function isGraphql(url = ''): boolean {
  const path = url.split('?', 1)[0];
  return path === GRAPHQL_PATH || path === `${GRAPHQL_PATH}/`;
}

/**
 * Why a request is refused whose address has too many connections. Undefined also where it may be signed in, and is let in
 * then: whoever counts it knows.
 */
function tooManyConnections({ connections, ...app }: App, incoming: IncomingMessage): RateLimitHitError | undefined {
  const refusal = connections.refusalOf(incoming.socket);
  if (refusal === undefined) return undefined;
  warnOfProxy(app, incoming);
  const { url, headers } = incoming;
  const showsSession = sessionTokenIn(app.config, headersOf(headers)) !== undefined;
  // Sockets are signed in later, and pages by nobody.
  const isCounted = !asksForWebSocket(incoming) && (isGraphql(url) || url?.startsWith(`${API_PREFIX}/`) === true);
  const isTried =
    isCounted && (headers.authorization !== undefined || showsSession) && connections.waitsForSignIn(incoming.socket);
  return isTried ? undefined : refusal;
}

function observeGraphql({ method = '' }: IncomingMessage, outgoing: ServerResponse): void {
  const startedAt = performance.now();
  const note = currentRequest();
  if (note !== undefined) note.route = GRAPHQL_PATH;
  outgoing.once('close', () => {
    const label = method === 'GET' || method === 'POST' ? method : 'other';
    observeRequest(label, GRAPHQL_PATH, outgoing.statusCode, (performance.now() - startedAt) / 1000);
  });
}

/** @returns Undefined for what a page of another site cannot have had a browser send. */
function crossSiteError(config: Config, incoming: IncomingMessage, isUpgrade: boolean): CsrfFailedError | undefined {
  try {
    requireOwnSite(config, incoming, { isUpgrade, isOperation: isGraphql(incoming.url) });
    return undefined;
  } catch (error) {
    if (error instanceof CsrfFailedError) return error;
    throw error;
  }
}

/** Before any of them: one that is added later cannot forget it. */
function refuse({ message, code, status, data }: ChatError, url: string | undefined, to: ServerResponse): void {
  const body = isGraphql(url)
    ? JSON.stringify({ errors: [{ message, extensions: { code, ...data } }] })
    : bareBody(message, code, data);
  const retryAfter = data['retry-after'];
  if (retryAfter !== undefined) to.setHeader('Retry-After', String(retryAfter));
  to.writeHead(status, BARE_HEADERS).end(body);
}

/** A request line or Host that names nothing. */
function refuseRequest(): Response {
  return new Response(bareBody('Malformed request'), { status: 400, headers: BARE_HEADERS });
}

/** What is no HTTP, or more of it than is read, never becomes a request: it is answered on the bare connection. */
function refuseBytes(error: Error & { code?: string }, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
  else if (error.code === 'HPE_HEADER_OVERFLOW') {
    answerBare(socket, 431, `The request head is too large (limit: ${MAX_HEADER_BYTES} bytes)`);
  } else if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    answerBare(socket, 408, 'The request took too long to arrive');
  } else answerBare(socket, 400, 'Malformed request');
}

/**
 * Stops taking requests, lets those under way finish, and after `graceMs` cuts off those that have not.
 *
 * Long polls and sockets end on their own when the event queues are closed first.
 */
export async function closeServer(server: Server, listening: Listening, graceMs: number): Promise<void> {
  const closed = listening.close();
  // A connection that answers after `close` stays open for the next request: look again until none is left.
  const idle = setInterval(() => server.closeIdleConnections(), 50);
  const late = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearInterval(idle);
  clearTimeout(late);
}
