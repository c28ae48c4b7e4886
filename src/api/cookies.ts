import { createHmac } from 'node:crypto';
import { generateCookie } from 'hono/cookie';
import { type CookieOptions, parse } from 'hono/utils/cookie';
import type { Config } from '../platform/config.ts';
import { askedDatabase, askedSchema } from '../platform/db/schema.ts';
import { urlOf } from '../platform/hosts.ts';

/** The client of an HTTP request, which may be a browser. */
export interface Browser {
  /** Returns a request header by its lower-case name. */
  header(name: string): string | undefined;
  /** Adds a Set-Cookie header to the response. @param cookie Value of the header, as returned by `setCookie`. */
  setCookie(cookie: string): void;
}

/** The configuration that the names of cookies depend on. */
export type CookieNameConfig = Pick<Config, 'port' | 'externalHost' | 'externalScheme' | 'databaseUrl' | 'secretKey'>;

/**
 * Returns the name of a cookie of the service. Browsers send a cookie to every port of a host, so the name must differ between
 * services, but not between the nodes of one service. It contains the port of EXTERNAL_HOST, if that is set. Otherwise it
 * contains an id of the database, which nodes at several ports can share; or the listening port, if the database is embedded.
 */
export function cookieName(config: CookieNameConfig, purpose: string): string {
  const { externalHost, databaseUrl, secretKey } = config;
  if (externalHost !== undefined || databaseUrl === undefined || secretKey === undefined) {
    return portCookieName(config, purpose);
  }
  return `chat-${purpose}-${databaseId(databaseUrl, secretKey)}`;
}

/** Returns the name of a cookie that contains the port that clients connect to. */
export function portCookieName(config: CookieNameConfig, purpose: string): string {
  const { port } = new URL(urlOf(config, ''));
  return port === '' ? `chat-${purpose}` : `chat-${purpose}-${port}`;
}

/**
 * Returns an id of a database. User, password, host and options are ignored, because nodes can connect in different ways. The
 * id does not reveal the key.
 */
function databaseId(databaseUrl: string, secretKey: string): string {
  const names = ['cookie names', askedDatabase(databaseUrl), askedSchema(databaseUrl)];
  return createHmac('sha256', secretKey).update(JSON.stringify(names)).digest('hex').slice(0, 12);
}

/** Returns the value of a cookie in a Cookie header; undefined if there is no cookie of that name. */
export const readCookie = (header: string | undefined, name: string): string | undefined =>
  header === undefined ? undefined : parse(header, name)[name];

/** Attributes of a cookie. `maxAge` is in seconds; if it is absent, browsers delete the cookie when they are closed. */
type Options = Omit<CookieOptions, 'domain' | 'httpOnly'> & Required<Pick<CookieOptions, 'sameSite'>>;

/** Returns the value of a Set-Cookie header. Scripts cannot read the cookie, and browsers send it to no other host. */
export const setCookie = (name: string, value: string, options: Options): string =>
  generateCookie(name, value, { ...options, httpOnly: true });
