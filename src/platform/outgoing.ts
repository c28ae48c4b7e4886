import { lookup as resolve } from 'node:dns';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import type { Config } from './config.ts';
import { urlOf } from './hosts.ts';

// Requests to URLs that users or administrators have entered. All of them pass the checks of this file.

/** Addresses of this machine and of local networks, and addresses that no server has. */
const LOCAL = new BlockList();
for (const [net, prefix] of [
  ...([
    ['0.0.0.0', 8],
    ['10.0.0.0', 8],
    ['100.64.0.0', 10],
    ['127.0.0.0', 8],
    ['169.254.0.0', 16],
  ] as const),
  ...([
    ['172.16.0.0', 12],
    ['192.0.0.0', 24],
    ['192.0.2.0', 24],
    ['192.88.99.0', 24],
    ['192.168.0.0', 16],
    ['198.18.0.0', 15],
    ['198.51.100.0', 24],
    ['203.0.113.0', 24],
    ['224.0.0.0', 3],
  ] as const),
] as const) {
  LOCAL.addSubnet(net, prefix, 'ipv4');
}
for (const [net, prefix] of [
  ['::', 127],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  // Addresses with an IPv4 address inside, which a router of the local network could translate.
  ['2001::', 32],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const)
  LOCAL.addSubnet(net, prefix, 'ipv6');

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

type Address = Pick<Config, 'host' | 'port' | 'externalHost' | 'externalScheme'>;

/** Returns whether `hostname` is this machine, and the service itself is reachable from this machine only. */
const isDevelopment = (config: Address, hostname: string): boolean =>
  LOOPBACK.has(hostname) && LOOPBACK.has(new URL(urlOf(config, '')).hostname);

function isLocalAddress(address: string): boolean {
  const family = isIP(address);
  return family !== 0 && LOCAL.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

/**
 * Returns an error message if the service must not send requests to a URL, otherwise undefined. Allowed are `https` URLs whose
 * host is not a local address. If only this machine can reach the server, URLs of this machine are allowed too, over `http`.
 *
 * @param isPublic Whether the URL is that of a public web page or image. Then `http` is allowed too, but only the default port
 *   of the scheme: such URLs are entered by every user, who could otherwise search other servers for open ports.
 */
export function objectionToUrl(config: Address, text: string, { isPublic = false } = {}): string | undefined {
  const url = URL.parse(text);
  if (url === null) return 'It is not a URL.';
  if (isDevelopment(config, url.hostname)) return undefined;
  const isAllowed = url.protocol === 'https:' || (isPublic && url.protocol === 'http:');
  if (!isAllowed) return `It must begin with ${isPublic ? 'http:// or ' : ''}https://.`;
  if (isPublic && url.port !== '') return 'It must use the default port.';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const isLocal = isLocalAddress(host) || host === 'localhost' || host.endsWith('.localhost');
  return isLocal ? 'It must not be a local address.' : undefined;
}

/** The response to a request, without its body. */
export interface OutgoingResponse {
  readonly status: number;
  /** Value of the header `Retry-After`. Undefined if there is none. */
  readonly retryAfter: string | undefined;
}

/** Options of `postTo`. */
export interface Posting {
  readonly headers: Record<string, string>;
  readonly body: Buffer;
  /** Ends the request. */
  readonly signal: AbortSignal;
  /** Resolves host names. Default: the resolver of the operating system. Its results are checked. */
  readonly resolver?: typeof resolve;
}

/**
 * Sends a POST request to a URL that a user has entered, and ignores the body of the response. Redirects are not followed. The
 * addresses of the host are checked after they are resolved, so a host name cannot lead to a local address.
 *
 * @throws Error if the URL is refused, or the server does not respond before `signal` aborts.
 */
export async function postTo(config: Address, text: string, { headers, ...rest }: Posting): Promise<OutgoingResponse> {
  const objection = objectionToUrl(config, text);
  if (objection !== undefined) throw new Error(`The URL is refused. ${objection}`);
  const response = await responseTo(config, new URL(text), { method: 'POST', headers, ...rest });
  // Only the status matters, and the body can be endless.
  response.destroy();
  return { status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'] };
}

/** A request to a URL that was checked. */
interface Outgoing {
  readonly method: 'GET' | 'POST';
  readonly headers: Record<string, string>;
  readonly body?: Buffer;
  readonly signal: AbortSignal;
  readonly resolver?: typeof resolve;
}

/**
 * Sends a request and returns the response when its head has arrived. Checks the addresses of the host.
 *
 * @throws Error if an address is local, the connection closes before the response, or `signal` aborts.
 */
function responseTo(config: Address, url: URL, outgoing: Outgoing): Promise<IncomingMessage> {
  const { body, resolver, ...rest } = outgoing;
  const send = url.protocol === 'https:' ? requestHttps : requestHttp;
  const lookup = isDevelopment(config, url.hostname) ? undefined : publicLookup(resolver);
  const options = { ...rest, agent: false, ...(lookup !== undefined && { lookup }) } as const;
  return new Promise((resolvePromise, reject) => {
    // Errors after the head of the response are errors of the response as well.
    const request = send(url, options, resolvePromise).on('error', reject);
    // A connection can close without an error and without a response: after status 101, which changes the protocol.
    request.on('close', () => reject(new Error('The connection was closed before the response')));
    request.end(body);
  });
}

/** Maximum number of redirects that are followed. */
const MAX_REDIRECTS = 3;

/** Options of `getFrom`. */
export interface Fetching {
  /** Value of the header `Accept`. */
  readonly accept: string;
  /** Maximum length of the body in bytes. */
  readonly maxBytes: number;
  /** Whether a longer body is cut. If not, it is an error. Default: false. */
  readonly cutsBody?: boolean;
  /** Returns whether a declared content type is accepted. Default: all are. */
  readonly acceptsType?: (contentType: string) => boolean;
  /** Ends the request, its redirects and the reading of the body. */
  readonly signal: AbortSignal;
  /** Resolves host names. Default: the resolver of the operating system. Its results are checked. */
  readonly resolver?: typeof resolve;
}

/** The response to a GET request. */
export interface Fetched {
  /** URL of the response, after redirects. */
  readonly url: string;
  /** Value of the header `Content-Type`, "" if there is none. */
  readonly contentType: string;
  readonly body: Buffer;
}

/**
 * Reads a public web page or image whose URL a user has entered. Follows at most three redirects. Each URL and all addresses of
 * its host are checked, and the request is sent to an address that was checked. Sends no cookies, credentials or referrer.
 *
 * @throws Error if a URL is refused, the status is not 200, the body is encoded or too long, or `signal` aborts.
 */
export async function getFrom(config: Address, text: string, fetching: Fetching): Promise<Fetched> {
  let url = text;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const response = await get(config, url, fetching);
    const { statusCode = 0, headers } = response;
    if (statusCode >= 300 && statusCode < 400 && headers.location !== undefined) {
      response.destroy();
      const next = URL.parse(headers.location, url);
      if (next === null) throw new Error('The redirect has no valid URL');
      url = next.href;
      continue;
    }
    try {
      return { url, contentType: headers['content-type'] ?? '', body: await bodyOf(response, fetching) };
    } finally {
      response.destroy();
    }
  }
  throw new Error(`The URL has more than ${MAX_REDIRECTS} redirects`);
}

/** Sends a GET request and returns the response when its head has arrived. */
function get(config: Address, text: string, { accept, signal, resolver }: Fetching): Promise<IncomingMessage> {
  const objection = objectionToUrl(config, text, { isPublic: true });
  if (objection !== undefined) throw new Error(`The URL is refused. ${objection}`);
  const url = new URL(text);
  if (!/^https?:$/.test(url.protocol)) throw new Error('The URL is refused. It must begin with http:// or https://.');
  url.username = '';
  url.password = '';
  const headers = { Accept: accept, 'Accept-Encoding': 'identity', 'User-Agent': USER_AGENT };
  return responseTo(config, url, { method: 'GET', headers, signal, ...(resolver !== undefined && { resolver }) });
}

/** Many websites refuse requests without a name that resembles that of a browser. */
const USER_AGENT = 'Mozilla/5.0 (compatible; team-chat-service)';

async function bodyOf(response: IncomingMessage, fetching: Fetching): Promise<Buffer> {
  const { statusCode, headers } = response;
  const { maxBytes, cutsBody = false, acceptsType = () => true } = fetching;
  if (statusCode !== 200) throw new Error(`The server responded with status ${statusCode}`);
  if (!/^(?:identity)?$/i.test(headers['content-encoding'] ?? '')) throw new Error('The body has a content encoding');
  if (!acceptsType(headers['content-type'] ?? '')) throw new Error('The content type is not accepted');
  if (!cutsBody && Number(headers['content-length'] ?? 0) > maxBytes) throw new Error('The body is too long');
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBytes && !cutsBody) throw new Error('The body is too long');
    chunks.push(chunk);
    if (length >= maxBytes && cutsBody) break;
  }
  return Buffer.concat(chunks, Math.min(length, maxBytes));
}

/** Returns a function that resolves host names, and fails if any address of a host is local. */
const publicLookup =
  (resolver: typeof resolve = resolve): LookupFunction =>
  (hostname, options, callback) => {
    resolver(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, '', 0);
      const [first] = found;
      if (first === undefined || found.some(({ address }) => isLocalAddress(address))) {
        return callback(new Error(`The host ${hostname} has a local address`), '', 0);
      }
      if (options.all === true) return callback(null, found);
      return callback(null, first.address, first.family);
    });
  };
