import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export const OPCODES = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export interface FrameOptions {
  readonly opcode?: number;
  /** Whether this is the last frame of a message. Default: true. */
  readonly isLast?: boolean;
  /** Whether the payload is masked, as the protocol requires of clients. Default: true. */
  readonly isMasked?: boolean;
  /** Value of the three reserved bits, from 0 to 7. Default: 0. Other values are invalid, because no extension is in use. */
  readonly reserved?: number;
  /** Length that the head of the frame states. Default: the true length of the payload. */
  readonly claimedLength?: bigint;
  /** Number of bytes in which the head states the length. Default: as few as possible. */
  readonly lengthBytes?: 0 | 2 | 8;
}

/** Encodes a frame as a client sends it. Options can make it invalid. @see RFC 6455, section 5.2 */
export function frame(payload: Buffer, options: FrameOptions = {}): Buffer {
  const { opcode = OPCODES.text, isLast = true, isMasked = true, reserved = 0, claimedLength } = options;
  const length = claimedLength ?? BigInt(payload.length);
  const lengthBytes = options.lengthBytes ?? (length < 126n ? 0 : length < 65_536n ? 2 : 8);
  const head = Buffer.alloc(2 + lengthBytes + (isMasked ? 4 : 0));
  head[0] = (isLast ? 0x80 : 0) | (reserved << 4) | opcode;
  head[1] = (isMasked ? 0x80 : 0) | (lengthBytes === 0 ? Number(length) : lengthBytes === 2 ? 126 : 127);
  if (lengthBytes === 2) head.writeUInt16BE(Number(length & 0xffffn), 2);
  if (lengthBytes === 8) head.writeBigUInt64BE(length & 0xffff_ffff_ffff_ffffn, 2);
  if (!isMasked) return Buffer.concat([head, payload]);
  const mask = Buffer.from([1, 2, 3, 4]);
  mask.copy(head, head.length - 4);
  return Buffer.concat([head, Buffer.from(payload.map((byte, i) => byte ^ (mask[i % 4] as number)))]);
}

/** Close code and reason with which a connection ended. The code is 1006 if it ended without a close frame. */
export interface Ending {
  readonly code: number;
  readonly reason: string;
}

/** A minimal WebSocket client that can send arbitrary bytes. Passes each complete message to a callback. */
export class ByteSocket {
  readonly ended: Promise<Ending>;
  ending: Ending | undefined;
  readonly #socket: Socket;
  readonly #heard: (message: string) => void;
  #unread: Buffer = Buffer.alloc(0);
  #parts: Buffer[] = [];

  private constructor(socket: Socket, rest: Buffer, heard: (message: string) => void) {
    this.#socket = socket;
    this.#heard = heard;
    const { promise, resolve } = Promise.withResolvers<Ending>();
    this.ended = promise;
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.once('close', () => {
      this.ending ??= { code: 1006, reason: '' };
      resolve(this.ending);
    });
    this.#read(rest);
  }

  /** Opens a connection. @throws Error if the server does not accept the upgrade. */
  static async open(url: string, host: string, heard: (message: string) => void): Promise<ByteSocket> {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    const lines = [
      'GET /graphql HTTP/1.1',
      `Host: ${host}`,
      'Upgrade: websocket',
      'Connection: Upgrade',
      `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Protocol: graphql-transport-ws',
    ];
    socket.write(`${lines.join('\r\n')}\r\n\r\n`);
    // If the server closes the connection without an answer, no data arrives. The signal then ends the wait for data.
    const gone = new AbortController();
    socket.on('error', () => {}).once('close', () => gone.abort(new Error('The connection ended')));
    let head = Buffer.alloc(0);
    while (!head.includes('\r\n\r\n')) {
      const [chunk] = (await once(socket, 'data', { signal: gone.signal })) as [Buffer];
      head = Buffer.concat([head, chunk]);
    }
    const end = head.indexOf('\r\n\r\n') + 4;
    if (!head.toString('latin1').startsWith('HTTP/1.1 101')) {
      socket.destroy();
      throw new Error(`No WebSocket: ${head.toString('latin1', 0, 200)}`);
    }
    return new ByteSocket(socket, head.subarray(end), heard);
  }

  get isOpen(): boolean {
    return this.ending === undefined && this.#socket.writable;
  }

  write(bytes: Buffer): void {
    if (this.#socket.writable) this.#socket.write(bytes);
  }

  say(message: object): void {
    this.write(frame(Buffer.from(JSON.stringify(message))));
  }

  stopReading(): void {
    this.#socket.pause();
  }

  cut(): void {
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    this.#unread = this.#unread.length === 0 ? chunk : Buffer.concat([this.#unread, chunk]);
    for (let taken = this.#readFrame(); taken > 0; taken = this.#readFrame())
      this.#unread = this.#unread.subarray(taken);
  }

  /**
   * Reads the first frame from the received bytes that were not read yet. @returns Number of bytes read. 0 if the frame is
   * incomplete.
   */
  #readFrame(): number {
    const bytes = this.#unread;
    if (bytes.length < 2) return 0;
    const short = (bytes[1] as number) & 0x7f;
    const start = short === 126 ? 4 : short === 127 ? 10 : 2;
    if (bytes.length < start) return 0;
    const length = short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
    if (bytes.length < start + length) return 0;
    this.#heardFrame(bytes[0] as number, bytes.subarray(start, start + length));
    return start + length;
  }

  #heardFrame(first: number, payload: Buffer): void {
    const opcode = first & 0x0f;
    if (opcode === OPCODES.ping) this.write(frame(payload, { opcode: OPCODES.pong }));
    else if (opcode === OPCODES.close) {
      const code = payload.length >= 2 ? payload.readUInt16BE(0) : 1005;
      this.ending = { code, reason: payload.toString('utf8', 2) };
      this.#socket.end(frame(payload.subarray(0, 2), { opcode: OPCODES.close }));
    } else if (opcode <= OPCODES.binary) {
      this.#parts.push(Buffer.from(payload));
      if ((first & 0x80) === 0) return;
      const message = Buffer.concat(this.#parts).toString('utf8');
      this.#parts = [];
      this.#heard(message);
    }
  }
}
