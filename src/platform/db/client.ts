import { AsyncLocalStorage } from 'node:async_hooks';
import { join } from 'node:path';
import type { PGlite } from '@electric-sql/pglite';
import { PrismaPg } from '@prisma/adapter-pg';
import type { SqlDriverAdapter, SqlDriverAdapterFactory, SqlQuery, SqlQueryable } from '@prisma/driver-adapter-utils';
import pg from 'pg';
import { PrismaPGlite } from 'pglite-prisma-adapter';
import { type Prisma, PrismaClient } from '../../generated/prisma/client.ts';
import type { Config } from '../config.ts';
import type { FairLimiter } from '../fair-limiter.ts';
import { inStatementSpan } from '../tracing.ts';
import { DiskSpace, TAKE_DISK_SPACE } from './disk-space.ts';
import { copyOf, EmbeddedDatabase, requireRoomFor } from './embedded.ts';
import { lockDataDirectory } from './lock.ts';
import { isOrganizationHeld } from './organization-lock.ts';
import {
  CHANGE_QUEUE,
  fairPermits,
  permitsOf,
  READER_QUEUE,
  readerPermitsOf,
  SINGLE_PERMIT,
  SNAPSHOT_QUEUE,
  snapshotPermitsOf,
} from './permits.ts';
import { type RowReader, rowReader } from './pg-rows.ts';
import { DATABASE_FOLDER, keepPrivate } from './private-files.ts';
import { adapterReader, knowDriver, noteTransactions } from './rows.ts';
import { askedSchema, findSchema, searchPath, UnusableSchemaError } from './schema.ts';
import { POOL_SETTINGS } from './session-settings.ts';
import { Session, withSession } from './sessions.ts';
import { lookAfter } from './upkeep.ts';

/** Database client outside transactions. Inside a transaction, use only its `Tx`. */
export type Db = PrismaClient;
/** Database client inside one transaction. */
export type Tx = Prisma.TransactionClient;

/** An object that runs SQL: the database client, or the client of a transaction. */
export type SqlClient = Pick<Tx, '$queryRaw'>;

/** Runs a statement in a session, and returns its rows. */
export type RunSql = <Row>(sql: string, values?: readonly unknown[]) => Promise<Row[]>;

/** An open database, embedded or PostgreSQL. The service uses one SQL dialect and one migration history for both. */
export interface Database {
  readonly kind: 'embedded' | 'postgresql';
  /**
   * Identity of the files of the embedded database. Files that are restored from a backup have another identity. Null for
   * PostgreSQL, because only its server can access the files.
   */
  readonly copy: string | null;
  /** Returns the name of the database schema that contains the service's tables. Null until the first statement. */
  schema(): string | null;
  readonly db: Db;
  /** Limits the number of connections that write transactions use, in total and per organization. */
  readonly permits: FairLimiter<number>;
  /**
   * Limits the number of connections that snapshots use. A snapshot is a read-only transaction of several statements that reads
   * the state of an organization.
   */
  readonly snapshots: FairLimiter<number>;
  /** Limits the number of connections for reads of events that are older than the in-memory tail of the log. */
  readonly catchUps: FairLimiter<number>;
  /**
   * Runs a script of many statements in one transaction. If a statement fails, the transaction is rolled back, and the promise
   * is rejected.
   *
   * @returns The number of rows that the last statement changed, or returned.
   */
  runScript(sql: string): Promise<number>;
  /**
   * Runs `work` with a session outside the pool and the ORM, without the time limits of the pool. The embedded database has a
   * single session, which all statements use.
   */
  session<T>(work: (run: RunSql) => Promise<T>): Promise<T>;
  /** Registers a callback that runs for each statement that does not go through the ORM. */
  onStatement(callback: (sql: string) => void): void;
  /** Returns the number of connections in use, and the number of statements that wait for a connection. */
  pool(): { readonly used: number; readonly waiting: number };
  /**
   * Registers a callback that runs for each statement that took longer than a second. The callback receives the statement
   * without its values.
   */
  onSlow(callback: (ms: number, statement: string) => void): void;
  /** Registers a callback that runs with the error of each failed statement. */
  onError(callback: (error: unknown) => void): void;
  /** State of the database's disk space. */
  readonly diskSpace: DiskSpace;
  /** Vacuums and analyzes the tables of the embedded database. Does nothing for PostgreSQL, which has autovacuum. */
  lookAfter(): Promise<void>;
  close(): Promise<void>;
}

