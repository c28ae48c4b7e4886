import { parse, serialize } from 'hono/utils/cookie';
import type { Config } from '../platform/config.ts';
import { urlOf } from '../platform/hosts.ts';

/** A cookie that identifies a browser and is sent only to this server. */
export interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly sameSite: 'Strict' | 'Lax' | 'None';
  readonly path: string;
  /** Lifetime in seconds. If absent, the browser deletes the cookie when it is closed. */
  readonly maxAge?: number;
  /** Whether browsers send the cookie only over https. Set if the browser connected over https. */
  readonly secure?: boolean;
  /** Whether the browser stores a separate cookie for each top-level site. */
  readonly partitioned?: boolean;
}

/** The client of an HTTP request, which may be a browser. */
export interface Browser {
  /** Returns a request header by its lower-case name. */
  header(name: string): string | undefined;
  /** Adds a Set-Cookie header to the response. @param cookie Value of the header, as returned by `setCookie`. */
  setCookie(cookie: string): void;
}

/**
 * Returns the name of a cookie of the service. It contains the port that clients connect to, because a browser sends cookies to
 * every port of a host. If EXTERNAL_HOST is set, its port is used, so that all nodes give the cookie one name.
 */
export function cookieName(config: Pick<Config, 'port' | 'externalHost' | 'externalScheme'>, purpose: string): string {
  const { port } = new URL(urlOf(config, ''));
  return port === '' ? `chat-${purpose}` : `chat-${purpose}-${port}`;
}

/** Returns the value of a cookie in a Cookie header; undefined if there is no cookie of that name. */
export const readCookie = (header: string | undefined, name: string): string | undefined =>
  header === undefined ? undefined : parse(header, name)[name];

/** Returns the value of a Set-Cookie header. Scripts cannot read the cookie, and browsers send it to no other host. */
export const setCookie = ({ name, value, ...options }: Cookie): string =>
  serialize(name, value, { ...options, httpOnly: true });
