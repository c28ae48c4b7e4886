// Counts the SQL statements that a process sends to PostgreSQL.
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

const EXECUTE = 'E'.charCodeAt(0);
const SIMPLE_QUERY = 'Q'.charCodeAt(0);
/** Matches statements that only control transactions or the session. They are counted separately from other statements. */
const CONTROL = /^(begin|commit|rollback|set|discard|deallocate)\b/i;

/** A proxy in front of PostgreSQL that counts SQL statements. Measurements of time do not use it. */
export class CountingProxy implements AsyncDisposable {
  /** URL of the database through the proxy. */
  readonly url: string;
  readonly #close: () => Promise<void>;
  readonly #counts: { statements: number; control: number };

  private constructor(url: string, counts: { statements: number; control: number }, close: () => Promise<void>) {
    this.url = url;
    this.#counts = counts;
    this.#close = close;
  }

  static async open(databaseUrl: string): Promise<CountingProxy> {
    const target = new URL(databaseUrl);
    const counts = { statements: 0, control: 0 };
    const sockets = new Set<Socket>();
    const server = createServer({ noDelay: true }, (client) => {
      const upstream = connect({ port: Number(target.port || 5432), host: target.hostname, noDelay: true });
      for (const socket of [client, upstream]) {
        sockets.add(socket);
        socket.on('error', () => {});
        socket.on('close', () => {
          sockets.delete(socket);
          client.destroy();
          upstream.destroy();
        });
      }
      const count = messageCounter(counts);
      client.on('data', (bytes: Buffer) => {
        count(bytes);
        upstream.write(bytes);
      });
      upstream.on('data', (bytes: Buffer) => client.write(bytes));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = new URL(databaseUrl);
    url.hostname = '127.0.0.1';
    url.port = String((server.address() as AddressInfo).port);
    return new CountingProxy(url.href, counts, async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    });
  }

  /**
   * Returns the number of statements so far. `control` is the number of statements that only control transactions or the
   * session.
   */
  get counts(): { readonly statements: number; readonly control: number } {
    return { ...this.#counts };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }
}

/**
 * Returns a function that parses the bytes of a client: a startup message without a type, then messages with a type and a
 * length.
 */
function messageCounter(counts: { statements: number; control: number }): (bytes: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  let started = false;
  return (fresh) => {
    rest = rest.length === 0 ? fresh : Buffer.concat([rest, fresh]);
    for (;;) {
      const head = started ? 1 : 0;
      if (rest.length < head + 4) return;
      const end = head + rest.readInt32BE(head);
      if (rest.length < end) return;
      if (started) countMessage(rest.subarray(0, end), counts);
      started = true;
      rest = rest.subarray(end);
    }
  };
}

function countMessage(message: Buffer, counts: { statements: number; control: number }): void {
  const [type] = message;
  if (type === EXECUTE) counts.statements++;
  else if (type === SIMPLE_QUERY) {
    if (CONTROL.test(message.toString('utf8', 5, 20).trimStart())) counts.control++;
    else counts.statements++;
  }
}