/**
 * True in the asynchronous context of a transaction. With `guardsTransactions`, a query in this context that does not use the
 * transaction fails, instead of waiting forever for the connection of the embedded database.
 */
const inTransaction = new AsyncLocalStorage<boolean>();

/** Runs `run` and marks its asynchronous context as inside a transaction. */
export function withinTransaction<T>(run: () => Promise<T>): Promise<T> {
  return inTransaction.run(true, run);
}

/**
 * Timeouts, in milliseconds, for connections whose server does not reply. Without these timeouts, the operating system would
 * report a broken connection only after a quarter of an hour. The timeouts are longer than the duration of any statement of the
 * service.
 */
const PATIENCE = { keepAlive: true, connectionTimeoutMillis: 10_000, query_timeout: 20_000 };

/**
 * Client class of the connection pool. The class is cast, because the driver's types require a constructor without parameters.
 */
const SESSIONS = Session as unknown as NonNullable<pg.PoolConfig['Client']>;

/**
 * Maximum number of prepared statements: enough for all statements of the service, and for variants with lists of ids of
 * different lengths. Further statements run unprepared.
 */
const MAX_PREPARED = 500;
const statementNames = new Map<string, string>();

/**
 * Returns the name of a prepared statement, which PostgreSQL plans once per connection. If `MAX_PREPARED` names exist already,
 * returns '' for a new statement, which is then not prepared. Otherwise statements with lists of different lengths would
 * accumulate.
 */
function statementName(sql: string): string {
  const known = statementNames.get(sql);
  if (known !== undefined) return known;
  if (statementNames.size >= MAX_PREPARED) return '';
  const name = `s${statementNames.size}`;
  statementNames.set(sql, name);
  return name;
}

/**
 * Opens PostgreSQL by `config.databaseUrl`, or the embedded database in `config.dataDir` under an exclusive lock.
 *
 * @throws DataDirectoryInUseError if another process has the embedded database open.
 * @throws UnsafeDataDirectoryError if the data directory cannot be protected from other users.
 * @throws ReadOnlyDataDirectoryError if the data directory cannot be written.
 * @throws DamagedDatabaseError if the embedded database cannot be opened.
 * @throws NoRoomForDatabaseError if the disk of the data directory is full.
 */
