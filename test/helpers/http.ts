import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';

/** Parsed content of a response. Its shape is checked by the tests, not by the compiler. */
// biome-ignore lint/suspicious/noExplicitAny: see above
export type Json = any;

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface Sent {
  readonly method: string;
  /** Path from the root, with the query string. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | undefined;
  readonly signal?: AbortSignal | undefined;
}

const agent = new Agent({ keepAlive: true });

/** Closes the idle connections to a server. A server that stops would wait a second for further requests on them. */
export function closeIdleConnections(url: string): void {
  const { hostname: host, port } = new URL(url);
  const sockets = agent.freeSockets[agent.getName({ host, port: Number(port) })] ?? [];
  for (const socket of [...sockets]) socket.destroy();
}

/** Codes of errors of a connection that the server has closed. */
const CLOSED: readonly unknown[] = ['ECONNRESET', 'EPIPE'];

/** Sends one request with any Host header. The caller reads the body of the response. */
export async function open(url: string, sent: Sent): Promise<IncomingMessage> {
  for (;;) {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const { method, path, body, signal } = sent;
    // Node sends no Content-Length for the body of a GET or DELETE.
    const headers = { ...sent.headers, ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }) };
    const outgoing = request(url, { method, path, headers, agent, ...(signal !== undefined && { signal }) }, resolve);
    outgoing.on('error', reject);
    outgoing.end(body);
    try {
      return await promise;
    } catch (error) {
      // The server closed the idle connection before it read the request, so the request is sent again.
      if (outgoing.reusedSocket && CLOSED.includes((error as { code?: unknown }).code)) continue;
      throw error;
    }
  }
}

/** Sends one request and reads the whole response. */
export async function send(url: string, sent: Sent): Promise<Reply> {
  const incoming = await open(url, sent);
  const chunks: Buffer[] = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
  return {
    status: incoming.statusCode ?? 0,
    headers: incoming.headers,
    text: Buffer.concat(chunks).toString('utf8'),
  };
}
