import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { getRequestListener } from '@hono/node-server';
import type { App } from '../access/context.ts';
import { addEmailPages } from '../administration/email-changes/page.ts';
import { answerBare, BARE_HEADERS, bareBody, retryAfterHeader } from '../api/bare-answer.ts';
import { compressAnswer } from '../api/compression.ts';
import { answersCors } from '../api/cors.ts';
import { CsrfFailedError, challengeOf, requireOwnSite } from '../api/cross-site.ts';
import { warnOfProxy } from '../api/proxy-warning.ts';
import type { Endpoint } from '../api/rest/endpoint.ts';
import { addPageLimits } from '../api/rest/page-limits.ts';
import { API_PREFIX, createRestApp } from '../api/rest/router.ts';
import { headersOf, sessionTokenIn } from '../api/sessions.ts';
import { addAvatarsByAddress } from '../people/avatars/by-address.ts';
import { addAvatars } from '../people/avatars/pictures.ts';
import { addEmojiFiles } from '../people/emoji/files.ts';
import { addCustomEmoji } from '../people/emoji/pictures.ts';
import type { Config } from '../platform/config.ts';
import { expectedError } from '../platform/db/errors.ts';
import { BadRequestError, type ChatError, RateLimitHitError } from '../platform/errors.ts';
import { observeRefusal, observeRequest } from '../platform/metrics.ts';
import { currentRequest } from '../platform/request-note.ts';
import type { DemoAccess } from './demo/demo-access.ts';
import { addHealth } from './health.ts';
import type { Listening } from './listen.ts';
import { addPages, isPreparedFile } from './pages/routes.ts';
import { routes as allRoutes } from './registries/endpoints.ts';
import { logged } from './request-log.ts';

const GRAPHQL_PATH = '/graphql';

/** Handlers and options of the HTTP server. */
export interface Handlers {
  /** Handles all requests at /graphql. */
  graphql(incoming: IncomingMessage, outgoing: ServerResponse): void;
  /** Handles the upgrade of a connection to a WebSocket at /graphql. */
  upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Access to pages with the demo owner's key. Null: no browser has access. */
  readonly demo?: DemoAccess | null;
  /** The REST endpoints. Absent: all. */
  readonly routes?: readonly Endpoint[];
}

/**
 * Limits for the arrival of a request. Responses are not limited: a long poll responds after a minute. A request head
 * takes one or two packets, so ten seconds affect only clients that hold connections on purpose. Idle connections stay
 * open longer than the 60 s of load balancers, which could otherwise send a request on a closing connection.
 */
const TIMEOUTS = {
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 75_000,
  connectionsCheckingInterval: 5_000,
} as const;
/** A connection is closed if its client reads nothing of a response for this long. */
const SILENCE_MS = 120_000;
/** Limit of the request head. Larger than Node's default of 16 KiB, because query strings can contain long lists of ids. */
const MAX_HEADER_BYTES = 32 * 1024;

/** Creates the HTTP server: GraphQL at /graphql, REST and the pages at all other paths. It does not listen yet. */
export function createServer(app: App, { graphql, upgrade, demo = null, routes = allRoutes }: Handlers): Server {
  const web = createRestApp(app, routes);
  // Before the rate limits: load balancers can request these paths without limit.
  addHealth(web, app);
  addPageLimits(web, app, isPreparedFile);
  addPages(web, app, demo);
  addEmailPages(web, app);
  addAvatars(web, app);
  addAvatarsByAddress(web, app);
  addEmojiFiles(web);
  addCustomEmoji(web, app);
  web.onError((error, { env }) => {
    const expected = expectedError(error);
    if (expected !== undefined) {
      const { status, message, data } = expected;
      const { 'retry-after': wait } = data;
      const headers = {
        ...(status === 401 && challengeOf(env.incoming.headers)),
        ...(typeof wait === 'number' && { 'Retry-After': retryAfterHeader(wait) }),
      };
      return new Response(`${message}\n`, { status, headers: { 'Cache-Control': 'private, no-store', ...headers } });
    }
    app.log.error({ err: error }, 'page request failed unexpectedly');
    return new Response('Internal server error\n', { status: 500 });
  });
  // The name replaces a missing Host header. HTTP/1.0 does not require one, and health probes send none.
  const listener = getRequestListener(web.fetch, { hostname: 'localhost', errorHandler: refuseRequest });
  const options = { ...TIMEOUTS, maxHeaderSize: MAX_HEADER_BYTES, shouldUpgradeCallback: asksForWebSocket };
  const open = new OpenResponses();
  const server = createHttpServer(options, (incoming, outgoing) => {
    open.add(outgoing);
    incoming.url = withoutEmptySegments(incoming.url ?? '');
    // Browsers must not interpret JSON or text as a page or a script.
    outgoing.setHeader('X-Content-Type-Options', 'nosniff');
    compressAnswer(incoming, outgoing);
    if (answersCors(app.config, incoming, outgoing)) return;
    logged(app, incoming, outgoing, () => hand(incoming, outgoing));
  });
  const hand = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const tooMany = tooManyConnections(app, incoming);
    const error = hostError(incoming) ?? tooMany ?? crossSiteError(app.config, incoming, false);
    if (error !== undefined) {
      observeRefusal(isGraphql(incoming.url) ? 'graphql' : 'rest', error.code);
      if (isGraphql(incoming.url)) observeGraphql(incoming, outgoing);
      else observeRequest('other', labelOf(error), error.status, 0);
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
    incoming.url = withoutEmptySegments(incoming.url ?? '');
    const error =
      hostError(incoming) ?? tooManyConnections(app, incoming) ?? crossSiteError(app.config, incoming, true);
    if (error !== undefined) {
      observeRefusal('graphql', error.code);
      answerBare(socket, error.status, error.message, { code: error.code, ...error.data });
    } else if (isGraphql(incoming.url)) upgrade(incoming, socket, head);
    else answerBare(socket, 404, 'No WebSocket endpoint at this path');
  });
  server.on('clientError', refuseBytes);
  responsesOf.set(server, open);
  return server;
}

