import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';

/** What a server answered, whose shape is what the test is about: checked by the test, not by the compiler. */
// biome-ignore lint/suspicious/noExplicitAny: see above
export type Json = any;

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface Sent {
  readonly method: string;
  /** From the root, with the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | undefined;
  readonly signal?: AbortSignal | undefined;
}

const agent = new Agent({ keepAlive: true });

/** Sends one request, with whatever Host header it has, and leaves the answer's body to be read. */
export async function open(url: string, sent: Sent): Promise<IncomingMessage> {
  for (;;) {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const { method, path, body, signal } = sent;
    // Node itself says no length for a body of a GET or a DELETE.
    const headers = { ...sent.headers, ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }) };
    const outgoing = request(url, { method, path, headers, agent, ...(signal !== undefined && { signal }) }, resolve);
    outgoing.on('error', reject);
    outgoing.end(body);
    try {
      return await promise;
    } catch (error) {
      // The server closed a kept connection just when it was taken: nothing was sent.
      if (outgoing.reusedSocket && (error as { code?: unknown }).code === 'ECONNRESET') continue;
      throw error;
    }
  }
}

/** Sends one request and reads the whole answer. */
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