export async function openDatabase(config: Config): Promise<Database> {
  const { databaseUrl: connectionString } = config;
  if (connectionString !== undefined) {
    const tables = new TablesOf(connectionString);
    const pool = new pg.Pool({
      ...{ connectionString, max: config.databasePoolSize, ...PATIENCE },
      Client: SESSIONS,
      onConnect: (session) => tables.select(session as Session, POOL_SETTINGS),
    });
    // A broken idle connection is replaced when one is needed.
    pool.on('error', () => {});
    const factory = new PrismaPg(pool, { statementNameGenerator: ({ sql }) => statementName(sql) });
    return connect('postgresql', inSchema(oneByOne(factory), pool, tables), {
      config,
      copy: null,
      schema: () => tables.schema ?? null,
      reader: rowReader(pool, statementName),
      // Statements sent in one message are one transaction. After an error the connection is not used again.
      runScript: (sql) =>
        withSession(connectionString, async (session) => {
          await tables.select(session);
          // The result of several statements is a list.
          const results: pg.QueryResult | pg.QueryResult[] = await session.query(sql);
          return [results].flat().at(-1)?.rowCount ?? 0;
        }),
      session: (work) =>
        withSession(connectionString, async (session) => {
          await tables.select(session);
          return work(async <Row>(sql: string, values?: readonly unknown[]) => {
            const { rows } = await session.query(sql, values === undefined ? undefined : [...values]);
            return rows as Row[];
          });
        }),
      lookAfter: async () => {},
      diskSpace: new DiskSpace(() => takeDiskSpace(pool)),
      pool: () => ({ used: pool.totalCount - pool.idleCount, waiting: pool.waitingCount }),
      close: () => pool.end(),
    });
  }
  keepPrivate(config.dataDir);
  const folder = join(config.dataDir, DATABASE_FOLDER);
  requireRoomFor(folder);
  const lock = lockDataDirectory(config.dataDir);
  const pglite = await EmbeddedDatabase.open(folder).catch((error: unknown) => {
    lock.release();
    throw error;
  });
  const factory = new PrismaPGlite(pglite) as unknown as SqlDriverAdapterFactory;
  return connect('embedded', factory, {
    config,
    copy: copyOf(folder),
    schema: () => 'public',
    runScript: (sql) => runOnPglite(pglite, sql),
    session: (work) =>
      work(
        async <Row>(sql: string, values: readonly unknown[] = []) => (await pglite.query<Row>(sql, [...values])).rows,
      ),
    lookAfter: () => lookAfter(pglite),
    diskSpace: new DiskSpace(() => pglite.requireDiskSpace()),
    pool: () => ({ used: 0, waiting: 0 }),
    async close() {
      await pglite.close();
      lock.release();
    },
  });
}

/** Runs `TAKE_DISK_SPACE` with the smallest `work_mem`, so that PostgreSQL sorts the rows on disk. */
async function takeDiskSpace(pool: pg.Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query(`BEGIN; SET LOCAL work_mem = '64kB'; ${TAKE_DISK_SPACE}; COMMIT`);
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  } finally {
    client.release();
  }
}

async function runOnPglite(pglite: PGlite, sql: string): Promise<number> {
  try {
    const last = (await pglite.exec(sql)).at(-1);
    return Math.max(last?.affectedRows ?? 0, last?.rows.length ?? 0);
  } catch (error) {
    await pglite.exec('ROLLBACK').catch(() => {});
    throw error;
  }
}

/** Duration, in milliseconds, above which a statement is logged as slow. */
const SLOW_MS = 1_000;
/** Maximum length of a slow statement in the log, in UTF-16 code units. Longer statements are cut. */
const MAX_SHOWN = 2_000;

function connect(
  kind: Database['kind'],
  factory: SqlDriverAdapterFactory,
  {
    config,
    ...driver
  }: Pick<Database, 'copy' | 'schema' | 'runScript' | 'session' | 'lookAfter' | 'diskSpace' | 'pool' | 'close'> & {
    readonly config: Config;
    /** Reads rows without the ORM. Undefined if all reads go through the ORM's adapter. */
    readonly reader?: RowReader;
  },
): Database {
  const errors: ((error: unknown) => void)[] = [];
  const failed = (error: unknown): never => {
    for (const callback of errors) callback(error);
    throw error;
  };
  let reader = driver.reader && (config.guardsTransactions ? guardedReader(driver.reader) : driver.reader);
  const observe = observing(config.tracing !== undefined, failed);
  if (reader !== undefined) reader = observedReader(reader, observe);
  const found = adapting(factory, (adapter) => {
    observeStatements(adapter, observe);
    noteTransactions(adapter);
    reader ??= adapterReader(adapter);
  });
  const client = new PrismaClient({
    adapter: found,
    log: [
      { emit: 'event', level: 'query' },
      { emit: 'event', level: 'error' },
    ],
  });
  const listeners: ((sql: string) => void)[] = [];
  const slow: ((ms: number, statement: string) => void)[] = [];
  const took = (ms: number, statement: string) => {
    if (ms > SLOW_MS) for (const callback of slow) callback(Math.round(ms), statement.slice(0, MAX_SHOWN));
  };
  client.$on('query', ({ duration, query }) => took(duration, query));
  const db = config.guardsTransactions ? guarded(client) : client;
  knowDriver(db, {
    reader: () => reader,
    onStatement: (sql) => {
      for (const callback of listeners) callback(sql);
    },
    took,
  });
  const poolSize = config.databasePoolSize;
  const isEmbedded = kind === 'embedded';
  return {
    kind,
    copy: driver.copy,
    schema: driver.schema,
    db,
    onStatement: (callback) => void listeners.push(callback),
    onSlow: (callback) => void slow.push(callback),
    onError: (callback) => void errors.push(callback),
    diskSpace: driver.diskSpace,
    permits: fairPermits(permitsOf(poolSize), CHANGE_QUEUE, (organizationId) => isOrganizationHeld(db, organizationId)),
    // Snapshots and reads of the log wait for no locks, so their limiters need no check for held locks.
    snapshots: fairPermits(isEmbedded ? SINGLE_PERMIT : snapshotPermitsOf(poolSize), SNAPSHOT_QUEUE),
    catchUps: fairPermits(isEmbedded ? SINGLE_PERMIT : readerPermitsOf(poolSize), READER_QUEUE),
    runScript: driver.runScript,
    session: driver.session,
    lookAfter: driver.lookAfter,
    pool: driver.pool,
    async close() {
      driver.diskSpace.stop();
      await db.$disconnect();
      await driver.close();
    },
  };
}

