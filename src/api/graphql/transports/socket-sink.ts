import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { CloseCode } from 'graphql-ws';
import type { WebSocket } from 'ws';
import type { ReaderEnd } from '../../../events/queue.ts';
import type { EventPiece } from '../../../events/rendering.ts';
import type { StreamSink } from '../../../events/stream.ts';
import { batchWrites } from '../../../platform/batched-writes.ts';
import { FilledResult } from '../execution/reader-results.ts';
import type { Deliveries } from './deliveries.ts';
import { RESTARTING, type SocketExtra, TRY_AGAIN } from './socket-server.ts';
import { isTooMuch } from './subscriptions.ts';

/** Number of unsent bytes above which a stream with a backlog of events stops sending until the client has read some bytes. */
const BACKLOG_BYTES = 512 * 1024;

/** Callbacks that a sink calls when it has sent events, when its stream has ended, and to check the user's backlog. */
export interface Reports {
  sent(): void;
  ended(error?: Error): void;
  /** Whether the total outbound backlog of all the user's clients is too large. */
  userIsOver(): boolean;
}

/** The destination of one event stream on a socket. Writes the `next` messages as encoded WebSocket frames. */
export class SocketSink implements StreamSink {
  readonly #head: Buffer;
  readonly #socket: WebSocket;
  /** The TCP or TLS connection of the WebSocket. */
  readonly #connection: Socket;
  readonly #deliveries: Deliveries;
  readonly #reports: Reports;

  constructor(id: string, { socket, request }: SocketExtra, deliveries: Deliveries, reports: Reports) {
    this.#head = Buffer.from(`{"id":${JSON.stringify(id)},"type":"next","payload":`);
    this.#socket = socket;
    this.#connection = request.socket;
    this.#deliveries = deliveries;
    this.#reports = reports;
  }

  isReady(pieces: readonly EventPiece[]): boolean {
    return this.#deliveries.isReady(pieces);
  }

  prepare(pieces: readonly EventPiece[]): Promise<number> {
    return this.#deliveries.prepare(pieces);
  }

  send(pieces: readonly EventPiece[]): void {
    const socket = this.#socket;
    if (socket.readyState !== socket.OPEN) return;
    // The frames are written to the connection without `socket.send`, which takes two writes and twice the time. They stay in
    // order, because `ws` queues nothing: it does not compress, and writes its own frames immediately and completely.
    batchWrites(this.#connection);
    for (const piece of pieces) this.#connection.write(textFrame(this.#head, this.#deliveries.resultOf(piece)));
    if (isTooMuch(socket.bufferedAmount, this.#reports.userIsOver))
      socket.close(TRY_AGAIN, 'Outbound backlog too large; reconnect and resume');
    this.#reports.sent();
  }

  async writable(): Promise<void> {
    while (this.#socket.readyState === this.#socket.OPEN && this.#socket.bufferedAmount > BACKLOG_BYTES)
      await sleep(10);
  }

  end(why: ReaderEnd): void {
    if (why === 'revoked') this.#socket.close(CloseCode.Forbidden, 'Forbidden');
    else if (why === 'stopping') this.#socket.close(RESTARTING, 'Service restart');
    else if (why === 'unavailable') this.#socket.close(TRY_AGAIN, 'Try again later');
    this.#reports.ended(why instanceof Error ? why : undefined);
  }
}

/**
 * First byte of a WebSocket frame that contains a complete text message (RFC 6455, section 5.2). Frames from servers are not
 * masked.
 */
const TEXT_FRAME = 0x81;
const CLOSING_BRACE = 0x7d;

/**
 * Returns the WebSocket frame of a `next` message.
 *
 * @param head Start of the message, with the id of the subscription.
 * @param result The execution result, after which only the closing brace of the message follows.
 */
function textFrame(head: Buffer, result: Buffer | FilledResult): Buffer {
  const length = head.length + result.length + 1;
  const start = length < 126 ? 2 : length < 0x10000 ? 4 : 10;
  const frame = Buffer.allocUnsafe(start + length);
  frame[0] = TEXT_FRAME;
  if (start === 2) frame[1] = length;
  else if (start === 4) {
    frame[1] = 126;
    frame.writeUInt16BE(length, 2);
  } else {
    frame[1] = 127;
    frame.writeBigUInt64BE(BigInt(length), 2);
  }
  frame.set(head, start);
  if (result instanceof FilledResult) result.writeTo(frame, start + head.length);
  else frame.set(result, start + head.length);
  frame[frame.length - 1] = CLOSING_BRACE;
  return frame;
}
