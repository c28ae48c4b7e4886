import { existsSync, readFileSync, statfsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate as looked } from 'node:timers/promises';
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

/** The folder holds no whole database, or none that can be opened. */
export class DamagedDatabaseError extends Error {
  override name = 'DamagedDatabaseError';
}

/** Our choice: with less than this free, a database that does not open lacks room. One that is new takes 40 MB. */
const ROOM_BYTES = 48 * 2 ** 20;

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

/** What a database that did not open is to its operator. */
function unopened(dataDir: string, cause: unknown): DamagedDatabaseError {
  const { bavail, bsize } = statfsSync(dirname(dataDir));
  if (bavail * bsize > ROOM_BYTES) return damaged(dataDir, 'it does not open', cause);
  return new DamagedDatabaseError(`The database in ${dataDir} does not open: its disk is full. Make room there.`, {
    cause,
  });
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

  /**
   * Opens what is in a folder, or makes it. One process may have a folder open at a time.
   *
   * @throws DamagedDatabaseError when what is there is no whole database. Nothing of it is changed.
   */
  static async open(dataDir: string): Promise<EmbeddedDatabase> {
    const inMemory = dataDir.startsWith('memory://');
    const damage = inMemory ? undefined : damageOf(dataDir);
    if (damage !== undefined) throw damaged(dataDir, damage);
    const database = new EmbeddedDatabase(inMemory ? { dataDir } : { fs: new PrivateFolder(dataDir) });
    try {
      await database.waitReady;
    } catch (error) {
      throw inMemory ? error : unopened(dataDir, error);
    }
    return database;
  }

  /** Of `options`, `rowMode` and `parsers` count, which are all that the ORM's driver asks for. */
  override async query<T>(sql: string, params?: unknown[], options?: QueryOptions): Promise<Results<T>> {
    await this._checkReady();
    return this._runExclusiveTransaction(() => this.#run<T>(sql, params, options));
  }

  override transaction<T>(callback: (tx: Transaction) => Promise<T>): Promise<T> {
    return super.transaction((tx) =>
      callback({ ...tx, query: (sql, params, options) => this.#run(sql, params, options) }),
    );
  }

  #run<T>(sql: string, params: unknown[] = [], options: QueryOptions = {}): Promise<Results<T>> {
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
