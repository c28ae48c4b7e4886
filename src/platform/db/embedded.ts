import { existsSync, readFileSync, statfsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import {
  messages,
  PGlite,
  parse,
  protocol,
  type QueryOptions,
  type Results,
  type Transaction,
} from '@electric-sql/pglite';
import { NodeFS } from '@electric-sql/pglite/nodefs';
import { freeUnused, memoryLimit } from '../memory.ts';
import { DISK_FULL } from './errors.ts';

const { Parser, serialize } = protocol;
type Message = Awaited<ReturnType<PGlite['execProtocolStream']>>[number];

type Parsers = PGlite['parsers'];
type Start = Parameters<NodeFS['init']>[1];

/**
 * A folder whose files only the user of this process can access. Without this class, every user could write to the files,
 * because the emulated file system sets the mode of each new file explicitly and ignores the umask.
 */
class PrivateFolder extends NodeFS {
  override init(pg: PGlite, start: Start): ReturnType<NodeFS['init']> {
    return super.init(pg, {
      ...start,
      preRun: [
        ...(start.preRun ?? []),
        ({ FS }) => {
          const files = FS as unknown as {
            doChmod: (stream: unknown, node: unknown, mode: number, ...rest: unknown[]) => void;
          };
          const { doChmod } = files;
          files.doChmod = (stream, node, mode, ...rest) => doChmod.call(files, stream, node, mode & ~0o077, ...rest);
        },
      ],
    });
  }
}

/** Type id of byte strings in the database. */
const BYTES = 17;

/** Returns the bytes of a value that the database has sent as text: a backslash, `x` and hexadecimal digits. */
const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text.slice(2), 'hex'));

/** Types of messages, each the first byte of a message: a row, the end of a statement. */
const [ROW, COMPLETE] = ['D', 'C'].map((letter) => letter.charCodeAt(0));
/** Types of messages without content that the results need: a statement was parsed or bound, the database is ready. */
const EMPTY: ReadonlySet<number | undefined> = new Set(['1', '2', 'Z'].map((letter) => letter.charCodeAt(0)));
/** Number of bytes of the type and the length of a message. */
const HEADER_BYTES = 5;

/**
 * Reads the messages of a reply. Rows and the ends of statements, which most replies consist of, are read here: PGlite's parser
 * copies the bytes of each value, and takes three times as long.
 */
function readMessages(reply: Buffer): Message[] {
  const found: Message[] = [];
  for (let at = 0; at < reply.length; ) {
    const type = reply[at];
    // The length includes its own four bytes, but not the type.
    const length = reply.readInt32BE(at + 1);
    const end = at + 1 + length;
    if (type === ROW) found.push(readRow(reply, at + HEADER_BYTES, length));
    else if (type === COMPLETE) found.push(readComplete(reply, at + HEADER_BYTES, length));
    else if (!EMPTY.has(type)) new Parser().parse(reply.subarray(at, end), (message) => void found.push(message));
    at = end;
  }
  return found;
}

function readRow(reply: Buffer, start: number, length: number): Message {
  const fields = new Array<string | null>(reply.readInt16BE(start));
  let at = start + 2;
  for (let i = 0; i < fields.length; i++) {
    const bytes = reply.readInt32BE(at);
    at += 4;
    fields[i] = bytes === -1 ? null : reply.toString('utf8', at, at + bytes);
    if (bytes > 0) at += bytes;
  }
  return new messages.DataRowMessage(length, fields);
}

const readComplete = (reply: Buffer, start: number, length: number): Message =>
  new messages.CommandCompleteMessage(length, reply.toString('utf8', start, reply.indexOf(0, start)));

interface Prepared {
  readonly name: string;
  /** Types of the statement's parameters, as type ids of the database. */
  readonly parameterTypes: readonly number[];
  /** Description of the rows that the statement returns. Empty if it returns no rows. */
  readonly rows: readonly Message[];
}

/**
 * Maximum number of prepared statements: enough for all statements of the service, and for variants with lists of ids of
 * different lengths. Further statements are used only once.
 */
const MAX_PREPARED = 500;

