import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Config } from '../platform/config.ts';
import { defineError } from '../platform/errors.ts';
import { hostOf, subdomainOf } from '../platform/hosts.ts';
import { cookieName, readCookie } from './cookies.ts';
import { headersOf, type ReadHeader, sessionTokenIn } from './sessions.ts';

/**
 * The argument `purpose` of `cookieName` for the cookie of the demo. A browser with this cookie can open the pages that contain
 * the API key of the demo owner.
 */
export const SIGNED_IN_COOKIE = 'start';

/** The error for a cross-site request: a page of another site made the user's browser send it. */
export class CsrfFailedError extends defineError(
  'CSRF_FAILED',
  () => ({ message: 'CSRF error: the request comes from a page of another site', data: { reason: 'cross-site' } }),
  { status: 403 },
) {}

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

/**
 * Refuses requests that a page of another site makes a browser send with the user's stored credentials. This applies to
 * requests that can change data, to WebSocket upgrades, and to all GraphQL operations. Even a query uses up the user's budget
 * of requests, and a subscription can take over an event queue. Pages of the origins in `ALLOWED_ORIGINS` count as pages of
 * this site. Pages of other origins cannot open a WebSocket, whatever their credentials.
 *
 * Credentials that a program sent explicitly are accepted from any origin: a bearer token, the credentials in
 * `connection_init`, and Basic without `Sec-Fetch-*` headers. A browser always sends these headers, and no script can omit
 * them.
 *
 * @param options.isUpgrade Whether the request is a WebSocket upgrade.
 * @param options.isOperation Whether the path is /graphql.
 * @throws CsrfFailedError if the request is refused.
 */
export function requireOwnSite(
  config: Config,
  { method = '', headers }: Pick<IncomingMessage, 'method' | 'headers'>,
  { isUpgrade = false, isOperation = false } = {},
): void {
  if (isUpgrade && isForeignPage(config, headersOf(headers))) throw new CsrfFailedError();
  // If a browser opens a page by this request, no operation is executed, even if the URL contains one.
  const isRead = isOperation ? headers['sec-fetch-mode'] === 'navigate' : true;
  if (SAFE_METHODS.has(method) && isRead && !isUpgrade) return;
  const credentials = ambientCredentials(config, headers);
  if (credentials === undefined || isOwnSite(config, headersOf(headers))) return;
  if (credentials === 'basic' && !isUpgrade && isOfProgram(method, headers)) return;
  throw new CsrfFailedError();
}

/**
 * Refuses a sign-in from a page of another site. Otherwise that page could sign its visitor in as another user. The request is
 * refused even if it has no stored credentials.
 *
 * @throws CsrfFailedError if the request is refused.
 */
export function requireOwnPage(config: Config, header: ReadHeader): void {
  if (!isOwnSite(config, header)) throw new CsrfFailedError();
}

/**
 * Returns whether the request comes from a web page of another origin. Installed programs send no Origin header, or an origin
 * that is neither http nor https.
 */
const isForeignPage = (config: Config, header: ReadHeader): boolean =>
  /^https?:/i.test(header('origin') ?? '') && !isOwnSite(config, header);

/** Returns whether the request has `Sec-Fetch-*` headers, which browsers send. */
const hasFetchMetadata = (headers: IncomingHttpHeaders) =>
  Object.keys(headers).some((name) => name.startsWith('sec-fetch-'));

/**
 * Returns the type of the credentials that a browser may have added by itself: stored Basic credentials, or a cookie. Undefined
 * if the credentials were sent explicitly, or if there are none.
 */
function ambientCredentials(config: Config, headers: IncomingHttpHeaders): 'basic' | 'cookie' | undefined {
  const { authorization, cookie } = headers;
  if (authorization !== undefined && authorization !== '')
    return /^basic\b/i.test(authorization) && hasFetchMetadata(headers) ? 'basic' : undefined;
  const isLetIn = readCookie(cookie, cookieName(config, SIGNED_IN_COOKIE)) !== undefined;
  return isLetIn || sessionTokenIn(config, headersOf(headers)) !== undefined ? 'cookie' : undefined;
}

