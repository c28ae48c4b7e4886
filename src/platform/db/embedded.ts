import { existsSync, readFileSync, statfsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate as looked } from 'node:timers/promises';
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

const { serialize } = protocol;
type Message = Awaited<ReturnType<PGlite['execProtocolStream']>>[number];

type Parsers = PGlite['parsers'];
type Start = Parameters<NodeFS['init']>[1];

/**
 * A folder whose files are the user's own. Otherwise every file in it could be written by everybody: the emulated file
 * system sets the mode of each new one explicitly, past the process's umask, and the database believes that it was
 * given the mode that it asked for.
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

/** A statement the database has read. */
interface Prepared {
  readonly name: string;
  /** The types of its parameters, as the database numbers types. */
  readonly parameterTypes: readonly number[];
  /** What its rows look like; empty when it has none. */
  readonly rows: readonly Message[];
}

/** Our choice: all the service's own statements, and some lists of ids of each length. */
const MAX_PREPARED = 500;

/** Our choice, in milliseconds: how long statements follow one another before the process looks at its connections. */
const UNLOOKED_MS = 5;

/**
 * Our choice: most of the 128 MB that it would take from the start stay empty in what an embedded database is for, and what it
 * reads is kept by the operating system already.
 */
const SHARED_BUFFERS = '16MB';

/**
 * Our choice: with less, the database is compiled once and for all. To compile one of its functions anew, for speed, takes 600
 * MB for a second soon after the start, at which a process in a container of 1 GB is killed. A request takes 15 to 40 %
 * more of the processor then.
 */
const MUCH_MEMORY_BYTES = 2 * 2 ** 30;
const BASELINE_COMPILER = ['--liftoff-only', '--no-wasm-tier-up', '--no-wasm-dynamic-tiering'];

/** The folder holds no whole database, or none that can be opened. */
export class DamagedDatabaseError extends Error {
  override name = 'DamagedDatabaseError';
}

/**
 * Our choice: with less than this free, the database is read only, and is not opened. It writes what it does to a journal in
 * pieces of 16 MB, and stands still for ever, and with it the process, where it has no room for the next.
 */
const ROOM_BYTES = 32 * 2 ** 20;
/** What one that is new takes besides. */
const NEW_BYTES = 48 * 2 ** 20;
/** Our choice: how often the disk is looked at. In this time nobody writes as much as is kept free. */
const LOOK_MS = 200;
/** A statement that writes was sent where nothing can be written. */
const READ_ONLY = '25006';

/** Why the database in a folder is not opened; undefined: what is there looks whole, or nothing is there. */
function damageOf(dataDir: string): string | undefined {
  const version = join(dataDir, 'PG_VERSION');
  const control = join(dataDir, 'global', 'pg_control');
  // A new database would be made over the one that is there.
  if (!existsSync(version)) return existsSync(control) ? `${version} is missing` : undefined;
  if (!/^\d+\s*$/.test(readFileSync(version, 'utf8'))) return `${version} does not hold a version`;
  return existsSync(control) ? undefined : `${control} is missing`;
}

function damaged(dataDir: string, why: string, cause?: unknown): DamagedDatabaseError {
  return new DamagedDatabaseError(
    `The database in ${dataDir} is damaged (${why}): put a back-up of ${dirname(dataDir)} in its place, or, if it never held anything, remove ${dataDir}.`,
    { cause },
  );
}

/**
 * Which copy of a database is in a folder: its oldest file, by its number and when it was made. Each alone may be the same of
 * a copy: numbers are given anew, and not every file system knows when.
 */
export function copyOf(dataDir: string): string {
  const { ino, birthtimeNs } = statSync(join(dataDir, 'PG_VERSION'), { bigint: true });
  return `${ino}/${birthtimeNs}`;
}

/** There is no room for the database on its disk. */
export class NoRoomForDatabaseError extends Error {
  override name = 'NoRoomForDatabaseError';
  readonly code = DISK_FULL;
}

function freeBytes(dataDir: string): number {
  const { blocks, bavail, bsize } = statfsSync(existsSync(dataDir) ? dataDir : dirname(dataDir));
  // Some file systems do not tell.
  return blocks === 0 ? Number.POSITIVE_INFINITY : bavail * bsize;
}

/** @throws NoRoomForDatabaseError when a database cannot be opened, or made, in a folder. */
export function requireRoomFor(dataDir: string): void {
  const needed = existsSync(join(dataDir, 'PG_VERSION')) ? ROOM_BYTES : ROOM_BYTES + NEW_BYTES;
  const free = freeBytes(dataDir);
  if (free >= needed) return;
  const [has, needs] = [free, needed].map((bytes) => Math.floor(bytes / 2 ** 20));
  throw new NoRoomForDatabaseError(
    `The disk of ${dataDir} is full: ${has} MB are free, and the database needs ${needs}. Make room there.`,
  );
}

