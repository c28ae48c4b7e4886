import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A proxy before PostgreSQL that knows when something was committed, and can cut everybody off in that moment. */
export interface DatabaseProxy extends AsyncDisposable {
  /** Of the database, by way of the proxy. */
  readonly url: string;
  /**
   * From here on the next commit that is told of is the last thing told: then every connection breaks, and none can be
   * had, until `mend`.
   */
  arm(): void;
  /** From here on nothing is carried any more, though every connection stays open, until `mend`. */
  swallow(): void;
  /** @returns Whether anything was cut off. */
  mend(): boolean;
}

/** What the client has sent of the extended protocol: which statement is executed. */
class Statements {
  readonly #texts = new Map<string, string>();
  #portal = '';
  /** Those whose end has not been told. */
  readonly executed: string[] = [];

  /** @param body Without type and length. */
  note(type: string, body: Buffer): void {
    const texts = body.toString('utf8').split('\0');
    if (type === 'P') this.#texts.set(texts[0] ?? '', texts[1] ?? '');
    else if (type === 'B') this.#portal = this.#texts.get(texts[1] ?? '') ?? '';
    else if (type === 'E') this.executed.push(this.#portal);
    else if (type === 'Q') this.executed.push(texts[0] ?? '');
  }
}

/** Cuts a stream of messages of the protocol into these. */
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

/** Whether the end of a statement is the end of a change: of a transaction, or of a statement that is one by itself. */
const commits = (tag: string, sql: string, wasInTransaction: boolean): boolean =>
  tag.startsWith('COMMIT') ||
  (!wasInTransaction && (/^(INSERT|UPDATE|DELETE)/.test(tag) || sql.includes('send_messages(')));

/** The field of a notice that holds its message. */
const MESSAGE = 'M';

const messageOf = (notice: Buffer): string | undefined =>
  notice
    .toString('utf8')
    .split('\0')
    .find((field) => field.startsWith(MESSAGE))
    ?.slice(1);

/** @param noticed Told of each notice that the server sends, before whoever asked is told that their statement is done. */
export async function startDatabaseProxy(
  databaseUrl: string,
  noticed: (message: string) => void = () => {},
): Promise<DatabaseProxy> {
  const target = new URL(databaseUrl);
  const open = new Set<() => void>();
  let isArmed = false;
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
      // What was told before arrives; then the connection is gone.
      client.end(() => client.destroy());
      upstream.destroy();
    };
    open.add(close);
    const sockets: Socket[] = [client, upstream];
    for (const socket of sockets) socket.setNoDelay(true).on('error', close).on('close', close);
    const statements = new Statements();
    let inTransaction = false;
    let committed = false;
    const hear = messagesOf((type, body) => statements.note(type, body), { startup: true });
    const told = messagesOf(
      (type, body) => {
        if (type === 'C') {
          const sql = statements.executed.shift() ?? '';
          committed ||= commits(body.toString('utf8'), sql, inTransaction);
        } else if (type === 'E') statements.executed.length = 0;
        else if (type === 'N') noticed(messageOf(body) ?? '');
        // The state after it: idle, in a transaction, in one that failed.
        else if (type === 'Z') inTransaction = body.toString('latin1') !== 'I';
      },
      { startup: false },
    );
    client.on('data', (bytes) => {
      if (isSilent) return;
      hear(bytes);
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      if (isCut || isSilent) return;
      told(bytes);
      client.write(bytes);
      if (committed && !inTransaction) {
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
    arm() {
      isArmed = true;
    },
    swallow() {
      isSilent = true;
    },
    mend() {
      const wasCut = isCut;
      // What was swallowed is missing on these.
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