/** Time, in milliseconds, for which statements run one after another before the process yields to the event loop. */
const UNINTERRUPTED_MS = 5;

/**
 * Size of the database's own page cache. Most of the default 128 MB would stay empty for the data of an embedded database, and
 * the operating system caches the files as well.
 */
const SHARED_BUFFERS = '16MB';

/**
 * Memory, in bytes, below which V8's optimizing compiler is not used for the WebAssembly code of the database. Soon after the
 * start, optimizing a single function takes 600 MB for a second, which kills a process in a container of 1 GB. Without the
 * optimizing compiler, a request takes 15 to 40 % more CPU time.
 */
const MUCH_MEMORY_BYTES = 2 * 2 ** 30;
const BASELINE_COMPILER = ['--liftoff-only', '--no-wasm-tier-up', '--no-wasm-dynamic-tiering'];

/** Thrown if the database in a folder is incomplete or cannot be opened. */
export class DamagedDatabaseError extends Error {
  override name = 'DamagedDatabaseError';
}

/**
 * Free disk space, in bytes, below which an open database becomes read-only, and a closed database is not opened. The database
 * writes its write-ahead log in files of 16 MB. If there is no space for the next file, the database and this process block
 * forever.
 */
const ROOM_BYTES = 32 * 2 ** 20;
/** Additional free disk space, in bytes, that is required to create a database. */
const NEW_BYTES = 48 * 2 ** 20;
/**
 * Minimum interval between two checks of the disk space, in milliseconds. The database cannot fill `ROOM_BYTES` within this
 * time.
 */
const LOOK_MS = 200;
/** SQLSTATE of a statement that writes to a read-only database. */
const READ_ONLY = '25006';

/** Returns a description of the damage to a database folder. Undefined if the folder looks complete, or does not exist. */
function damageOf(dataDir: string): string | undefined {
  const version = join(dataDir, 'PG_VERSION');
  const control = join(dataDir, 'global', 'pg_control');
  // Without `PG_VERSION`, PGlite would create a new database over the existing one.
  if (!existsSync(version)) return existsSync(control) ? `${version} is missing` : undefined;
  if (!/^\d+\s*$/.test(readFileSync(version, 'utf8'))) return `${version} does not contain a version`;
  return existsSync(control) ? undefined : `${control} is missing`;
}

function damaged(dataDir: string, why: string, cause?: unknown): DamagedDatabaseError {
  return new DamagedDatabaseError(
    `The database in ${dataDir} is damaged (${why}). Restore ${dirname(dataDir)} from a backup. ` +
      `If the database never contained data, remove ${dataDir}.`,
    { cause },
  );
}

/**
 * Returns the identity of a database copy in a folder: inode number and creation time of its oldest file. Neither alone would
 * distinguish two copies: inode numbers are reused, and not every file system stores creation times.
 */
export function copyOf(dataDir: string): string {
  const { ino, birthtimeNs } = statSync(join(dataDir, 'PG_VERSION'), { bigint: true });
  return `${ino}/${birthtimeNs}`;
}

/** Thrown if the disk has no space for the database. */
export class NoRoomForDatabaseError extends Error {
  override name = 'NoRoomForDatabaseError';
  readonly code = DISK_FULL;
}

function freeBytes(dataDir: string): number {
  const { blocks, bavail, bsize } = statfsSync(existsSync(dataDir) ? dataDir : dirname(dataDir));
  // Some file systems report no size.
  return blocks === 0 ? Number.POSITIVE_INFINITY : bavail * bsize;
}

/**
 * Checks that the disk has space to open or create a database in a folder. @throws NoRoomForDatabaseError if it has too little.
 */
export function requireRoomFor(dataDir: string): void {
  const needed = existsSync(join(dataDir, 'PG_VERSION')) ? ROOM_BYTES : ROOM_BYTES + NEW_BYTES;
  const free = freeBytes(dataDir);
  if (free >= needed) return;
  const [has, needs] = [free, needed].map((bytes) => Math.floor(bytes / 2 ** 20));
  throw new NoRoomForDatabaseError(
    `The disk of ${dataDir} is full: ${has} MB are free, and the database needs ${needs} MB. Free some disk space.`,
  );
}

