import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Config } from '../platform/config.ts';
import { PREFLIGHT_HEADERS } from './cross-site.ts';

/** What a page may send that is no simple request. */
const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
const HEADERS = [
  ...['Authorization', 'Content-Type', 'Idempotency-Key', 'Last-Event-ID', 'X-Requested-With'],
  ...PREFLIGHT_HEADERS,
].join(', ');
/** What a script may read of an answer, besides what it always may. */
const EXPOSED = 'ETag, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id';
/** Our choice, in seconds: browsers ask again at least every two hours. */
const MAX_AGE = '7200';

/** What pages of other origins may ask for. */
const isShared = (url = '') => /^\/(graphql|api\/v1)([/?]|$)/.test(url);

/**
 * Lets pages of the origins in `ALLOWED_ORIGINS` read the answer, with cookies; says nothing to others, which browsers
 * take for a refusal.
 *
 * @returns Whether that was all there was to answer: a browser asked for leave.
 * @see https://fetch.spec.whatwg.org/#http-cors-protocol
 */
export function answersCors({ allowedOrigins }: Config, incoming: IncomingMessage, outgoing: ServerResponse): boolean {
  if (allowedOrigins.size === 0 || !isShared(incoming.url)) return false;
  outgoing.appendHeader('Vary', 'Origin');
  const { origin } = incoming.headers;
  if (origin === undefined || !allowedOrigins.has(origin)) return false;
  outgoing.setHeader('Access-Control-Allow-Origin', origin);
  outgoing.setHeader('Access-Control-Allow-Credentials', 'true');
  if (incoming.method !== 'OPTIONS' || incoming.headers['access-control-request-method'] === undefined) {
    outgoing.setHeader('Access-Control-Expose-Headers', EXPOSED);
    return false;
  }
  outgoing.writeHead(204, {
    'Access-Control-Allow-Methods': METHODS,
    'Access-Control-Allow-Headers': HEADERS,
    'Access-Control-Max-Age': MAX_AGE,
  });
  outgoing.end();
  return true;
}
