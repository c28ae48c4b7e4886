import type { IncomingHttpHeaders } from 'node:http';
import type { App, RequestCtx } from '../access/context.ts';
import type { SessionToken } from '../access/sessions.ts';
import { type ShownSession, signIn } from '../access/sign-in.ts';
import type { Config } from '../platform/config.ts';
import { BadRequestError } from '../platform/errors.ts';
import { urlOf } from '../platform/hosts.ts';
import { addressOf, type Origin } from '../platform/rate-limits.ts';
import { cookieName, readCookie, setCookie } from './cookies.ts';

/** What the cookie of a session hangs on. */
type CookieConfig = Pick<Config, 'port' | 'externalHost' | 'externalScheme' | 'trustedProxies'>;

/** Reads one request header, by its name in lower case. */
export type ReadHeader = (name: string) => string | undefined;

export const headersOf =
  (headers: IncomingHttpHeaders): ReadHeader =>
  (name) =>
    headers[name]?.toString();

/** Whether the browser came over https, as far as the configuration or our own proxies tell. */
export function isOverHttps(config: CookieConfig, header: ReadHeader): boolean {
  if (config.trustedProxies > 0) {
    const scheme = header('x-forwarded-proto')?.split(',').at(-1)?.trim().toLowerCase();
    if (scheme !== undefined) return scheme === 'https';
  }
  return urlOf(config, '').startsWith('https:');
}

/** The prefix has browsers refuse a cookie of this name that was not set over https, or for other hosts as well. */
const nameOf = (config: CookieConfig, isSecure: boolean) =>
  isSecure ? '__Host-chat-session' : cookieName(config, 'session');

/** The token that a browser shows; undefined when it shows none. */
export function sessionTokenIn(config: CookieConfig, header: ReadHeader): string | undefined {
  const token = readCookie(header('cookie'), nameOf(config, isOverHttps(config, header)));
  return token === '' ? undefined : token;
}

const ABROAD =
  'A page of another site is signed in over https alone: browsers keep no cookie for it otherwise. Have it sign in with a ' +
  'key, as a bearer';

/**
 * The Set-Cookie header that gives a browser the token of its session; undefined takes it away. For a page of another site,
 * of an origin that is allowed, browsers send no `SameSite=Lax` cookie: it gets one of its own, which pages of third sites
 * have no part in.
 *
 * @throws BadRequestError for a page of another site over http.
 */
export function sessionCookie(app: App, header: ReadHeader, given: SessionToken | undefined): string {
  const secure = isOverHttps(app.config, header);
  const isAbroad = header('sec-fetch-site') === 'cross-site';
  if (isAbroad && !secure) throw new BadRequestError(ABROAD);
  return setCookie({
    name: nameOf(app.config, secure),
    value: given?.token ?? '',
    sameSite: isAbroad ? 'None' : 'Lax',
    path: '/',
    secure,
    partitioned: isAbroad,
    maxAge: given === undefined ? 0 : Math.ceil((given.expiresAt.getTime() - app.now().getTime()) / 1000),
  });
}

/** How a request is signed in. */
interface Way {
  readonly client?: string | undefined;
  /** Whether "Bearer <api key>" is taken beside Basic. */
  readonly allowBearer?: boolean;
  /** What the answer goes out by: it tells the browser a new token now and then. Absent: nothing can be told. */
  readonly answer?: { appendHeader(name: string, value: string): unknown } | undefined;
}

/**
 * Who sends an HTTP request: by its Authorization header, else by the session that its cookie shows.
 *
 * @throws What `signIn` throws.
 */
export function signInBy(app: App, origin: Origin, { client, allowBearer = false, answer }: Way): Promise<RequestCtx> {
  const { host, authorization, 'user-agent': userAgent } = origin.headers;
  const renewed = (given: SessionToken) => {
    answer?.appendHeader('set-cookie', sessionCookie(app, headersOf(origin.headers), given));
  };
  const shown = sessionShownBy(app.config, origin);
  const session = shown && { ...shown, ...(answer !== undefined && { renewed }) };
  return signIn(app, { host, userAgent, client, authorization, allowBearer, session });
}

/** The session that a request shows by its cookie; undefined when it shows none. */
export function sessionShownBy(config: CookieConfig, { headers, socket }: Origin): ShownSession | undefined {
  const token = sessionTokenIn(config, headersOf(headers));
  if (token === undefined) return undefined;
  return { by: { token }, networkAddress: addressOf({ headers, socket }, config.trustedProxies) };
}
