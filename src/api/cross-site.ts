import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Config } from '../platform/config.ts';
import { defineError } from '../platform/errors.ts';
import { hostOf, subdomainOf } from '../platform/hosts.ts';
import { cookieName, readCookie } from './cookies.ts';
import { headersOf, type ReadHeader, sessionTokenIn } from './sessions.ts';

/** Purpose, for `cookieName`, of the cookie of a browser that is signed in. */
export const SIGNED_IN_COOKIE = 'start';

/** The error for a request that a page of another site made a browser send with stored credentials. */
export class CsrfFailedError extends defineError(
  'CSRF_FAILED',
  () => ({ message: 'CSRF error: the request comes from a page of another site', data: { reason: 'cross-site' } }),
  { status: 403 },
) {}

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

/**
 * Refuses requests that a page of another site makes a browser send with the user's stored credentials. This applies to
 * requests that can change data, to upgrades, and to GraphQL operations, which can take over queues and use up the budget.
 * Pages of the origins in `ALLOWED_ORIGINS` count as our own. Pages of other origins cannot open a socket, whatever their
 * credentials.
 *
 * Credentials that were sent explicitly are accepted from any origin: a bearer token, those of `connection_init`, and Basic
 * without `Sec-Fetch-*` headers. No browser script can omit these headers.
 *
 * @throws CsrfFailedError
 */
export function requireOwnSite(
  config: Config,
  { method = '', headers }: Pick<IncomingMessage, 'method' | 'headers'>,
  { isUpgrade = false, isOperation = false } = {},
): void {
  if (isUpgrade && isForeignPage(config, headersOf(headers))) throw new CsrfFailedError();
  // A navigation loads a page, whatever its address contains.
  const isRead = isOperation ? headers['sec-fetch-mode'] === 'navigate' : true;
  if (SAFE_METHODS.has(method) && isRead && !isUpgrade) return;
  const credentials = ambientCredentials(config, headers);
  if (credentials === undefined || isOwnSite(config, headersOf(headers))) return;
  if (credentials === 'basic' && !isUpgrade && isOfProgram(method, headers)) return;
  throw new CsrfFailedError();
}

/**
 * Refuses a sign-in from a page of another site, which could sign its visitor in as another user. Stored credentials are not
 * required for the refusal.
 *
 * @throws CsrfFailedError
 */
export function requireOwnPage(config: Config, header: ReadHeader): void {
  if (!isOwnSite(config, header)) throw new CsrfFailedError();
}

/**
 * Whether the request comes from a web page of another origin. Programs send no origin, or one with a scheme of their own.
 */
const isForeignPage = (config: Config, header: ReadHeader): boolean =>
  /^https?:/i.test(header('origin') ?? '') && !isOwnSite(config, header);

/** Whether the request has `Sec-Fetch-*` headers, which browsers send. */
const isOfBrowser = (headers: IncomingHttpHeaders) =>
  Object.keys(headers).some((name) => name.startsWith('sec-fetch-'));

/**
 * Returns the kind of credentials that a browser may have added by itself. Undefined if the credentials were sent
 * explicitly, or if there are none.
 */
function ambientCredentials(config: Config, headers: IncomingHttpHeaders): 'basic' | 'cookie' | undefined {
  const { authorization, cookie } = headers;
  if (authorization !== undefined && authorization !== '')
    return /^basic\b/i.test(authorization) && isOfBrowser(headers) ? 'basic' : undefined;
  const isLetIn = readCookie(cookie, cookieName(config, SIGNED_IN_COOKIE)) !== undefined;
  return isLetIn || sessionTokenIn(config, headersOf(headers)) !== undefined ? 'cookie' : undefined;
}

/**
 * Whether the requesting page has the origin of the requested address or an allowed origin. `Sec-Fetch-Site` takes
 * precedence over Origin. Origin is "null" for forms of pages that send no referrer, and has another host than Host behind
 * some proxies.
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

/** Returns the host by which browsers reach the organization in the Host header; undefined if there is none. */
function knownHost(config: Config, host: string | undefined): string | undefined {
  try {
    return hostOf(config, subdomainOf(config, host));
  } catch {
    return undefined;
  }
}

/** Methods and content types that a page can send to any site without a preflight request. */
const SIMPLE_METHODS = new Set(['GET', 'HEAD', 'POST']);
const SIMPLE_TYPES = new Set(['', 'application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain']);
/**
 * Headers that GraphQL clients send only to trigger a preflight request. The first is from the multipart request
 * specification. Apollo's servers require the others, so that Apollo's clients send them. urql sends none by default.
 */
export const PREFLIGHT_HEADERS = ['graphql-require-preflight', 'apollo-require-preflight', 'x-apollo-operation-name'];
/** Headers that each trigger a preflight request. */
const UNUSUAL_HEADERS = ['x-requested-with', 'idempotency-key', ...PREFLIGHT_HEADERS];

/**
 * Whether the request comes from an installed program whose pages have an origin with its own scheme. The origins of files,
 * of extensions and "null" can also belong to a page in a browser, such as a sandboxed frame. From these origins, a request
 * is accepted only if a browser would have to send a preflight request first. This server refuses that preflight request, so
 * the sender is not a browser.
 */
function isOfProgram(method: string, headers: IncomingHttpHeaders): boolean {
  // Forms, images and sockets contain nothing that a script has chosen.
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
 * Returns the challenge of a 401, which names the authentication scheme. Requests with `Sec-Fetch-*` headers get none: a
 * browser would prompt for user name and password, and then send them with every request.
 */
export const challengeOf = (headers: IncomingHttpHeaders): Readonly<Record<string, string>> =>
  isOfBrowser(headers) ? {} : { 'WWW-Authenticate': 'Basic realm="Team chat API"' };