/** Runs a statement and observes its errors. */
type Observe = <T>(sql: string, run: () => Promise<T>) => Promise<T>;

/**
 * Returns a function that runs statements and passes their errors to `failed`.
 *
 * @param isTraced Whether spans are exported. If true, each statement of a request is recorded as a span.
 */
const observing = (isTraced: boolean, failed: (error: unknown) => never): Observe =>
  isTraced ? (sql, run) => inStatementSpan(sql, run).catch(failed) : (_sql, run) => run().catch(failed);

/** Observes a connection: its statements, and the start and commit of its transactions. */
function observeStatements(adapter: SqlDriverAdapter, observe: Observe): void {
  running(adapter, (run, { sql }) => observe(sql, run));
  const start = adapter.startTransaction.bind(adapter);
  adapter.startTransaction = async (isolationLevel) => {
    const transaction = await observe('BEGIN', () => start(isolationLevel));
    running(transaction, (run, { sql }) => observe(sql, run));
    const commit = transaction.commit.bind(transaction);
    transaction.commit = () => observe('COMMIT', commit);
    return transaction;
  };
}

const observedReader =
  (read: RowReader, observe: Observe): RowReader =>
  (text, values) =>
    observe(text, () => read<never>(text, values));

/** Methods of the database client that run no statement, or begin a transaction of their own. */
const UNGUARDED: ReadonlySet<PropertyKey> = new Set(['$on', '$connect', '$disconnect', '$transaction', '$extends']);

/**
 * Makes a query inside a transaction fail if it uses the database client, not the client of the transaction. On the embedded
 * database (one connection), such a query waits for the transaction forever. On PostgreSQL, it does not see the transaction's
 * uncommitted rows. For tests only.
 *
 * Checks the call, not the statement: the client batches look-ups, and can run those of a request in the asynchronous context of
 * another request's transaction.
 */
function guarded(client: PrismaClient): PrismaClient {
  const models = new Map<PropertyKey, object>();
  const checked =
    (owner: object, method: (...args: unknown[]) => unknown, called: string) =>
    (...args: unknown[]) => {
      requireNoChange(called);
      return Reflect.apply(method, owner, args);
    };
  const guardedModel = (name: string, model: object): object => {
    const known = models.get(name);
    if (known !== undefined) return known;
    const made = new Proxy(model, {
      get(_, property) {
        const value: unknown = Reflect.get(model, property);
        return typeof value === 'function'
          ? checked(model, value as () => unknown, `${name}.${String(property)}`)
          : value;
      },
    });
    models.set(name, made);
    return made;
  };
  return new Proxy(client, {
    get(_, property) {
      const value: unknown = Reflect.get(client, property);
      if (typeof property === 'symbol' || property.startsWith('_')) return value;
      if (typeof value === 'function') {
        return UNGUARDED.has(property) ? value.bind(client) : checked(client, value as () => unknown, property);
      }
      return typeof value === 'object' && value !== null ? guardedModel(property, value) : value;
    },
  });
}

