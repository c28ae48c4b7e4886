import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Config } from '../platform/config.ts';
import { PREFLIGHT_HEADERS } from './cross-site.ts';

/** Methods that pages of other origins can use after a preflight request. `HEADERS` are the headers that they can send. */
const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
const HEADERS = [
  ...['Authorization', 'Content-Type', 'Idempotency-Key', 'Last-Event-ID', 'X-Requested-With'],
  ...PREFLIGHT_HEADERS,
].join(', ');
/** Response headers that scripts can read, in addition to the CORS-safelisted ones. */
const EXPOSED = 'ETag, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id';
/** Seconds for which a browser can reuse the response to a preflight request: two hours. */
const MAX_AGE = '7200';

/** Whether pages of other origins can request the URL: GraphQL and the REST interface. */
const isShared = (url = '') => /^\/(graphql|api\/v1)([/?]|$)/.test(url);

/**
 * Sets the CORS headers for pages of the origins in `ALLOWED_ORIGINS`, with credentials, and answers preflight requests.
 * Other origins get no CORS headers, which browsers treat as a refusal.
 *
 * @returns Whether the request was a preflight request, which is now answered.
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
