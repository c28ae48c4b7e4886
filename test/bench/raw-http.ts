import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/**
 * Handler of one complete answer. The bytes are valid only until the handler returns. The body begins at the offset `bodyAt`.
 */
export type OnAnswer = (bytes: Buffer, bodyAt: number) => void;

const HEAD_END = Buffer.from('\r\n\r\n');
const LENGTHS = [Buffer.from('\r\nContent-Length: '), Buffer.from('\r\ncontent-length: ')];
const LAST_CHUNK = Buffer.from('\r\n0\r\n\r\n');

/**
 * A minimal kept-alive HTTP connection. It takes little CPU time, so that the processor cores are left to the measured servers.
 * Requests are byte strings made in advance. Of an answer, only the length is parsed.
 */
export class RawHttp {
  readonly #socket: Socket;
  /** Received bytes of an answer that is not complete yet. `#length` is their number. */
  #rest: Buffer[] = [];
  #length = 0;
  /** Number of bytes that the answer will have when it is complete, or 1 while that is unknown. */
  #wanted = 1;
  /** Handler of answers. Replaced for each use of the connection. */
  onAnswer: OnAnswer = () => {};

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (bytes: Buffer) => this.#take(bytes));
    socket.on('error', () => {});
  }

  static async connect(port: number): Promise<RawHttp> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return new RawHttp(socket);
  }

  send(request: Buffer): void {
    this.#socket.write(request);
  }

  close(): void {
    this.#socket.destroy();
  }

  /** Sends one request and resolves with its answer. @throws Error if the connection closes first. */
  async ask(request: Buffer): Promise<{ status: number; head: string; body: string }> {
    const { body, ...answer } = await this.askBytes(request);
    return { ...answer, body: body.toString('utf8') };
  }

  /**
   * As `ask`, but returns the body as bytes: for a body that is binary or decoded later. @throws {Error} If the connection
   * closes first.
   */
  askBytes(request: Buffer): Promise<{ status: number; head: string; body: Buffer }> {
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number; head: string; body: Buffer }>();
    const closed = () => reject(new Error('The connection was closed'));
    this.#socket.once('close', closed);
    this.onAnswer = (bytes, bodyAt) => {
      const head = bytes.toString('latin1', 0, bodyAt);
      resolve({ status: Number(head.slice(9, 12)), head, body: Buffer.from(bytes.subarray(bodyAt)) });
    };
    this.send(request);
    return promise.finally(() => this.#socket.off('close', closed));
  }

  #take(fresh: Buffer): void {
    this.#rest.push(fresh);
    this.#length += fresh.length;
    // A long answer arrives in about a hundred chunks. Concatenating after each chunk would take longer than the service needs
    // for the answer.
    if (this.#length < this.#wanted) return;
    let bytes = this.#rest.length === 1 ? fresh : Buffer.concat(this.#rest);
    [this.#rest, this.#length, this.#wanted] = [[], 0, 1];
    while (bytes.length > 0) {
      const end = endOfAnswer(bytes);
      if (end === undefined || end.at > bytes.length) {
        [this.#rest, this.#length, this.#wanted] = [[bytes], bytes.length, end?.at ?? 1];
        return;
      }
      this.onAnswer(bytes.subarray(0, end.at), end.bodyAt);
      bytes = bytes.subarray(end.at);
    }
  }
}

/**
 * Returns the offset at which the first answer ends, which can be after the received bytes. Undefined if it is not known yet.
 */
function endOfAnswer(bytes: Buffer): { at: number; bodyAt: number } | undefined {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd === -1) return undefined;
  const bodyAt = headEnd + HEAD_END.length;
  for (const name of LENGTHS) {
    const at = bytes.subarray(0, bodyAt).indexOf(name);
    if (at === -1) continue;
    let length = 0;
    for (let i = at + name.length; bytes[i] !== 0x0d; i++) length = length * 10 + ((bytes[i] as number) - 0x30);
    return { at: bodyAt + length, bodyAt };
  }
  const lastChunk = bytes.indexOf(LAST_CHUNK, headEnd);
  return lastChunk === -1 ? undefined : { at: lastChunk + LAST_CHUNK.length, bodyAt };
}

interface RequestParts {
  readonly method: string;
  readonly path: string;
  readonly port: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Returns the bytes of an HTTP request. */
export function requestBytes({ method, path, port, headers = {}, body }: RequestParts): Buffer {
  const all: Record<string, string | number> = { Host: `127.0.0.1:${port}`, ...headers };
  if (body !== undefined) all['Content-Length'] = Buffer.byteLength(body);
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`);
}