/**
 * The embedded database, which reads and plans each statement once.
 *
 * Its own `query` sends every statement to be read, planned and described anew, in six calls: of most of ours that is
 * more work than to execute them. A registration takes half the time this way.
 *
 * Statements are kept for as long as it is open, so what their rows look like must stay: tables change before the first
 * of them is sent.
 */
export class EmbeddedDatabase extends PGlite {
  readonly #prepared = new Map<string, Prepared>();
  /** With whose own, which are the same objects each time. */
  readonly #parsers = new WeakMap<object, Parsers>();
  #lookedAt = 0;
  /** Undefined for one that is in memory. */
  #folder: string | undefined;
  #roomLookedAt = 0;
  #isReadOnly = false;

  /**
   * Opens what is in a folder, or makes it. One process may have a folder open at a time.
   *
   * @throws DamagedDatabaseError when what is there is no whole database. Nothing of it is changed.
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
      throw inMemory ? error : damaged(dataDir, 'it does not open', error);
    }
    // A new one is made in the memory of another instance, and copied from there: 350 MB that are of no more use.
    if (isNew) freeUnused();
    return database;
  }

  /** Of `options`, `rowMode` and `parsers` count, which are all that the ORM's driver asks for. */
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

  /** @throws NoRoomForDatabaseError where nothing is written for want of room. */
  async requireRoom(): Promise<void> {
    this.#roomLookedAt = 0;
    await this.#keepRoom();
    if (this.#isReadOnly) throw new NoRoomForDatabaseError('The disk of the embedded database is full');
  }

  /** Has nothing written while there is little room, and all again when there is. */
  async #keepRoom(): Promise<void> {
    const now = performance.now();
    if (this.#folder === undefined || now - this.#roomLookedAt < LOOK_MS) return;
    this.#roomLookedAt = now;
    const isReadOnly = freeBytes(this.#folder) < ROOM_BYTES;
    if (isReadOnly === this.#isReadOnly) return;
    this.#isReadOnly = true;
    const setting = `SET default_transaction_read_only = ${isReadOnly ? 'on' : 'off'}`;
    // What was begun while nothing could be written ends before this is run.
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
      await this.#letOthersIn();
      const statement = this.#prepared.get(sql) ?? (await this.#prepare(sql));
      const values = params.map((value, i) => this.#serialized(value, statement.parameterTypes[i] ?? 0));
      const told = await this.#send([
        serialize.bind({ statement: statement.name, values }),
        serialize.execute({}),
        serialize.sync(),
      ]);
      const { parsers, rowMode } = options;
      const [result] = parse.parseResults([...statement.rows, ...told], this.#parsersWith(parsers), {
        ...(rowMode !== undefined && { rowMode }),
      });
      return result as Results<T>;
    });
  }

  /**
   * Statements are executed in this process, and what waits for one goes on at once: while there is work, one would follow
   * the other for seconds, and nothing be read from any connection.
   */
  async #letOthersIn(): Promise<void> {
    if (performance.now() - this.#lookedAt < UNLOOKED_MS) return;
    await looked();
    this.#lookedAt = performance.now();
  }

  /** Given both to choose from, the library copies all of them for each result: more work than most results are. */
  #parsersWith(own: QueryOptions['parsers']): Parsers {
    if (own === undefined) return this.parsers;
    const known = this.#parsers.get(own);
    if (known !== undefined) return known;
    const all = { ...this.parsers, ...own };
    this.#parsers.set(own, all);
    return all;
  }

  #serialized(value: unknown, type: number): string | null {
    if (value == null) return null;
    return this.serializers[type]?.(value) ?? String(value);
  }

  /** Has a statement read. Beyond the most that are kept, under no name: for this once. */
  async #prepare(sql: string): Promise<Prepared> {
    const isKept = this.#prepared.size < MAX_PREPARED;
    const name = isKept ? `s${this.#prepared.size}` : '';
    const told = await this.#send([
      serialize.parse({ name, text: sql }),
      serialize.describe({ type: 'S', name }),
      serialize.sync(),
    ]);
    const parameters = told.find((message) => message instanceof messages.ParameterDescriptionMessage);
    const statement: Prepared = {
      name,
      parameterTypes: parameters?.dataTypeIDs ?? [],
      rows: told.filter((message) => message instanceof messages.RowDescriptionMessage),
    };
    if (isKept) this.#prepared.set(sql, statement);
    return statement;
  }

  /** Several messages of the protocol in one call. @throws DatabaseError when one of them fails. */
  async #send(parts: readonly Uint8Array[]): Promise<Message[]> {
    return this.execProtocolStream(new Uint8Array(Buffer.concat(parts)), { syncToFs: false });
  }
}
