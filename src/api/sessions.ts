import type { IncomingHttpHeaders } from 'node:http';
import type { App, RequestCtx, Runtime } from '../access/context.ts';
import type { SessionToken } from '../access/sessions.ts';
import { type ShownSession, signIn } from '../access/sign-in.ts';
import type { Config } from '../platform/config.ts';
import { ForbiddenError } from '../platform/errors.ts';
import { urlOf } from '../platform/hosts.ts';
import { addressOf, type Origin } from '../platform/rate-limits.ts';
import { type CookieNameConfig, cookieName, portCookieName, readCookie, setCookie } from './cookies.ts';

/** The configuration that the session cookie depends on. */
type CookieConfig = CookieNameConfig & Pick<Config, 'trustedProxies'>;

/** A function that returns a request header by its lower-case name. */
export type ReadHeader = (name: string) => string | undefined;

export const headersOf =
  (headers: IncomingHttpHeaders): ReadHeader =>
  (name) =>
    headers[name]?.toString();

/** Returns whether the browser connected over https, according to a trusted proxy or else to the configuration. */
export function isOverHttps(config: CookieConfig, header: ReadHeader): boolean {
  if (config.trustedProxies > 0) {
    const scheme = header('x-forwarded-proto')?.split(',').at(-1)?.trim().toLowerCase();
    if (scheme !== undefined) return scheme === 'https';
  }
  return urlOf(config, '').startsWith('https:');
}

/**
 * Returns the name of the session cookie. Over https, the name has the prefix `__Host-`. Browsers accept such a cookie only if
 * it was set over https, and for this host only.
 */
const nameOf = (config: CookieConfig, isSecure: boolean) =>
  isSecure ? secureName(config) : cookieName(config, 'session');

/** Name of the session cookie over https at the default port, and in previous versions at every port. */
const SECURE_NAME = '__Host-chat-session';

/** Returns the name of the session cookie over https. It contains the port of EXTERNAL_HOST, if that has one. */
function secureName(config: CookieConfig): string {
  const port = config.externalHost === undefined ? '' : new URL(urlOf(config, '')).port;
  return port === '' ? SECURE_NAME : `${SECURE_NAME}-${port}`;
}

/**
 * Returns the session token in the cookie of a request; undefined if there is none. In previous versions, the name of the
 * cookie contained the port over http, and never over https. Such a cookie is accepted as well, so that users stay signed in
 * after an upgrade. The next token is stored under the current name.
 */
export function sessionTokenIn(config: CookieConfig, header: ReadHeader): string | undefined {
  const [cookies, isSecure] = [header('cookie'), isOverHttps(config, header)];
  const previous = isSecure ? SECURE_NAME : portCookieName(config, 'session');
  const token = readCookie(cookies, nameOf(config, isSecure)) ?? readCookie(cookies, previous);
  return token === '' ? undefined : token;
}

const ABROAD =
  'A page of another site can sign in only over https, because browsers store no cookie for it otherwise. Over http, use ' +
  'an API key as a bearer token';

/**
 * Returns the Set-Cookie header that stores a session token; if `given` is undefined, the header deletes the cookie.
 *
 * Browsers do not send a `SameSite=Lax` cookie with requests from pages of another site. A page of an allowed origin on another
 * site therefore gets a partitioned cookie, which browsers send only with requests from pages of that site.
 *
 * @throws ForbiddenError if a page of another site connects over http.
 */
export function sessionCookie(app: Runtime, header: ReadHeader, given: SessionToken | undefined): string {
  const secure = isOverHttps(app.config, header);
  const isAbroad = header('sec-fetch-site') === 'cross-site';
  if (isAbroad && !secure) throw new ForbiddenError(ABROAD);
  return setCookie(nameOf(app.config, secure), given?.token ?? '', {
    sameSite: isAbroad ? 'None' : 'Lax',
    secure,
    partitioned: isAbroad,
    maxAge: given === undefined ? 0 : Math.ceil((given.expiresAt.getTime() - app.now().getTime()) / 1000),
  });
}

/** Options with which a request is authenticated. */
interface Way {
  readonly client?: string | undefined;
  /** Whether the Authorization header can be "Bearer <api key>". "Basic" is always accepted. */
  readonly allowBearer?: boolean;
  /**
   * The response. If the session token is renewed, a Set-Cookie header of this response stores the new token in the browser.
   * Absent if no cookie can be set.
   */
  readonly answer?: { appendHeader(name: string, value: string): unknown } | undefined;
}

/**
 * Authenticates an HTTP request by its Authorization header, else by its session cookie.
 *
 * @throws UnauthorizedError if the credentials cannot be parsed, or have a scheme that is not accepted here.
 * @throws InvalidApiKeyError if no account of the host's organization has this email address and key.
 * @throws OrganizationDeactivatedError, UserDeactivatedError if the account exists but may not sign in.
 * @throws NonexistentSubdomainError if the host does not belong to this server.
 */
export function signInBy(app: App, origin: Origin, { client, allowBearer = false, answer }: Way): Promise<RequestCtx> {
  const { host, authorization, 'user-agent': userAgent } = origin.headers;
  const renewed = (given: SessionToken) => {
    answer?.appendHeader('set-cookie', sessionCookie(app, headersOf(origin.headers), given));
  };
  const shown = authorization === undefined || authorization === '' ? sessionShownBy(app.config, origin) : undefined;
  const session = shown && { ...shown, ...(answer !== undefined && { renewed }) };
  return signIn(app, { host, userAgent, client, authorization, allowBearer, session });
}

/**
 * Returns the session token in the cookie of a request, with the IP address of the client; undefined if there is no session
 * cookie.
 */
export function sessionShownBy(config: CookieConfig, { headers, socket }: Origin): ShownSession | undefined {
  const token = sessionTokenIn(config, headersOf(headers));
  if (token === undefined) return undefined;
  return { by: { token }, networkAddress: addressOf({ headers, socket }, config.trustedProxies) };
}
