import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Config } from '../platform/config.ts';
import { defineError } from '../platform/errors.ts';
import { hostOf, subdomainOf } from '../platform/hosts.ts';
import { cookieName, readCookie } from './cookies.ts';
import { headersOf, type ReadHeader, sessionTokenIn } from './sessions.ts';

/** The cookie of a browser that is signed in. */
export const SIGNED_IN_COOKIE = 'start';

/** A page of another site had a browser send the request with credentials of its own accord. */
export class CsrfFailedError extends defineError(
  'CSRF_FAILED',
  () => ({ message: 'CSRF error: the request comes from a page of another site', data: { reason: 'cross-site' } }),
  { status: 403 },
) {}

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

/**
 * Refuses what a page of another site has a browser do in the name of whoever sits there: requests that may change
 * something, operations of GraphQL, which take over queues and cost something, and upgrades. Pages of origins in
 * `ALLOWED_ORIGINS` are like our own; of others, no page opens a socket, whatever it has.
 *
 * Credentials that somebody chose to send pass from anywhere: a bearer's, those of `connection_init`, and Basic ones
 * without `Sec-Fetch-*` headers, which no browser script can leave out.
 *
 * @throws CsrfFailedError
 */
export function requireOwnSite(
  config: Config,
  { method = '', headers }: Pick<IncomingMessage, 'method' | 'headers'>,
  { isUpgrade = false, isOperation = false } = {},
): void {
  if (isUpgrade && isForeignPage(config, headersOf(headers))) throw new CsrfFailedError();
  // What is navigated to is a page, whatever stands in its address.
  const isRead = isOperation ? headers['sec-fetch-mode'] === 'navigate' : true;
  if (SAFE_METHODS.has(method) && isRead && !isUpgrade) return;
  const credentials = ambientCredentials(config, headers);
  if (credentials === undefined || isOwnSite(config, headersOf(headers))) return;
  if (credentials === 'basic' && !isUpgrade && isOfProgram(method, headers)) return;
  throw new CsrfFailedError();
}

/**
 * Refuses to sign in a browser for a page of another site, which would have its visitor act as somebody else: whether or
 * not the browser sent anything by itself.
 *
 * @throws CsrfFailedError
 */
export function requireOwnPage(config: Config, header: ReadHeader): void {
  if (!isOwnSite(config, header)) throw new CsrfFailedError();
}

/** Whether a page asks that has an address on the web, and not ours. Programs have none, or one of a scheme of their own. */
const isForeignPage = (config: Config, header: ReadHeader): boolean =>
  /^https?:/i.test(header('origin') ?? '') && !isOwnSite(config, header);

/** Whether a browser sent it, and says so. */
const isOfBrowser = (headers: IncomingHttpHeaders) =>
  Object.keys(headers).some((name) => name.startsWith('sec-fetch-'));

/** What of the request a browser may have sent by itself; undefined when it has been sent by choice, or is nobody's. */
function ambientCredentials(config: Config, headers: IncomingHttpHeaders): 'basic' | 'cookie' | undefined {
  const { authorization, cookie } = headers;
  if (authorization !== undefined && authorization !== '')
    return /^basic\b/i.test(authorization) && isOfBrowser(headers) ? 'basic' : undefined;
  const isLetIn = readCookie(cookie, cookieName(config, SIGNED_IN_COOKIE)) !== undefined;
  return isLetIn || sessionTokenIn(config, headersOf(headers)) !== undefined ? 'cookie' : undefined;
}

/**
 * Whether the page that asks is of the very address it asks. What the browser says of that counts more than the origin,
 * which is "null" for forms of pages that send no referrer, and has another host than Host behind some proxies.
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

/** The host at which browsers know the organisation that Host names. */
function knownHost(config: Config, host: string | undefined): string | undefined {
  try {
    return hostOf(config, subdomainOf(config, host));
  } catch {
    return undefined;
  }
}

/** The methods and content types that a page may send to any site without a preflight request. */
const SIMPLE_METHODS = new Set(['GET', 'HEAD', 'POST']);
const SIMPLE_TYPES = new Set(['', 'application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain']);
/**
 * What GraphQL clients send only to have a browser send a preflight request first: the header of the multipart request
 * specification, and those that Apollo's servers ask for, so that its clients send them. urql sends none by itself.
 */
export const PREFLIGHT_HEADERS = ['graphql-require-preflight', 'apollo-require-preflight', 'x-apollo-operation-name'];
/** With any one of these headers, the browser sends a preflight request first. */
const UNUSUAL_HEADERS = ['x-requested-with', 'idempotency-key', ...PREFLIGHT_HEADERS];

/**
 * Whether it is of an installed program, whose pages have an origin of its own scheme. Those of files, of extensions and
 * "null" may be anybody's in a browser, a sandboxed frame's for one: from them counts only what a browser would have asked
 * leave for first, which it does not get here, so that the program that sent it is one that does not ask.
 */
function isOfProgram(method: string, headers: IncomingHttpHeaders): boolean {
  // Forms, pictures and sockets carry nothing that a script chose.
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
 * The challenge of a 401, by which clients learn how to sign in. A browser would ask for user name and password in a
 * window of its own, and send them by itself from then on: who says that it is one gets none.
 */
export const challengeOf = (headers: IncomingHttpHeaders): Readonly<Record<string, string>> =>
  isOfBrowser(headers) ? {} : { 'WWW-Authenticate': 'Basic realm="Team chat API"' };