/** Unfinished responses, each of which can be made the last one of its connection. */
class OpenResponses {
  readonly #open = new Set<ServerResponse>();
  #areLast = false;

  add(response: ServerResponse): void {
    if (this.#areLast) response.shouldKeepAlive = false;
    this.#open.add(response);
    response.once('close', () => this.#open.delete(response));
  }

  /** Sends `Connection: close` with every response whose head was not sent yet, and with all later ones. */
  makeLast(): void {
    this.#areLast = true;
    for (const response of this.#open) response.shouldKeepAlive = false;
  }
}

const responsesOf = new WeakMap<Server, OpenResponses>();

/**
 * Returns whether to upgrade to WebSocket. Other protocols, which some clients offer with every request, are ignored.
 */
const asksForWebSocket = ({ headers }: IncomingMessage): boolean => /^websocket$/i.test(headers.upgrade ?? '');

/**
 * Removes empty segments before the path of an endpoint: clients join an address that ends in a slash with one that
 * begins with a slash. Later segments are parameters and are not changed.
 */
const withoutEmptySegments = (url: string): string =>
  url.replace(/^\/+(?:api\/+v1(?:\/+|(?=$|\?)))?/, (prefix) => prefix.replace(/\/+/g, '/'));

/** Rejects several Host headers: a proxy may have read another one than this server. See RFC 9112, section 3.2. */
function hostError({ rawHeaders }: IncomingMessage): BadRequestError | undefined {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts > 1 ? new BadRequestError('The request has more than one Host header') : undefined;
}

/** Returns the name of a refusal in the metrics. */
function labelOf(error: ChatError): string {
  if (error instanceof RateLimitHitError) return 'too-many';
  return error instanceof CsrfFailedError ? 'cross-site' : 'malformed';
}

/** Returns whether a URL is the one for GraphQL operations. Paths below it are not. */
function isGraphql(url = ''): boolean {
  const path = url.split('?', 1)[0];
  return path === GRAPHQL_PATH || path === `${GRAPHQL_PATH}/`;
}

/**
 * Returns the error for a request from an address with too many connections. Undefined if its credentials may be valid:
 * then `countRequest` decides.
 */
function tooManyConnections({ connections, ...app }: App, incoming: IncomingMessage): RateLimitHitError | undefined {
  const refusal = connections.refusalOf(incoming.socket);
  if (refusal === undefined) return undefined;
  warnOfProxy(app, incoming);
  const { url, headers } = incoming;
  const showsSession = sessionTokenIn(app.config, headersOf(headers)) !== undefined;
  // WebSockets authenticate later, and pages never do.
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

/** Returns an error for a request that a page of another site can have made a browser send. Otherwise undefined. */
function crossSiteError(config: Config, incoming: IncomingMessage, isUpgrade: boolean): CsrfFailedError | undefined {
  try {
    requireOwnSite(config, incoming, { isUpgrade, isOperation: isGraphql(incoming.url) });
    return undefined;
  } catch (error) {
    if (error instanceof CsrfFailedError) return error;
    throw error;
  }
}

/** Sends a refusal. Called before all handlers, so that a handler that is added later cannot omit the checks. */
function refuse({ message, code, status, data }: ChatError, url: string | undefined, to: ServerResponse): void {
  const body = isGraphql(url)
    ? JSON.stringify({ errors: [{ message, extensions: { code, ...data } }] })
    : bareBody(message, code, data);
  const retryAfter = data['retry-after'];
  if (typeof retryAfter === 'number') to.setHeader('Retry-After', retryAfterHeader(retryAfter));
  to.writeHead(status, BARE_HEADERS).end(body);
}

/** Responds to a request whose request line or Host is invalid. */
function refuseRequest(): Response {
  return new Response(bareBody('Malformed request'), { status: 400, headers: BARE_HEADERS });
}

/**
 * Responds on the bare connection to data that never becomes a request: invalid HTTP, or more than the server reads.
 */
function refuseBytes(error: Error & { code?: string }, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
  else if (error.code === 'HPE_HEADER_OVERFLOW') {
    answerBare(socket, 431, `The request head is too large (limit: ${MAX_HEADER_BYTES} bytes)`);
  } else if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    answerBare(socket, 408, 'The request took too long to arrive');
  } else answerBare(socket, 400, 'Malformed request');
}

/**
 * Stops accepting connections, and finishes the requests in progress. Each response says that it is the last one of its
 * connection, so that a client or proxy sends the next request to another node. Connections without a request stay open
 * for `drainMs`, so that a request in transit is still answered.
 *
 * Long polls and sockets end on their own if the event queues are closed first.
 *
 * @param graceMs After this time, connections with unfinished responses are closed.
 */
export async function closeServer(
  server: Server,
  listening: Listening,
  { drainMs, graceMs }: { readonly drainMs: number; readonly graceMs: number },
): Promise<void> {
  responsesOf.get(server)?.makeLast();
  const closed = listening.close();
  let idle: NodeJS.Timeout | undefined;
  const drained = setTimeout(() => {
    // A response whose head was sent before may leave its connection open: check again until none is left.
    // After the events of the turn: a connection whose next request has arrived is not idle.
    idle = setInterval(() => setImmediate(() => server.closeIdleConnections()), 50);
  }, drainMs);
  const late = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(drained);
  clearInterval(idle);
  clearTimeout(late);
}
