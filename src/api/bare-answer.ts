import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

/**
 * Time, in milliseconds, in which a client must read a short response and close the connection. Afterwards, the connection is
 * destroyed.
 */
const LINGER_MS = 2_000;

export const BARE_HEADERS = {
  'Content-Type': 'application/json',
  'Cache-Control': 'private, no-store',
  'X-Content-Type-Options': 'nosniff',
} as const;

/** Returns the value of a Retry-After header: whole seconds, rounded up. The body of the response contains the exact number. */
export const retryAfterHeader = (seconds: number): string => String(Math.max(0, Math.ceil(seconds)));

/** Returns the JSON body of an error response in the format of the REST interface. @param data Further fields of the body. */
export const bareBody = (msg: string, code = 'BAD_REQUEST', data: object = {}): string =>
  JSON.stringify({ result: 'error', msg, code, ...data });

/**
 * Writes an error response in the format of the REST interface to a connection, and closes the connection. Used where Node
 * provides no response object, such as for a WebSocket upgrade or a malformed request. If the client does not close its side
 * within `LINGER_MS`, the connection is destroyed. Otherwise the connection could stay open forever.
 *
 * The last argument contains the error code (default: BAD_REQUEST) and further fields of the body. Its field `retry-after`, in
 * seconds, is also sent as a header.
 */
export function answerBare(
  socket: Duplex,
  status: number,
  msg: string,
  { code, ...data }: { readonly code?: string; readonly 'retry-after'?: number } = {},
): void {
  const body = bareBody(msg, code, data);
  const headers = {
    ...BARE_HEADERS,
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
    ...(data['retry-after'] !== undefined && { 'Retry-After': retryAfterHeader(data['retry-after']) }),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const late = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => clearTimeout(late));
  // If the connection breaks before the client has closed it, the socket is destroyed at once.
  socket.on('error', () => socket.destroy());
  socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n'));
}
