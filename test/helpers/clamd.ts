import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

/** The EICAR test file, which virus scanners report. In two parts, so that no scanner reports this source. */
export const EICAR = ['X5O!P%@AP[4\\PZX54(P^)7CC)7}$', 'EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*'].join('');
const SIGNATURE = 'Win.Test.EICAR_HDB-1';

/** A server with the protocol of clamd that finds the EICAR test file: `await using` it. */
export interface TestClamd extends AsyncDisposable {
  /** Variables of a service that uses the scanner. */
  readonly env: Readonly<Record<string, string>>;
  /** Lengths of the files that were received completely, in bytes. */
  readonly scanned: readonly number[];
  /**
   * `silent`: commands are received and not answered. `held`: verdicts are sent with `release`. `garbage`: the reply is not a
   * valid reply of clamd.
   */
  state: 'works' | 'silent' | 'held' | 'garbage' | 'disconnects';
  /** Sends the verdicts that are held, and the later ones at once. */
  release(): void;
  /** Returns the number of open connections. */
  connections(): number;
  /** Maximum length of a file, in bytes. */
  maxLength: number;
  /** Whether the reply to a longer file is lost, because the connection is reset. */
  losesReply: boolean;
}

/**
 * Starts a scanner.
 *
 * @param path Path of a Unix socket. Default: a TCP port of this machine.
 */
export async function startClamd(path?: string): Promise<TestClamd> {
  const sockets = new Set<Socket>();
  const scanned: number[] = [];
  const held: (() => void)[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => {});
    let input = Buffer.alloc(0);
    let file: Buffer | undefined;
    const reply = (text: string) => socket.end(`${clamd.state === 'garbage' ? 'hello' : text}\0`);
    socket.on('data', (bytes) => {
      if (clamd.state === 'disconnects') return void socket.destroy();
      if (clamd.state === 'silent') return;
      input = Buffer.concat([input, bytes]);
      if (file === undefined) {
        const end = input.indexOf(0);
        if (end < 0) return;
        const command = input.subarray(0, end).toString();
        input = input.subarray(end + 1);
        if (command === 'zPING') return reply('PONG');
        if (command !== 'zINSTREAM') return reply('UNKNOWN COMMAND');
        file = Buffer.alloc(0);
      }
      while (input.length >= 4) {
        const length = input.readUInt32BE();
        if (length === 0) {
          scanned.push(file.length);
          const verdict = file.includes(EICAR) ? `stream: ${SIGNATURE} FOUND` : 'stream: OK';
          if (clamd.state === 'held') return void held.push(() => reply(verdict));
          return reply(verdict);
        }
        if (input.length < 4 + length) return;
        file = Buffer.concat([file, input.subarray(4, 4 + length)]);
        input = input.subarray(4 + length);
        if (file.length <= clamd.maxLength) continue;
        if (clamd.losesReply) return void socket.resetAndDestroy();
        return reply('INSTREAM size limit exceeded. ERROR');
      }
    });
  });
  if (path === undefined) server.listen(0, '127.0.0.1');
  else server.listen(path);
  await once(server, 'listening');
  const clamd: TestClamd = {
    env: {
      CLAMD_URL: path === undefined ? `tcp://127.0.0.1:${(server.address() as AddressInfo).port}` : `unix:${path}`,
    },
    scanned,
    state: 'works',
    release: () => {
      clamd.state = 'works';
      for (const send of held.splice(0)) send();
    },
    connections: () => sockets.size,
    maxLength: 100 * 1024 * 1024,
    losesReply: false,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
  return clamd;
}
