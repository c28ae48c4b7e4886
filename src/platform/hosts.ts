import { isIPv4, isIPv6 } from 'node:net';
import { NonexistentSubdomainError } from './errors.ts';

/** The parts of the configuration that determine the host names and URLs of the server. */
interface ServerAddress {
  /** Address on which the server listens. */
  readonly host?: string;
  /** Host and port that clients use. Undefined: only this machine connects. */
  readonly externalHost: string | undefined;
  /** Scheme that clients use. Undefined: https, or http if the host is this machine. */
  readonly externalScheme?: 'http' | 'https' | undefined;
  readonly port: number;
}

/**
 * Returns the host name by which this machine reaches the server. It is the loopback address on which the server listens, or
 * 127.0.0.1 if it listens on no loopback address.
 */
function loopbackOf(host = ''): string {
  if (host === 'localhost' || (isIPv4(host) && host.startsWith('127.'))) return host;
  // `URL` normalizes long forms of ::1.
  return isIPv6(host) && new URL(`http://[${host}]`).hostname === '[::1]' ? '[::1]' : '127.0.0.1';
}

/** Returns whether only this machine can reach a server that listens on `host`. */
export const isLoopback = (host: string): boolean => host === '127.0.0.1' || loopbackOf(host) !== '127.0.0.1';

/** Host names of this machine. A server without EXTERNAL_HOST answers requests to these names only. */
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);
const SUBDOMAIN = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Returns whether `text` is a valid subdomain of an organization. "" is the root domain. */
export const isSubdomain = (text: string): boolean => text === '' || SUBDOMAIN.test(text);

/**
 * Returns the subdomain of a Host header; "" for the server's own domain. Ports are ignored, because proxies change
 * them.
 *
 * @throws NonexistentSubdomainError if the host is not a name of this server, or its subdomain is not valid.
 */
export function subdomainOf(
  { externalHost, host: listening }: Pick<ServerAddress, 'externalHost' | 'host'>,
  host: string | undefined,
): string {
  const name = withoutPort(host?.trim().toLowerCase() ?? '');
  const root = withoutPort(externalHost ?? 'localhost');
  if (name === root) return '';
  if (externalHost === undefined && (LOOPBACK.has(name) || name === loopbackOf(listening))) return '';
  if (!name.endsWith(`.${root}`)) throw new NonexistentSubdomainError(name);
  const subdomain = name.slice(0, -root.length - 1);
  if (!SUBDOMAIN.test(subdomain)) throw new NonexistentSubdomainError();
  return subdomain;
}

/** Returns the host and port that clients use for an organization. */
export function hostOf({ externalHost, host, port }: ServerAddress, subdomain: string): string {
  if (externalHost !== undefined) return subdomain === '' ? externalHost : `${subdomain}.${externalHost}`;
  return subdomain === '' ? `${loopbackOf(host)}:${port}` : `${subdomain}.localhost:${port}`;
}

/**
 * Returns whether a Host header in lower case is the server's own host with the port that clients use. Without EXTERNAL_HOST,
 * every loopback name with the listening port is such a host.
 */
export function isOwnHost(address: ServerAddress, host: string): boolean {
  if (host === hostOf(address, '')) return true;
  const name = host.replace(/:\d+$/, '');
  return address.externalHost === undefined && LOOPBACK.has(name) && host === `${name}:${address.port}`;
}

/** Returns the domain for email addresses that the service generates in an organization, such as the addresses of bots. */
export const domainOf = (
  { externalHost = 'localhost' }: Pick<ServerAddress, 'externalHost'>,
  subdomain: string,
): string => withoutPort(subdomain === '' ? externalHost : `${subdomain}.${externalHost}`);

/**
 * Returns the base URL of an organization. The scheme is `externalScheme`. If `externalScheme` is undefined, the scheme is http
 * for this machine, and https for other hosts, where a proxy terminates TLS.
 */
export function urlOf(config: ServerAddress, subdomain: string): string {
  const host = hostOf(config, subdomain);
  const local = /^(127\.|\[|([a-z0-9-]+\.)*localhost(:|$))/.test(host);
  return `${config.externalScheme ?? (local ? 'http' : 'https')}://${host}`;
}

/** Removes the port and a final dot from a host name. */
export const withoutPort = (host: string) => host.replace(/:\d*$/, '').replace(/\.$/, '');
