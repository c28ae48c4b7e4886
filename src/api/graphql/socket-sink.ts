import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { CloseCode } from 'graphql-ws';
import type { WebSocket } from 'ws';
import type { ReaderEnd } from '../../events/queue.ts';
import type { EventPiece } from '../../events/rendering.ts';
import type { StreamSink } from '../../events/stream.ts';
import { writeTogether } from '../../platform/write-together.ts';
import type { Deliveries } from './deliveries.ts';
import { RESTARTING, type SocketExtra, TRY_AGAIN } from './socket-server.ts';
import { isTooMuch } from './subscriptions.ts';

/** Our choice: while a backlog goes out, it waits for the client above this. */
const BACKLOG_BYTES = 512 * 1024;

/** What a stream asks and tells its connection. */
export interface Reports {
  sent(): void;
  ended(error?: Error): void;
  /** Whether the user leaves too much unread, over all their clients. */
  userIsOver(): boolean;
}

/** The end of one stream at a socket: writes the frames of its `next` messages. */
export class SocketSink implements StreamSink {
  readonly #head: Buffer;
  readonly #socket: WebSocket;
  /** What the WebSocket runs over. */
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
    // Past `socket.send`, which takes two writes and as much time again for what this does in one. It has nothing queued
    // that could be overtaken: it compresses nothing, and writes its own frames whole and at once.
    writeTogether(this.#connection);
    for (const piece of pieces) this.#connection.write(textFrame(this.#head, this.#deliveries.resultOf(piece)));
    if (isTooMuch(socket.bufferedAmount, this.#reports.userIsOver)) socket.close(TRY_AGAIN, 'Too much unread; resume');
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

/** One whole text message, unmasked as servers send it: RFC 6455, section 5.2. */
const TEXT_FRAME = 0x81;
const CLOSING_BRACE = 0x7d;

/** The frame of a `next` message: a reader's own head, the bytes it shares with others, and the closing brace. */
function textFrame(head: Buffer, result: Buffer): Buffer {
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
  frame.set(result, start + head.length);
  frame[frame.length - 1] = CLOSING_BRACE;
  return frame;
}
