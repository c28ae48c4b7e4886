import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Config } from '../platform/config.ts';

/** Methods that pages of other origins can use after a preflight request. */
const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
/** Response headers that scripts can read, in addition to the CORS-safelisted ones. */
const EXPOSED = 'ETag, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id';
/** Time in seconds for which a browser can reuse the response to a preflight request: two hours. */
const MAX_AGE = '7200';

/** Returns whether pages of other origins can request a URL. True for URLs of GraphQL and of the REST interface. */
const isShared = (url = '') => /^\/(graphql|api\/v1)([/?]|$)/.test(url);

/**
 * Sets the CORS headers for pages of the origins in `ALLOWED_ORIGINS`, with credentials, and answers preflight requests.
 * Other origins get no CORS headers, which browsers treat as a refusal.
 *
 * An allowed origin can send every header that it asks for in its preflight request. Its pages have the access of the
 * service's own pages, which can send any header too. Libraries add headers of their own, for tracing and client awareness,
 * and a request with one header that is not allowed fails as a whole.
 *
 * @returns Whether the request was a preflight request of an allowed origin. This function has then sent the response.
 * @see https://fetch.spec.whatwg.org/#http-cors-protocol
 */
export function answersCors({ allowedOrigins }: Config, incoming: IncomingMessage, outgoing: ServerResponse): boolean {
  if (!isShared(incoming.url)) return false;
  outgoing.appendHeader('Vary', 'Origin');
  const { origin, 'access-control-request-method': method, 'access-control-request-headers': names } = incoming.headers;
  if (origin === undefined || !allowedOrigins.has(origin)) return false;
  outgoing.setHeader('Access-Control-Allow-Origin', origin);
  outgoing.setHeader('Access-Control-Allow-Credentials', 'true');
  if (incoming.method !== 'OPTIONS' || method === undefined) {
    outgoing.setHeader('Access-Control-Expose-Headers', EXPOSED);
    return false;
  }
  outgoing.writeHead(204, {
    'Access-Control-Allow-Methods': METHODS,
    // The value `*` stands for all headers only in requests without credentials.
    ...(names !== undefined && { 'Access-Control-Allow-Headers': names }),
    'Access-Control-Max-Age': MAX_AGE,
  });
  outgoing.end();
  return true;
}
