import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { Json } from './http.ts';
import type { Visitor } from './person.ts';

/** Why a socket was closed. */
export interface Closing {
  readonly code: number;
  readonly reason: string;
}

/** A socket that says what the test says, in whatever order, and keeps what it is told until the test asks for it. */
export class RawSocket implements AsyncDisposable {
  readonly closed: Promise<Closing>;
  readonly #socket: WebSocket;
  readonly #messages: Json[] = [];
  #wake = Promise.withResolvers<void>();

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    const closed = Promise.withResolvers<Closing>();
    this.closed = closed.promise;
    socket.on('error', () => {});
    socket.on('message', (data) => {
      this.#messages.push(JSON.parse(String(data)));
      this.#notify();
    });
    socket.on('close', (code, reason) => {
      closed.resolve({ code, reason: String(reason) });
      this.#notify();
    });
  }

  /** @param headers Of the handshake, besides. */
  static async open(
    { url, host }: Visitor,
    protocols: string | string[] = 'graphql-transport-ws',
    headers: Readonly<Record<string, string>> = {},
  ): Promise<RawSocket> {
    const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/graphql`, protocols, { headers: { ...headers, host } });
    const raw = new RawSocket(socket);
    await once(socket, 'open');
    return raw;
  }

  /**
   * A socket the server has acknowledged, with these credentials.
   *
   * @param params Of `connection_init`, besides.
   */
  static async connected(visitor: Visitor, params: object = {}): Promise<RawSocket> {
    const socket = await RawSocket.open(visitor);
    socket.send({ type: 'connection_init', payload: { authorization: visitor.authorization, ...params } });
    await socket.next('connection_ack');
    return socket;
  }

  /** @param message An object goes as JSON text, text and bytes as they are. */
  send(message: object | string | Buffer): void {
    this.#socket.send(typeof message === 'object' && !Buffer.isBuffer(message) ? JSON.stringify(message) : message);
  }

  subscribe(id: string, query: string, variables: object = {}): void {
    this.send({ id, type: 'subscribe', payload: { query, variables } });
  }

  /** The next message of this type, or of any; what comes before it is dropped. */
  async next(type?: string): Promise<Json> {
    for (;;) {
      const message = this.#messages.shift();
      if (message !== undefined && (type === undefined || message.type === type)) return message;
      if (message !== undefined) continue;
      if (this.#socket.readyState === WebSocket.CLOSED) {
        throw new Error(`Expected ${type ?? 'a message'}: ${JSON.stringify(await this.closed)}`);
      }
      await this.#wake.promise;
    }
  }

  /** A ping of WebSocket itself, which its answer repeats. */
  ping(payload: string): void {
    this.#socket.ping(payload, undefined, () => {});
  }

  /** Resolves when what was sent is on its way, or never will be. */
  async written(): Promise<void> {
    while (this.#socket.bufferedAmount > 0 && this.#socket.readyState === WebSocket.OPEN) await sleep(5);
  }

  /** Reads nothing more, so that what is sent piles up on its way. */
  stopReading(): void {
    this.#socket.pause();
  }

  readOn(): void {
    this.#socket.resume();
  }

  /** Breaks the connection, as a network does: nothing is said. */
  cut(): void {
    this.#socket.terminate();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.terminate();
    await this.closed;
  }

  #notify(): void {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }
}
