import { generateCookie } from 'hono/cookie';
import { type CookieOptions, parse } from 'hono/utils/cookie';
import type { Config } from '../platform/config.ts';
import { urlOf } from '../platform/hosts.ts';

/** Access to the headers of an HTTP request and to the cookies of its response. The client need not be a browser. */
export interface Browser {
  /** Returns a request header by its lower-case name; undefined if the request does not have it. */
  header(name: string): string | undefined;
  /** Adds a Set-Cookie header to the response. @param cookie Value of the header, as returned by `setCookie`. */
  setCookie(cookie: string): void;
}

/** The configuration that the names of cookies depend on. */
export type CookieNameConfig = Pick<Config, 'port' | 'externalHost' | 'externalScheme' | 'cookieId'>;

/**
 * Returns the name of a cookie of the service. Browsers send a cookie to every port of a host, so the name must differ between
 * services, but not between the nodes of one service.
 *
 * If EXTERNAL_HOST is set, the name contains the port of this host. Otherwise the name contains an id that is stored in the
 * database, because nodes of one service can listen on several ports.
 *
 * @param purpose A word that distinguishes the cookie from other cookies of the service, such as `session`.
 */
export function cookieName(config: CookieNameConfig, purpose: string): string {
  const { externalHost, cookieId } = config;
  if (externalHost !== undefined || cookieId === undefined) return portCookieName(config, purpose);
  return `chat-${purpose}-${cookieId}`;
}

/** Returns a cookie name that contains the port to which clients connect. The name omits the default port of the scheme. */
export function portCookieName(config: CookieNameConfig, purpose: string): string {
  const { port } = new URL(urlOf(config, ''));
  return port === '' ? `chat-${purpose}` : `chat-${purpose}-${port}`;
}

/** Returns the value of a cookie in a Cookie header; undefined if there is no cookie of that name. */
export const readCookie = (header: string | undefined, name: string): string | undefined =>
  header === undefined ? undefined : parse(header, name)[name];

/** Attributes of a cookie. `maxAge` is in seconds; if it is absent, browsers delete the cookie when they are closed. */
type Options = Omit<CookieOptions, 'domain' | 'httpOnly'> & Required<Pick<CookieOptions, 'sameSite'>>;

/** Returns the value of a Set-Cookie header. Scripts cannot read the cookie, and browsers send it to no other host. */
export const setCookie = (name: string, value: string, options: Options): string =>
  generateCookie(name, value, { ...options, httpOnly: true });