const guardedReader =
  (read: RowReader): RowReader =>
  async (text, values) => {
    requireNoChange(text);
    return read(text, values);
  };

function requireNoChange(query: string): void {
  if (inTransaction.getStore() !== true) return;
  throw new Error(`A query within a change must use its transaction, not the client: ${query}`);
}

/**
 * Runs the statements of a transaction one after another, as the database does. Reads for one response are started
 * concurrently, and the driver accepts one statement at a time.
 */
const oneByOne = (factory: SqlDriverAdapterFactory) =>
  adapting(factory, (adapter) => {
    const start = adapter.startTransaction.bind(adapter);
    adapter.startTransaction = async (isolationLevel) => {
      const transaction = await start(isolationLevel);
      let last: Promise<unknown> = Promise.resolve();
      running(transaction, (run) => {
        const result = last.then(run);
        last = result.catch(() => {});
        return result;
      });
      return transaction;
    };
  });

/** The schema of the service's tables, which the first session finds. */
class TablesOf {
  readonly #asked: string | undefined;
  #schema: string | undefined;

  constructor(connectionString: string) {
    this.#asked = askedSchema(connectionString);
  }

  /** Name of the schema. Undefined until a session is connected. */
  get schema(): string | undefined {
    return this.#schema;
  }

  /**
   * Applies the service's settings, `settings` and the schema to a session.
   *
   * @throws StandbyError if the server does not accept changes.
   * @throws UnusableSchemaError if there is no schema for the tables.
   */
  async select(session: Session, settings: Readonly<Record<string, string>> = {}): Promise<void> {
    if (this.#schema === undefined) {
      await session.prepare();
      this.#schema = await findSchema(session, this.#asked);
    }
    await session.prepare({ ...settings, search_path: searchPath(this.#schema) });
  }
}

/** Makes the ORM use the schema that `tables` found, because the ORM qualifies the names of tables with a schema. */
const inSchema = (factory: SqlDriverAdapterFactory, pool: pg.Pool, tables: TablesOf) =>
  adapting(factory, async (adapter) => {
    try {
      (await pool.connect()).release();
    } catch (error) {
      // The ORM reports all other connection errors with its first statement.
      if (error instanceof UnusableSchemaError) throw error;
    }
    const { schema: schemaName } = tables;
    if (schemaName === undefined) return;
    const infoOf = adapter.getConnectionInfo?.bind(adapter);
    adapter.getConnectionInfo = () => ({ supportsRelationJoins: false, ...infoOf?.(), schemaName });
  });

/** Wraps a factory of connection pools. The returned factory applies `adapt` to each pool that it makes. */
function adapting(
  factory: SqlDriverAdapterFactory,
  adapt: (adapter: SqlDriverAdapter) => void | Promise<void>,
): SqlDriverAdapterFactory {
  return new Proxy(factory, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (name !== 'connect') return typeof value === 'function' ? value.bind(target) : value;
      return async () => {
        const adapter = await target.connect();
        await adapt(adapter);
        return adapter;
      };
    },
  });
}

/**
 * Replaces the methods by which a connection executes statements. Each call then goes to `around`, whose argument `run`
 * executes the statement.
 */
function running(where: SqlQueryable, around: <T>(run: () => Promise<T>, query: SqlQuery) => Promise<T>): void {
  for (const method of ['queryRaw', 'executeRaw'] as const) {
    const run = where[method].bind(where) as (query: SqlQuery) => Promise<never>;
    where[method] = (query: SqlQuery) => around(() => run(query), query);
  }
}
