import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { getRequestListener } from '@hono/node-server';
import type { App } from '../access/context.ts';
import { addAuditLogExport } from '../administration/audit-log/export.ts';
import { addEmailPages } from '../administration/email-changes/page.ts';
import { addInvitationPage } from '../administration/invitations/page.ts';
import { addNewOrganizationPage } from '../administration/new-organizations/page.ts';
import { addPasswordPage } from '../administration/password-resets/page.ts';
import { addSignUpPages } from '../administration/sign-up/page.ts';
import { addSingleSignOn } from '../administration/single-sign-on/page.ts';
import { answerBare, BARE_HEADERS, bareBody, retryAfterHeader } from '../api/bare-answer.ts';
import { compressAnswer } from '../api/compression.ts';
import { answersCors } from '../api/cors.ts';
import { CsrfFailedError, challengeOf, requireOwnSite } from '../api/cross-site.ts';
import { extensionsOf } from '../api/graphql/schema/error-extensions.ts';
import { warnOfProxy } from '../api/proxy-warning.ts';
import type { Endpoint } from '../api/rest/endpoint.ts';
import { addPageLimits } from '../api/rest/page-limits.ts';
import { API_PREFIX, createRestApp } from '../api/rest/router.ts';
import { isReceivingFile } from '../api/rest/upload.ts';
import { headersOf, sessionTokenIn } from '../api/sessions.ts';
import { addFiles, isFilePath } from '../messages/attachments/files.ts';
import { addResumableUploads } from '../messages/attachments/resumable.ts';
import { addExternalImages, isExternalImage } from '../messages/external-images/routes.ts';
import { addUnsubscribePage } from '../messages/notifications/page.ts';
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
import { routes as allRoutes } from './registries/features.ts';
import { logged } from './request-log.ts';

const GRAPHQL_PATH = '/graphql';

/** Handlers and options of the HTTP server. */
export interface Handlers {
  /** Handles all requests at /graphql. */
  graphql(incoming: IncomingMessage, outgoing: ServerResponse): void;
  /** Handles the upgrade of a connection to a WebSocket at /graphql. */
  upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Access to the pages that contain the API key of the demo owner. Null: no browser has access. */
  readonly demo?: DemoAccess | null;
  /** The REST endpoints to serve. Default: all. */
  readonly routes?: readonly Endpoint[];
}

/**
 * Timeouts for receiving a request, in milliseconds. There is no such timeout for a response: a long poll responds after a
 * minute. A request head fits into one or two packets, so ten seconds affect only clients that hold connections on purpose.
 *
 * Idle connections stay open longer than the 60 s of load balancers. Otherwise a load balancer could send a request on a
 * connection that is being closed.
 */
const TIMEOUTS = {
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 75_000,
  connectionsCheckingInterval: 5_000,
} as const;
/** Milliseconds after which a connection is closed if its client reads nothing of a response. */
const SILENCE_MS = 120_000;
/**
 * Maximum size of a request head, in bytes. A larger head is refused with status 431. The limit is larger than the 16 KiB of
 * Node, because query strings can contain long lists of ids.
 */
const MAX_HEADER_BYTES = 32 * 1024;

