import { NonexistentSubdomainError } from './errors.ts';

/** Where the server is found, as far as it was told. */
interface ServerAddress {
  /** Host and port under which clients reach it; undefined: this machine alone does. */
  readonly externalHost: string | undefined;
  /** Undefined: https, unless the host is this machine. */
  readonly externalScheme?: 'http' | 'https' | undefined;
  readonly port: number;
}

/** Names of the machine itself, at which a server without EXTERNAL_HOST answers. */
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);
const SUBDOMAIN = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Whether `text` may be an organisation's subdomain; "" is the root domain. */
export const isSubdomain = (text: string): boolean => text === '' || SUBDOMAIN.test(text);

/**
 * The subdomain a Host header names; "" for the server's own domain. Ports do not matter: proxies change them.
 *
 * @throws NonexistentSubdomainError when it is no name of this server.
 */
export function subdomainOf({ externalHost }: Pick<ServerAddress, 'externalHost'>, host: string | undefined): string {
  const name = withoutPort(host?.trim().toLowerCase() ?? '');
  const root = withoutPort(externalHost ?? 'localhost');
  if (name === root || (externalHost === undefined && LOOPBACK.has(name))) return '';
  if (!name.endsWith(`.${root}`)) throw new NonexistentSubdomainError(name);
  const subdomain = name.slice(0, -root.length - 1);
  if (!SUBDOMAIN.test(subdomain)) throw new NonexistentSubdomainError();
  return subdomain;
}

/** The host and port at which clients find an organisation. */
export function hostOf({ externalHost, port }: ServerAddress, subdomain: string): string {
  if (externalHost !== undefined) return subdomain === '' ? externalHost : `${subdomain}.${externalHost}`;
  return subdomain === '' ? `127.0.0.1:${port}` : `${subdomain}.localhost:${port}`;
}

/** The domain of an organisation's own addresses, such as its bots'. */
export const domainOf = (
  { externalHost = 'localhost' }: Pick<ServerAddress, 'externalHost'>,
  subdomain: string,
): string => withoutPort(subdomain === '' ? externalHost : `${subdomain}.${externalHost}`);

/** Where clients find an organisation: over TLS, which ends before this server, unless it is this machine or they say. */
export function urlOf(config: ServerAddress, subdomain: string): string {
  const host = hostOf(config, subdomain);
  const local = /^(127\.|\[|([a-z0-9-]+\.)*localhost(:|$))/.test(host);
  return `${config.externalScheme ?? (local ? 'http' : 'https')}://${host}`;
}

/** The name in a Host header, or of an address of ours. */
export const withoutPort = (host: string) => host.replace(/:\d*$/, '').replace(/\.$/, '');
