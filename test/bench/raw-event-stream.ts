import { connect, type Socket } from 'node:net';

const FRAME = Buffer.from('event: next');
const SHARED = Buffer.alloc(64 * 1024);

/**
 * A minimal client of server-sent events. It takes little CPU time, so that the processor cores are left to the measured
 * servers. It only counts the events.
 */
export class RawEventStream {
  readonly #socket: Socket;
  readonly #onEvents: (count: number) => void;
  /** The last received bytes, which can be the beginning of `FRAME`. */
  #rest = Buffer.alloc(0);

  private constructor(socket: Socket, onEvents: (count: number) => void) {
    this.#socket = socket;
    this.#onEvents = onEvents;
  }

  /** Sends a request whose response is a stream of events. Resolves with the first bytes of the response. */
  static open(port: number, request: Buffer, onEvents: (count: number) => void): Promise<RawEventStream> {
    return new Promise((resolve, reject) => {
      let stream: RawEventStream | undefined;
      const socket = connect({
        ...{ port, host: '127.0.0.1' },
        onread: {
          buffer: SHARED,
          callback(length, bytes) {
            const fresh = Buffer.from(bytes.buffer, bytes.byteOffset, length);
            if (stream === undefined && !fresh.toString('latin1', 0, 12).endsWith('200')) {
              reject(new Error(fresh.toString('utf8')));
              socket.destroy();
              return false;
            }
            stream ??= new RawEventStream(socket, onEvents);
            resolve(stream);
            stream.#read(fresh);
            return true;
          },
        },
      });
      socket.setNoDelay(true);
      socket.on('error', reject);
      socket.on('close', () => reject(new Error('The stream was closed')));
      socket.write(request);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(fresh: Buffer): void {
    const bytes = this.#rest.length === 0 ? fresh : Buffer.concat([this.#rest, fresh]);
    let [count, from] = [0, 0];
    for (let at = bytes.indexOf(FRAME); at !== -1; at = bytes.indexOf(FRAME, from)) {
      count++;
      from = at + FRAME.length;
    }
    if (count > 0) this.#onEvents(count);
    // A copy, because the next read overwrites the buffer.
    this.#rest = Buffer.from(bytes.subarray(Math.max(from, bytes.length - FRAME.length + 1)));
  }
}