/**
 * The embedded database, with prepared statements: each statement is parsed and planned only once.
 *
 * The inherited `query` would parse, plan and describe each statement again, in six calls. For most statements of the service,
 * these six calls are more work than the execution. With prepared statements, the registration of an event queue takes half the
 * time.
 *
 * Prepared statements exist until the database is closed, so the columns of their results must not change. Therefore tables are
 * migrated before the first of these statements is sent.
 */
export class EmbeddedDatabase extends PGlite {
  readonly #prepared = new Map<string, Prepared>();
  /**
   * PGlite's parsers merged with the parsers that a caller passes. The key is the object with the caller's parsers, which is
   * the same object in each call.
   */
  readonly #parsers = new WeakMap<object, Parsers>();
  #yieldedAt = 0;
  /** Folder of the database. Undefined for a database in memory. */
  #folder: string | undefined;
  #spaceCheckedAt = 0;
  #isReadOnly = false;

  /**
   * Opens the database in a folder, or creates it if the folder contains no database. Only one process at a time may have a
   * folder open.
   *
   * @throws DamagedDatabaseError if the folder contains an incomplete database, which is then not changed, or if the database
   *   cannot be opened.
   */
  static async open(dataDir: string): Promise<EmbeddedDatabase> {
    const inMemory = dataDir.startsWith('memory://');
    const damage = inMemory ? undefined : damageOf(dataDir);
    if (damage !== undefined) throw damaged(dataDir, damage);
    if (memoryLimit() < MUCH_MEMORY_BYTES) for (const flag of BASELINE_COMPILER) setFlagsFromString(flag);
    const isNew = !inMemory && !existsSync(join(dataDir, 'PG_VERSION'));
    const database = new EmbeddedDatabase({
      ...(inMemory ? { dataDir } : { fs: new PrivateFolder(dataDir) }),
      startParams: [...PGlite.defaultStartParams, '-c', `shared_buffers=${SHARED_BUFFERS}`],
    });
    if (!inMemory) database.#folder = dataDir;
    try {
      await database.waitReady;
    } catch (error) {
      throw inMemory ? error : damaged(dataDir, 'it cannot be opened', error);
    }
    // PGlite has created the new database in the memory of a second instance and copied it. This frees the 350 MB of that
    // instance.
    if (isNew) freeUnused();
    return database;
  }

