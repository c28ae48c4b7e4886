import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
} from 'node:http2';

/** Time without requests, in milliseconds, after which a connection is closed. */
const IDLE_MS = 300_000;
/** Time, in milliseconds, within which requests in progress must end on a connection that is no longer used. */
const DRAIN_MS = 15_000;
/** Maximum length of a response body in bytes. */
const MAX_BODY = 65_536;

/** A request. Its path begins with a slash. */
export interface Http2Request {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Ends the request. */
  readonly signal: AbortSignal;
}

export interface Http2Response {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/**
 * Sends POST requests over HTTP/2 to one server that the operator has configured. All requests share one connection. If the server
 * closes the connection, sends GOAWAY or does not respond in time, the next request opens another one.
 */
export class Http2Client {
  readonly #origin: string;
  #session: ClientHttp2Session | undefined;
  #isClosed = false;

  constructor(origin: string) {
    this.#origin = origin;
  }

  /**
   * Sends a request and reads the response.
   *
   * @throws Error if the connection breaks before the end of the response, if the response is too long, or if `signal` aborts.
   */
  async request({ path, headers, body, signal }: Http2Request): Promise<Http2Response> {
    signal.throwIfAborted();
    if (this.#isClosed) throw new Error('The client is closed');
    const session = this.#connected();
    const { HTTP2_HEADER_METHOD, HTTP2_HEADER_PATH, NGHTTP2_CANCEL } = constants;
    const stream = session.request({ [HTTP2_HEADER_METHOD]: 'POST', [HTTP2_HEADER_PATH]: path, ...headers });
    const abort = () => {
      // The server may have become unreachable without a notice.
      this.#leave(session);
      // Until the connection is established, `close` has no effect.
      if (stream.pending) stream.destroy();
      else stream.close(NGHTTP2_CANCEL);
    };
    signal.addEventListener('abort', abort, { once: true });
    try {
      return await responseOf(stream, body);
    } catch (error) {
      if (signal.aborted) throw new Error('The server did not respond in time');
      throw error;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /** Closes the connection. Requests in progress fail. */
  close(): void {
    this.#isClosed = true;
    this.#session?.destroy();
    this.#session = undefined;
  }

  #connected(): ClientHttp2Session {
    const open = this.#session;
    if (open !== undefined && !open.closed && !open.destroyed) return open;
    const session = connect(this.#origin);
    this.#session = session;
    // Requests in progress fail with the same error.
    session.on('error', () => this.#leave(session));
    session.on('goaway', () => this.#leave(session));
    session.on('close', () => this.#leave(session));
    session.setTimeout(IDLE_MS, () => this.#leave(session));
    session.unref();
    return session;
  }

  /** Sends no more requests on a connection. It is closed once its requests have ended, at the latest after `DRAIN_MS`. */
  #leave(session: ClientHttp2Session): void {
    if (this.#session === session) this.#session = undefined;
    if (session.closed || session.destroyed) return;
    session.close();
    session.setTimeout(DRAIN_MS, () => session.destroy());
  }
}

function responseOf(stream: ClientHttp2Stream, body: string): Promise<Http2Response> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let [status, length] = [0, 0];
    let headers: IncomingHttpHeaders = {};
    stream.on('response', (received) => {
      headers = received;
      status = received[':status'] ?? 0;
    });
    stream.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > MAX_BODY) stream.destroy(new Error('The response is too long'));
      else chunks.push(chunk);
    });
    stream.on('end', () => {
      if (status > 0) resolve({ status, headers, body: Buffer.concat(chunks).toString() });
    });
    stream.on('error', reject);
    // The stream can close without an error and without a response, for example after GOAWAY.
    stream.on('close', () => reject(new Error('The connection was closed before the response')));
    stream.end(body);
  });
}
