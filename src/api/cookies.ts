import { parse, serialize } from 'hono/utils/cookie';
import type { Config } from '../platform/config.ts';

/** A cookie that tells a browser from others, to this server alone. */
export interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly sameSite: 'Strict' | 'Lax' | 'None';
  readonly path: string;
  /** Seconds; absent: until the browser is closed. */
  readonly maxAge?: number;
  /** Whether the browser came over https. */
  readonly secure?: boolean;
  /** Whether the browser keeps it for pages of the site alone that is open now. */
  readonly partitioned?: boolean;
}

/** The client at the other end of an HTTP request, which may be a browser. */
export interface Browser {
  /** A request header, by its name in lower case. */
  header(name: string): string | undefined;
  /** @param cookie As `setCookie` makes it. */
  setCookie(cookie: string): void;
}

/** The name of a cookie of ours. The port is in it, because a browser sends cookies to every port of a host. */
export const cookieName = ({ port }: Pick<Config, 'port'>, purpose: string): string => `chat-${purpose}-${port}`;

/** The value of a cookie; undefined when the request has none of that name. */
export const readCookie = (header: string | undefined, name: string): string | undefined =>
  header === undefined ? undefined : parse(header, name)[name];

/** As a Set-Cookie header has it: no script can read it, and no other host gets it. */
export const setCookie = ({ name, value, ...options }: Cookie): string =>
  serialize(name, value, { ...options, httpOnly: true });
