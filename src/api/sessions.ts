import type { IncomingHttpHeaders } from 'node:http';
import type { App, RequestCtx } from '../access/context.ts';
import type { SessionToken } from '../access/sessions.ts';
import { type ShownSession, signIn } from '../access/sign-in.ts';
import type { Config } from '../platform/config.ts';
import { BadRequestError } from '../platform/errors.ts';
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

/** Whether the browser connected over https, according to a trusted proxy or else to the configuration. */
export function isOverHttps(config: CookieConfig, header: ReadHeader): boolean {
  if (config.trustedProxies > 0) {
    const scheme = header('x-forwarded-proto')?.split(',').at(-1)?.trim().toLowerCase();
    if (scheme !== undefined) return scheme === 'https';
  }
  return urlOf(config, '').startsWith('https:');
}

/**
 * Returns the name of the session cookie. Over https it has the prefix `__Host-`, with which browsers reject the cookie unless
 * it was set over https and for this host only.
 */
const nameOf = (config: CookieConfig, isSecure: boolean) =>
  isSecure ? '__Host-chat-session' : cookieName(config, 'session');

/**
 * Returns the session token in the cookie of a request; undefined if there is none. A cookie that a previous version named by
 * the port is accepted, so that its sessions survive an upgrade. The next token is stored under the current name.
 */
export function sessionTokenIn(config: CookieConfig, header: ReadHeader): string | undefined {
  const [cookies, isSecure] = [header('cookie'), isOverHttps(config, header)];
  const current = readCookie(cookies, nameOf(config, isSecure));
  const token = isSecure ? current : (current ?? readCookie(cookies, portCookieName(config, 'session')));
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
 * @throws BadRequestError if a page of another site connects over http.
 */
export function sessionCookie(app: App, header: ReadHeader, given: SessionToken | undefined): string {
  const secure = isOverHttps(app.config, header);
  const isAbroad = header('sec-fetch-site') === 'cross-site';
  if (isAbroad && !secure) throw new BadRequestError(ABROAD);
  return setCookie(nameOf(app.config, secure), given?.token ?? '', {
    sameSite: isAbroad ? 'None' : 'Lax',
    secure,
    partitioned: isAbroad,
    maxAge: given === undefined ? 0 : Math.ceil((given.expiresAt.getTime() - app.now().getTime()) / 1000),
  });
}

/** Options for the authentication of a request. */
interface Way {
  readonly client?: string | undefined;
  /** Whether the Authorization header can be "Bearer <api key>". "Basic" is always accepted. */
  readonly allowBearer?: boolean;
  /** The response, whose Set-Cookie header stores a renewed session token in the browser. Absent if no cookie can be set. */
  readonly answer?: { appendHeader(name: string, value: string): unknown } | undefined;
}

/**
 * Authenticates an HTTP request by its Authorization header, else by its session cookie.
 *
 * @throws Every error of `signIn`.
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
