import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

/** Our choice: what a client needs to read a short answer and close. */
const LINGER_MS = 2_000;

export const BARE_HEADERS = {
  'Content-Type': 'application/json',
  'Cache-Control': 'private, no-store',
  'X-Content-Type-Options': 'nosniff',
} as const;

/** The body of a refusal, as REST has it. */
export const bareBody = (msg: string, code = 'BAD_REQUEST', data: object = {}): string =>
  JSON.stringify({ result: 'error', msg, code, ...data });

/**
 * Answers on a bare connection what never becomes a request, and ends it: also when the other end does not, which would
 * otherwise hold it for ever.
 *
 * @param more What the body says besides; `retry-after` goes into the head, too.
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
    ...(data['retry-after'] !== undefined && { 'Retry-After': data['retry-after'] }),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const late = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => clearTimeout(late));
  // A connection that breaks meanwhile is closed all the same.
  socket.on('error', () => socket.destroy());
  socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n'));
}