/**
 * Returns whether the requesting page has the origin of the requested URL or an allowed origin. Also true if no page made the
 * request, or if the request has neither `Sec-Fetch-Site` nor Origin.
 *
 * `Sec-Fetch-Site` takes precedence, because Origin is less reliable. Origin is "null" for forms of pages that send no
 * referrer. Behind some proxies, the host in Origin differs from the Host header.
 */
function isOwnSite(config: Config, header: ReadHeader): boolean {
  const [origin, host, site] = [header('origin'), header('host'), header('sec-fetch-site')];
  if (site === 'same-origin' || site === 'none') return true;
  if (origin !== undefined && config.allowedOrigins.has(origin)) return true;
  if (site === 'cross-site') return false;
  if (origin === undefined) return site === undefined;
  const asking = URL.parse(origin)?.host;
  return asking !== undefined && asking !== '' && [host?.toLowerCase(), knownHost(config, host)].includes(asking);
}

/** Returns the public host of the organization that a Host header names; undefined if the header names no organization. */
function knownHost(config: Config, host: string | undefined): string | undefined {
  try {
    return hostOf(config, subdomainOf(config, host));
  } catch {
    return undefined;
  }
}

/**
 * Methods that a page can use in a request to any site without a preflight request. The content type of such a request must be
 * in `SIMPLE_TYPES`.
 */
const SIMPLE_METHODS = new Set(['GET', 'HEAD', 'POST']);
const SIMPLE_TYPES = new Set(['', 'application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain']);
/**
 * Headers that GraphQL clients send only to trigger a preflight request. The multipart request specification defines the first
 * header. Apollo clients send the second and the third header, because Apollo servers require them. By default, urql sends no
 * such header.
 */
export const PREFLIGHT_HEADERS = ['graphql-require-preflight', 'apollo-require-preflight', 'x-apollo-operation-name'];
/** Request headers with which a browser must send a preflight request first. One of these headers is enough. */
const UNUSUAL_HEADERS = ['x-requested-with', 'idempotency-key', ...PREFLIGHT_HEADERS];

/**
 * Returns whether the request comes from an installed program whose pages have an origin with its own scheme. The origins of
 * files, of browser extensions and "null" can also belong to a page in a browser, such as a sandboxed frame. A request from
 * one of these origins is accepted only if a browser would have to send a preflight request first. This server refuses that
 * preflight request, so the sender is not a browser.
 */
function isOfProgram(method: string, headers: IncomingHttpHeaders): boolean {
  // In other modes (forms, images, sockets), the request contains nothing that a script has chosen.
  if (headers['sec-fetch-mode'] !== 'cors') return false;
  const { origin = '' } = headers;
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(origin)?.[1]?.toLowerCase();
  if (scheme === 'http' || scheme === 'https' || (scheme === undefined && origin !== 'null')) return false;
  if (scheme !== undefined && scheme !== 'file' && !scheme.endsWith('-extension')) return true;
  const type = (headers['content-type']?.split(';')[0] ?? '').trim().toLowerCase();
  const isSimple = SIMPLE_METHODS.has(method) && SIMPLE_TYPES.has(type);
  return !isSimple || UNUSUAL_HEADERS.some((name) => headers[name] !== undefined);
}

/**
 * Returns the `WWW-Authenticate` header of a 401, which names the authentication scheme. Requests with `Sec-Fetch-*` headers
 * get none: the browser would ask for user name and password, and then send them with every request.
 */
export const challengeOf = (headers: IncomingHttpHeaders): Readonly<Record<string, string>> =>
  hasFetchMetadata(headers) ? {} : { 'WWW-Authenticate': 'Basic realm="Team chat API"' };
