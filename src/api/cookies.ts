import { parse, serialize } from 'hono/utils/cookie';
import type { Config } from '../platform/config.ts';
import { urlOf } from '../platform/hosts.ts';

/** A cookie that identifies a browser and is sent only to this server. */
export interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly sameSite: 'Strict' | 'Lax' | 'None';
  readonly path: string;
  /** In seconds. Absent: until the browser is closed. */
  readonly maxAge?: number;
  /** Whether the browser connected over https. */
  readonly secure?: boolean;
  /** Whether the browser stores a separate cookie for each top-level site. */
  readonly partitioned?: boolean;
}

/** The client of an HTTP request, which may be a browser. */
export interface Browser {
  /** Returns a request header by its lower-case name. */
  header(name: string): string | undefined;
  /** @param cookie As returned by `setCookie`. */
  setCookie(cookie: string): void;
}

/**
 * Returns the name of a cookie of the service. It contains the port that clients connect to, because a browser sends
 * cookies to every port of a host. The port is that of EXTERNAL_HOST if set: all nodes use the same name.
 */
export function cookieName(config: Pick<Config, 'port' | 'externalHost' | 'externalScheme'>, purpose: string): string {
  const { port } = new URL(urlOf(config, ''));
  return port === '' ? `chat-${purpose}` : `chat-${purpose}-${port}`;
}

/** Returns the value of a cookie; undefined if the request has none of that name. */
export const readCookie = (header: string | undefined, name: string): string | undefined =>
  header === undefined ? undefined : parse(header, name)[name];

/** Returns the Set-Cookie header of a cookie. Scripts cannot read the cookie, and no other host receives it. */
export const setCookie = ({ name, value, ...options }: Cookie): string =>
  serialize(name, value, { ...options, httpOnly: true });
