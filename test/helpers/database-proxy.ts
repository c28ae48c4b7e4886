import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A proxy in front of PostgreSQL that detects commits and can close all connections right after a commit. */
export interface DatabaseProxy extends AsyncDisposable {
  /** Database URL that leads through the proxy. */
  readonly url: string;
  /**
   * Makes the proxy forward the reply to the next commit and then close all connections. New connections are refused until
   * `mend`.
   *
   * @param isReplyLost Whether the proxy closes the connections without forwarding the reply.
   */
  arm(isReplyLost?: boolean): void;
  /** Drops all data in both directions. All connections stay open until `mend`. */
  swallow(): void;
  /** Resumes forwarding. @returns Whether connections were closed because of `arm`. */
  mend(): boolean;
}

/** Tracks the extended protocol messages of a client to find which statement is executed. */
class Statements {
  readonly #texts = new Map<string, string>();
  #portal = '';
  /** SQL of statements that have no completion reply yet. */
  readonly executed: string[] = [];

  /** Records a message of the client. @param body The message without its type and length. */
  note(type: string, body: Buffer): void {
    const texts = body.toString('utf8').split('\0');
    if (type === 'P') this.#texts.set(texts[0] ?? '', texts[1] ?? '');
    else if (type === 'B') this.#portal = this.#texts.get(texts[1] ?? '') ?? '';
    else if (type === 'E') this.executed.push(this.#portal);
    else if (type === 'Q') this.executed.push(texts[0] ?? '');
  }
}

/** Returns a function that splits a byte stream into protocol messages. @param take Called with each complete message. */
function messagesOf(take: (type: string, body: Buffer) => void, { startup }: { startup: boolean }) {
  let rest = Buffer.alloc(0);
  let isStarting = startup;
  return (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes]);
    let at = 0;
    for (;;) {
      const header = isStarting ? 4 : 5;
      if (rest.length < at + header) break;
      const length = rest.readUInt32BE(at + header - 4) + header - 4;
      if (rest.length < at + length) break;
      if (!isStarting) take(String.fromCharCode(rest[at] ?? 0), rest.subarray(at + 5, at + length));
      isStarting = false;
      at += length;
    }
    rest = rest.subarray(at);
  };
}

/**
 * Returns whether the completion of a statement commits a change: at the end of a transaction, or after a write outside one.
 */
const commits = (tag: string, sql: string, wasInTransaction: boolean): boolean =>
  tag.startsWith('COMMIT') ||
  (!wasInTransaction && (/^(INSERT|UPDATE|DELETE)/.test(tag) || sql.includes('write_messages(')));

/** Type of the field of a notice that holds its message. */
const MESSAGE = 'M';

const messageOf = (notice: Buffer): string | undefined =>
  notice
    .toString('utf8')
    .split('\0')
    .find((field) => field.startsWith(MESSAGE))
    ?.slice(1);

/** Starts a proxy. @param noticed Called for each notice from the server, before the completion reply is forwarded. */
export async function startDatabaseProxy(
  databaseUrl: string,
  noticed: (message: string) => void = () => {},
): Promise<DatabaseProxy> {
  const target = new URL(databaseUrl);
  const open = new Set<() => void>();
  let isArmed = false;
  let losesReply = false;
  let isCut = false;
  let isSilent = false;
  const cutAll = () => {
    isCut = true;
    for (const close of open) close();
  };
  const server = createServer((client) => {
    if (isCut) return void client.destroy();
    const upstream = connect(Number(target.port || 5432), target.hostname);
    const close = () => {
      open.delete(close);
      // Data forwarded earlier still arrives. Then the connection closes.
      client.end(() => client.destroy());
      upstream.destroy();
    };
    open.add(close);
    const sockets: Socket[] = [client, upstream];
    for (const socket of sockets) socket.setNoDelay(true).on('error', close).on('close', close);
    const statements = new Statements();
    let inTransaction = false;
    let committed = false;
    const readRequest = messagesOf((type, body) => statements.note(type, body), { startup: true });
    const readReply = messagesOf(
      (type, body) => {
        if (type === 'C') {
          const sql = statements.executed.shift() ?? '';
          committed ||= commits(body.toString('utf8'), sql, inTransaction);
        } else if (type === 'E') statements.executed.length = 0;
        else if (type === 'N') noticed(messageOf(body) ?? '');
        // The transaction state: idle, in a transaction, or in a failed transaction.
        else if (type === 'Z') inTransaction = body.toString('latin1') !== 'I';
      },
      { startup: false },
    );
    client.on('data', (bytes) => {
      if (isSilent) return;
      readRequest(bytes);
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      if (isCut || isSilent) return;
      readReply(bytes);
      const isCommitted = committed && !inTransaction;
      if (!(isCommitted && isArmed && losesReply)) client.write(bytes);
      if (isCommitted) {
        committed = false;
        if (isArmed) cutAll();
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    arm(isReplyLost = false) {
      isArmed = true;
      losesReply = isReplyLost;
    },
    swallow() {
      isSilent = true;
    },
    mend() {
      const wasCut = isCut;
      // Data was dropped on the open connections, so they cannot continue.
      if (isSilent) for (const close of open) close();
      isSilent = false;
      isArmed = false;
      isCut = false;
      return wasCut;
    },
    async [Symbol.asyncDispose]() {
      for (const close of open) close();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