  /** Runs one statement. Supports only `rowMode` and `parsers` of `options`: the ORM's driver uses no other options. */
  override async query<T>(sql: string, params?: unknown[], options?: QueryOptions): Promise<Results<T>> {
    await this._checkReady();
    await this.#keepRoom();
    return this._runExclusiveTransaction(() => this.#run<T>(sql, params, options));
  }

  override async transaction<T>(callback: (tx: Transaction) => Promise<T>): Promise<T> {
    await this._checkReady();
    await this.#keepRoom();
    return super.transaction((tx) =>
      callback({ ...tx, query: (sql, params, options) => this.#run(sql, params, options) }),
    );
  }

  /** Checks the disk space. @throws NoRoomForDatabaseError if the database is read-only for lack of disk space. */
  async requireDiskSpace(): Promise<void> {
    this.#spaceCheckedAt = 0;
    await this.#keepRoom();
    if (this.#isReadOnly) throw new NoRoomForDatabaseError('The disk of the embedded database is full');
  }

  /** Makes the database read-only while disk space is low, and writable again after that. */
  async #keepRoom(): Promise<void> {
    const now = performance.now();
    if (this.#folder === undefined || now - this.#spaceCheckedAt < LOOK_MS) return;
    this.#spaceCheckedAt = now;
    const isReadOnly = freeBytes(this.#folder) < ROOM_BYTES;
    if (isReadOnly === this.#isReadOnly) return;
    this.#isReadOnly = true;
    const setting = `SET default_transaction_read_only = ${isReadOnly ? 'on' : 'off'}`;
    // Waits for transactions in progress. `#isReadOnly` is true until then, because their writes can still be refused.
    await this._runExclusiveTransaction(() => this.#run(setting));
    this.#isReadOnly = isReadOnly;
  }

  async #run<T>(sql: string, params: unknown[] = [], options: QueryOptions = {}): Promise<Results<T>> {
    try {
      return await this.#execute<T>(sql, params, options);
    } catch (error) {
      if (this.#isReadOnly && (error as { code?: unknown }).code === READ_ONLY) {
        Object.assign(error as object, { code: DISK_FULL, message: 'The disk of the embedded database is full' });
      }
      throw error;
    }
  }

  #execute<T>(sql: string, params: unknown[], options: QueryOptions): Promise<Results<T>> {
    return this.runExclusive(async () => {
      await this.#yieldToEventLoop();
      const statement = this.#prepared.get(sql) ?? (await this.#prepare(sql));
      const values = params.map((value, i) => this.#serialized(value, statement.parameterTypes[i] ?? 0));
      const replies = await this.#send([
        serialize.bind({ statement: statement.name, values }),
        serialize.execute({}),
        serialize.sync(),
      ]);
      const { parsers, rowMode } = options;
      const [result] = parse.parseResults([...statement.rows, ...replies], this.#parsersWith(parsers), {
        ...(rowMode !== undefined && { rowMode }),
      });
      return result as Results<T>;
    });
  }

  /**
   * Yields to the event loop if statements have run for `UNINTERRUPTED_MS`. Statements run in this process, and each starts
   * immediately after the previous one. Under load they would run for seconds, and the process would not read from its
   * connections.
   */
  async #yieldToEventLoop(): Promise<void> {
    if (performance.now() - this.#yieldedAt < UNINTERRUPTED_MS) return;
    await nextIteration();
    this.#yieldedAt = performance.now();
  }

  /**
   * Returns PGlite's parsers merged with `own`, as a cached object. If PGlite merged the parsers, it would copy all of them for
   * each result, which is more work than parsing most results.
   */
  #parsersWith(own: QueryOptions['parsers']): Parsers {
    if (own === undefined) return this.parsers;
    const known = this.#parsers.get(own);
    if (known !== undefined) return known;
    const all = { ...this.parsers, ...own, [BYTES]: bytesOf };
    this.#parsers.set(own, all);
    return all;
  }

  /** Returns a parameter in the form in which it is sent: bytes unchanged, other values as text. */
  #serialized(value: unknown, type: number): string | Uint8Array<ArrayBuffer> | null {
    if (value == null) return null;
    if (type === BYTES && value instanceof Uint8Array) return value as Uint8Array<ArrayBuffer>;
    return this.serializers[type]?.(value) ?? String(value);
  }

  /** Prepares a statement. If `MAX_PREPARED` statements exist already, the new statement has no name and is used only once. */
  async #prepare(sql: string): Promise<Prepared> {
    const isKept = this.#prepared.size < MAX_PREPARED;
    const name = isKept ? `s${this.#prepared.size}` : '';
    const replies = await this.#send([
      serialize.parse({ name, text: sql }),
      serialize.describe({ type: 'S', name }),
      serialize.sync(),
    ]);
    const parameters = replies.find((message) => message instanceof messages.ParameterDescriptionMessage);
    const statement: Prepared = {
      name,
      parameterTypes: parameters?.dataTypeIDs ?? [],
      rows: replies.filter((message) => message instanceof messages.RowDescriptionMessage),
    };
    if (isKept) this.#prepared.set(sql, statement);
    return statement;
  }

  /** Sends several protocol messages in one call. @throws DatabaseError if one of them fails. */
  async #send(parts: readonly Uint8Array[]): Promise<Message[]> {
    const chunks: Buffer[] = [];
    // The chunks are views of the database's memory, so they are copied.
    const onRawData = (chunk: Uint8Array) => void chunks.push(Buffer.from(chunk));
    await this.execProtocolRawStream(new Uint8Array(Buffer.concat(parts)), { syncToFs: false, onRawData });
    const [first = Buffer.alloc(0)] = chunks;
    const replies = readMessages(chunks.length > 1 ? Buffer.concat(chunks) : first);
    for (const reply of replies) if (reply instanceof messages.DatabaseError) throw reply;
    return replies;
  }
}