/** Creates the HTTP server: GraphQL at /graphql, REST and the pages at all other paths. It does not listen yet. */
export function createServer(app: App, { graphql, upgrade, demo = null, routes = allRoutes }: Handlers): Server {
  const web = createRestApp(app, routes);
  // The health routes are added before the rate limits, because load balancers request them often.
  addHealth(web, app);
  // Counts its requests by account, like the REST endpoints.
  addResumableUploads(web, app);
  addPageLimits(web, app, (path) => isPreparedFile(path) || isFilePath(path) || isExternalImage(path));
  addPages(web, app, demo);
  addAuditLogExport(web, app);
  addEmailPages(web, app);
  addUnsubscribePage(web, app);
  addInvitationPage(web, app);
  addPasswordPage(web, app);
  addSignUpPages(web, app);
  addNewOrganizationPage(web, app);
  addSingleSignOn(web, app);
  addAvatars(web, app);
  addEmojiFiles(web);
  addCustomEmoji(web, app);
  addFiles(web, app);
  addExternalImages(web, app);
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
  // `hostname` replaces a missing Host header. HTTP/1.0 does not require the header, and health probes omit it.
  const listener = getRequestListener(web.fetch, { hostname: 'localhost', errorHandler: refuseRequest });
  const options = { ...TIMEOUTS, maxHeaderSize: MAX_HEADER_BYTES, shouldUpgradeCallback: asksForWebSocket };
  const open = new OpenResponses();
  const server = createHttpServer(options, (incoming, outgoing) => {
    open.add(outgoing);
    incoming.url = withoutEmptySegments(incoming.url ?? '');
    // Browsers must not interpret JSON or text as a page or a script.
    outgoing.setHeader('X-Content-Type-Options', 'nosniff');
    if (incoming.headers['accept-encoding'] !== undefined) compressAnswer(incoming, outgoing);
    if (app.config.allowedOrigins.size > 0 && answersCors(app.config, incoming, outgoing)) return;
    logged(app, incoming, outgoing, hand);
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
  // The timeout must be longer than the interval of heartbeats, because a long poll sends nothing before its first heartbeat.
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

/** The responses in progress. When the server stops, each of them becomes the last response of its connection. */
class OpenResponses {
  readonly #open = new Set<ServerResponse>();
  #areLast = false;

  add(response: ServerResponse): void {
    if (this.#areLast) response.shouldKeepAlive = false;
    this.#open.add(response);
    response.once('close', () => this.#open.delete(response));
  }

  /** Adds `Connection: close` to all later responses, and to every open response whose head was not sent yet. */
  makeLast(): void {
    this.#areLast = true;
    for (const response of this.#open) response.shouldKeepAlive = false;
  }
}

const responsesOf = new WeakMap<Server, OpenResponses>();

/**
 * Returns whether a request asks for an upgrade to WebSocket. Upgrades to other protocols, which some clients offer with every
 * request, are ignored.
 */
const asksForWebSocket = ({ headers }: IncomingMessage): boolean => /^websocket$/i.test(headers.upgrade ?? '');

/**
 * Removes empty segments at the start of a URL, before the path of an endpoint. A client causes them if it appends a path that
 * begins with a slash to a base URL that ends with a slash. Later segments are parameters and stay unchanged.
 */
const withoutEmptySegments = (url: string): string =>
  url.includes('//') ? url.replace(/^\/+(?:api\/+v1(?:\/+|(?=$|\?)))?/, (prefix) => prefix.replace(/\/+/g, '/')) : url;

/**
 * Returns an error for a request with several Host headers, because a proxy may have used a different Host header than this
 * server. Undefined for other requests.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9112#section-3.2
 */
function hostError({ rawHeaders }: IncomingMessage): BadRequestError | undefined {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts > 1 ? new BadRequestError('The request has more than one Host header') : undefined;
}

/** Returns the route label under which the metrics count a refused request. */
function labelOf(error: ChatError): string {
  if (error instanceof RateLimitHitError) return 'too-many';
  return error instanceof CsrfFailedError ? 'cross-site' : 'malformed';
}

/** Returns whether the path of a URL is /graphql. Paths below /graphql belong to other routes. */
function isGraphql(url = ''): boolean {
  const path = url.split('?', 1)[0];
  return path === GRAPHQL_PATH || path === `${GRAPHQL_PATH}/`;
}

/**
 * Returns an error if the request's connection was refused because of the limits on connections. Otherwise undefined. Also
 * undefined if a user can lift the refusal by signing in, and this GraphQL or REST request has credentials: `countRequest` then
 * checks them first.
 */
function tooManyConnections(app: App, incoming: IncomingMessage): RateLimitHitError | undefined {
  const { connections } = app;
  const refusal = connections.refusalOf(incoming.socket);
  if (refusal === undefined) return undefined;
  warnOfProxy(app, incoming);
  const { url, headers } = incoming;
  const showsSession = sessionTokenIn(app.config, headersOf(headers)) !== undefined;
  // Only requests of GraphQL and REST authenticate. A WebSocket authenticates after the upgrade, and pages never do.
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

/**
 * Returns an error for a request that a page of another site may have made a browser send with stored credentials. Undefined
 * for other requests.
 */
function crossSiteError(config: Config, incoming: IncomingMessage, isUpgrade: boolean): CsrfFailedError | undefined {
  const { origin, 'sec-fetch-site': site } = incoming.headers;
  // Browsers send at least one of these headers with every such request. `requireOwnSite` accepts requests with neither.
  if (origin === undefined && site === undefined) return undefined;
  try {
    requireOwnSite(config, incoming, { isUpgrade, isOperation: isGraphql(incoming.url) });
    return undefined;
  } catch (error) {
    if (error instanceof CsrfFailedError) return error;
    throw error;
  }
}

/**
 * Sends the response to a request that is refused before it reaches any handler. The checks precede the handlers, so that a new
 * handler cannot omit them.
 */
function refuse(error: ChatError, url: string | undefined, to: ServerResponse): void {
  const { message, code, status, data } = error;
  const body = isGraphql(url)
    ? JSON.stringify({ errors: [{ message, extensions: extensionsOf(error) }] })
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
 * Responds on a connection to data that is not a complete, valid request: invalid HTTP, a head that is too large, or a request
 * that takes too long.
 */
function refuseBytes(error: Error & { code?: string }, socket: Duplex): void {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && isReceivingFile(socket)) return;
  if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
  else if (error.code === 'HPE_HEADER_OVERFLOW') {
    answerBare(socket, 431, `The request head is too large (limit: ${MAX_HEADER_BYTES} bytes)`);
  } else if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    answerBare(socket, 408, 'The request took too long to arrive');
  } else answerBare(socket, 400, 'Malformed request');
}

/**
 * Stops accepting connections, and finishes the requests in progress. Each response has `Connection: close`, so that the client
 * or proxy sends its next request to another node. Connections without a request stay open for `drainMs`, so that a request in
 * transit still gets a response.
 *
 * Long polls and event streams end when the event queues are closed, so the caller must close the queues at the same time.
 * Otherwise their connections are closed after `graceMs`.
 *
 * @param graceMs Milliseconds after which connections with unfinished responses are closed.
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
    // Idle connections are closed repeatedly, because a response whose head was sent before the stop can leave its connection
    // open. `setImmediate` delays the closing until after the I/O events of this turn of the event loop. A connection whose
    // next request has arrived by then is not idle.
    idle = setInterval(() => setImmediate(() => server.closeIdleConnections()), 50);
  }, drainMs);
  const late = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(drained);
  clearInterval(idle);
  clearTimeout(late);
}
