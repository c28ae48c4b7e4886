import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';

const HEAD_END = '\r\n\r\n';
const TEXT = 0x1;
const CLOSE = 0x8;
const PING = 0x9;
const PONG = 0xa;

/** Handler of one text message. The text is the bytes from `start` to `end`, which are valid only until the handler returns. */
export type OnText = (socket: RawSocket, bytes: Buffer, start: number, end: number) => void;

/**
 * A minimal WebSocket client. It takes little CPU time, so that the processor cores are left to the measured servers. It parses
 * only the lengths of frames, and allocates no memory for received bytes.
 */
export class RawSocket {
  readonly #socket: Socket;
  readonly #onText: OnText;
  #rest: Buffer | undefined;
  #upgraded = false;

  private constructor(socket: Socket, onText: OnText) {
    this.#socket = socket;
    this.#onText = onText;
  }

  /** Opens a WebSocket. Resolves when the server has accepted the upgrade. */
  static connect(port: number, path: string, onText: OnText, host = `127.0.0.1:${port}`): Promise<RawSocket> {
    return new Promise((resolve, reject) => {
      let raw: RawSocket | undefined;
      const socket = connect({
        port,
        host: '127.0.0.1',
        onread: {
          buffer: SHARED,
          callback(length, bytes) {
            raw?.read(Buffer.from(bytes.buffer, bytes.byteOffset, length), resolve);
            return true;
          },
        },
      });
      raw = new RawSocket(socket, onText);
      socket.setNoDelay(true);
      socket.on('error', reject);
      socket.on('close', () => reject(new Error('The socket was closed')));
      socket.write(
        `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
          `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n` +
          `Sec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n`,
      );
    });
  }

  send(text: string): void {
    this.#write(TEXT, Buffer.from(text));
  }

  close(): void {
    this.#socket.destroy();
  }

  read(fresh: Buffer, upgraded: (socket: RawSocket) => void): void {
    let bytes = this.#rest === undefined ? fresh : Buffer.concat([this.#rest, fresh]);
    this.#rest = undefined;
    if (!this.#upgraded) {
      const end = bytes.indexOf(HEAD_END);
      if (end === -1) {
        this.#keep(bytes);
        return;
      }
      if (!bytes.subarray(0, end).includes(' 101 ')) throw new Error(bytes.toString('latin1'));
      this.#upgraded = true;
      bytes = bytes.subarray(end + HEAD_END.length);
      upgraded(this);
    }
    this.#keep(bytes.subarray(this.#frames(bytes)));
  }

  /** Copies the bytes that were not processed, because the next read overwrites the buffer. */
  #keep(bytes: Buffer): void {
    this.#rest = bytes.length === 0 ? undefined : Buffer.from(bytes);
  }

  /** Processes the complete frames in the received bytes. @returns The offset of the first incomplete frame. */
  #frames(bytes: Buffer): number {
    let at = 0;
    for (;;) {
      if (bytes.length < at + 2) return at;
      const opcode = (bytes[at] as number) & 0x0f;
      let length = (bytes[at + 1] as number) & 0x7f;
      let start = at + 2;
      if (length === 126) {
        if (bytes.length < at + 4) return at;
        length = bytes.readUInt16BE(at + 2);
        start = at + 4;
      } else if (length === 127) {
        if (bytes.length < at + 10) return at;
        length = Number(bytes.readBigUInt64BE(at + 2));
        start = at + 10;
      }
      const end = start + length;
      if (bytes.length < end) return at;
      if (opcode === TEXT) this.#onText(this, bytes, start, end);
      else if (opcode === PING) this.#write(PONG, bytes.subarray(start, end));
      else if (opcode === CLOSE) this.close();
      at = end;
    }
  }

  /** Writes a frame. The protocol requires clients to mask the payload. A mask of zeros leaves its bytes unchanged. */
  #write(opcode: number, payload: Buffer): void {
    const short = payload.length < 126;
    const frame = Buffer.alloc((short ? 2 : 4) + 4 + payload.length);
    frame[0] = 0x80 | opcode;
    frame[1] = 0x80 | (short ? payload.length : 126);
    if (!short) frame.writeUInt16BE(payload.length, 2);
    payload.copy(frame, (short ? 2 : 4) + 4);
    this.#socket.write(frame);
  }
}

const SHARED = Buffer.alloc(256 * 1024);
