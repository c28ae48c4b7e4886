import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { Json } from './http.ts';
import type { Visitor } from './person.ts';

/** Close code and reason of a socket. */
export interface Closing {
  readonly code: number;
  readonly reason: string;
}

/** A WebSocket that sends arbitrary messages in any order. Received messages are kept until the test reads them. */
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

  /** Opens a socket. @param headers Additional headers of the handshake. */
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
   * Opens a socket and completes `connection_init` with the visitor's credentials.
   *
   * @param params Additional fields of the payload of `connection_init`.
   */
  static async connected(visitor: Visitor, params: object = {}): Promise<RawSocket> {
    const socket = await RawSocket.open(visitor);
    socket.send({ type: 'connection_init', payload: { authorization: visitor.authorization, ...params } });
    await socket.next('connection_ack');
    return socket;
  }

  /** Sends a message. @param message Objects are sent as JSON, text and bytes unchanged. */
  send(message: object | string | Buffer): void {
    this.#socket.send(typeof message === 'object' && !Buffer.isBuffer(message) ? JSON.stringify(message) : message);
  }

  subscribe(id: string, query: string, variables: object = {}): void {
    this.send({ id, type: 'subscribe', payload: { query, variables } });
  }

  /**
   * Returns the next message, optionally of one type. Earlier messages of other types are dropped.
   *
   * @throws {Error} If the socket closes first.
   */
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

  /** Sends a WebSocket ping. The pong repeats its payload. */
  ping(payload: string): void {
    this.#socket.ping(payload, undefined, () => {});
  }

  /** Resolves when all sent data has left the process, or the socket is closed. */
  async written(): Promise<void> {
    while (this.#socket.bufferedAmount > 0 && this.#socket.readyState === WebSocket.OPEN) await sleep(5);
  }

  /** Stops reading, so that the server's outbound backlog grows. */
  stopReading(): void {
    this.#socket.pause();
  }

  readOn(): void {
    this.#socket.resume();
  }

  /** Closes the connection abruptly, without a closing handshake. */
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
