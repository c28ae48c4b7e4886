import { AsyncLocalStorage } from 'node:async_hooks';
import { join } from 'node:path';
import type { PGlite } from '@electric-sql/pglite';
import { PrismaPg } from '@prisma/adapter-pg';
import type {
  SqlDriverAdapter,
  SqlMigrationAwareDriverAdapterFactory,
  SqlQuery,
  SqlQueryable,
} from '@prisma/driver-adapter-utils';
import pg from 'pg';
import { PrismaPGlite } from 'pglite-prisma-adapter';
import { type Prisma, PrismaClient } from '../../generated/prisma/client.ts';
import type { Config } from '../config.ts';
import { copyOf, EmbeddedDatabase, requireRoomFor } from './embedded.ts';
import { lockDataDirectory } from './lock.ts';
import { isOrganizationHeld } from './organization-lock.ts';
import { type RowReader, rowReader } from './pg-rows.ts';
import { DATABASE_FOLDER, keepPrivate } from './private-files.ts';
import { Room, TAKE_ROOM } from './room.ts';
import { adapterReader, knowDriver, noteTransactions } from './rows.ts';
import { Session, withSession } from './sessions.ts';
import {
  LINE_OF_READERS,
  LINE_OF_SNAPSHOTS,
  ONE_PLACE,
  placesOf,
  placesOfReaders,
  placesOfSnapshots,
  Turns,
} from './turns.ts';
import { lookAfter } from './upkeep.ts';

/** The client outside transactions; inside a change only `Tx` may be used. */
export type Db = PrismaClient;
/** The client inside one transaction. */
export type Tx = Prisma.TransactionClient;

/** Whatever answers SQL: the client, or the transaction of a change. */
export type SqlClient = Pick<Tx, '$queryRaw'>;

/** An open database, embedded or PostgreSQL. Both speak the same dialect and share one migration history. */
export interface Database {
  readonly kind: 'embedded' | 'postgresql';
  /** Which copy of its files it is: another when they were put there anew. Null where its server alone knows them. */
  readonly copy: string | null;
  readonly db: Db;
  /** Whose change gets a connection next. */
  readonly turns: Turns;
  /** Who reads the state at one moment next: for that, too, a connection is held for several statements. */
  readonly snapshots: Turns;
  /** Who reads next what is too far back in the log to be in memory. */
  readonly catchUps: Turns;
  /** For the schema engine, which applies and compares migrations through the same driver. */
  readonly factory: SqlMigrationAwareDriverAdapterFactory;
  /** Runs SQL of many statements in one transaction: all of it, or nothing and an error. */
  runScript(sql: string): Promise<void>;
  /** Has somebody told of each statement that does not go through the ORM. */
  onStatement(heard: (sql: string) => void): void;
  /** How many connections are in use, and how many statements wait for one. */
  pool(): { readonly used: number; readonly waiting: number };
  /** Has somebody told of each statement that took longer than a second, without its values. */
  onSlow(heard: (ms: number, statement: string) => void): void;
  /** Has somebody told of each statement that failed, and with what. */
  onError(heard: (error: unknown) => void): void;
  /** Whether there is any on its disk. */
  readonly room: Room;
  /** Does what keeps its tables in order, where its server does not by itself. */
  lookAfter(): Promise<void>;
  close(): Promise<void>;
}

/** Set while a change runs, so that a query outside its transaction is found instead of hanging. */
const inTransaction = new AsyncLocalStorage<boolean>();

/** Marks everything `run` does as inside a transaction. */
export function withinTransaction<T>(run: () => Promise<T>): Promise<T> {
  return inTransaction.run(true, run);
}

/**
 * A writer that waited for a lock must see what its holder committed: the server's default, but the log depends on it.
 * Who waits too long for a lock is told that the service is busy, before the transaction's own time is up. No
 * statement of ours runs for as long as it takes to compile it.
 *
 * A node that is gone, without its connections having been closed, stops whoever needs what it has locked. Our choice: a
 * transaction is ended when nothing comes of it for 5 s, and a connection when nobody takes what is sent for 10 s. No
 * transaction of ours is left alone for so long: what takes its time is done outside. Who waits for a lock gives up sooner,
 * or transactions of the same node would inherit it one after the other, for 5 s each.
 *
 * Set by a statement: poolers take none of them from who connects.
 */
const SESSION_SETTINGS = `
  SET default_transaction_isolation = 'read committed';
  SET jit = off;
  SET lock_timeout = 4000;
  SET idle_in_transaction_session_timeout = 5000;
  SET tcp_user_timeout = 10000;
  SET tcp_keepalives_idle = 5;
  SET tcp_keepalives_interval = 2;
  SET tcp_keepalives_count = 3`;

/**
 * A connection that has gone silent must not be waited for until the network gives up, a quarter of an hour later. Our
 * choice: longer than any statement of ours takes.
 */
const PATIENCE = { keepAlive: true, connectionTimeoutMillis: 10_000, query_timeout: 20_000 };

/** The driver's types know of no client that is given anything. */
const SESSIONS = Session as unknown as NonNullable<pg.PoolConfig['Client']>;

/** Our choice: all the service's own statements, and some lists of ids of each length. */
const MAX_PREPARED = 500;
const statementNames = new Map<string, string>();

/** PostgreSQL plans a named statement once for each connection. The many that differ only in length stay unnamed. */
function statementName(sql: string): string {
  const known = statementNames.get(sql);
  if (known !== undefined) return known;
  if (statementNames.size >= MAX_PREPARED) return '';
  const name = `s${statementNames.size}`;
  statementNames.set(sql, name);
  return name;
}

/** Makes a new connection one of the pool's. */
async function prepare(session: Session): Promise<void> {
  session.requirePrimary();
  await session.query(SESSION_SETTINGS);
}

/**
 * Opens PostgreSQL by `config.databaseUrl`, or the embedded database in `config.dataDir` under an exclusive lock.
 *
 * @throws DataDirectoryInUseError when another process has the embedded database open.
 * @throws UnsafeDataDirectoryError when that directory cannot be kept from other users.
 * @throws ReadOnlyDataDirectoryError when nothing can be written in it.
 * @throws DamagedDatabaseError when what is in it does not open.
 * @throws NoRoomForDatabaseError when the disk of that directory is full.
 */
export async function openDatabase(config: Config): Promise<Database> {
  const { databaseUrl: connectionString } = config;
  if (connectionString !== undefined) {
    const pool = new pg.Pool({
      ...{ connectionString, max: config.databasePoolSize, ...PATIENCE },
      Client: SESSIONS,
      onConnect: (session) => prepare(session as Session),
    });
    // An idle connection that breaks is made anew when it is wanted.
    pool.on('error', () => {});
    const factory = new PrismaPg(pool, { statementNameGenerator: ({ sql }) => statementName(sql) });
    return connect('postgresql', oneByOne(factory), {
      config,
      copy: null,
      reader: rowReader(pool, statementName),
      runScript: (sql) => runOnPostgres(connectionString, sql),
      lookAfter: async () => {},
      room: new Room(() => takeRoom(pool)),
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
  const factory = new PrismaPGlite(pglite) as unknown as SqlMigrationAwareDriverAdapterFactory;
  return connect('embedded', factory, {
    config,
    copy: copyOf(folder),
    runScript: (sql) => runOnPglite(pglite, sql),
    lookAfter: () => lookAfter(pglite),
    room: new Room(() => pglite.requireRoom()),
    pool: () => ({ used: 0, waiting: 0 }),
    async close() {
      await pglite.close();
      lock.release();
    },
  });
}

/** With no memory for it but the least there can be. */
async function takeRoom(pool: pg.Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query(`BEGIN; SET LOCAL work_mem = '64kB'; ${TAKE_ROOM}; COMMIT`);
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  } finally {
    client.release();
  }
}

/** Statements sent in one message are one transaction. On a connection of its own, which an error leaves in disorder. */
async function runOnPostgres(connectionString: string, sql: string): Promise<void> {
  await withSession(connectionString, (session) => session.query(sql));
}

async function runOnPglite(pglite: PGlite, sql: string): Promise<void> {
  try {
    await pglite.exec(sql);
  } catch (error) {
    await pglite.exec('ROLLBACK').catch(() => {});
    throw error;
  }
}

/** Our choices: what is worth a line in the log, and how much of it. */
const SLOW_MS = 1_000;
const MAX_SHOWN = 2_000;

function connect(
  kind: Database['kind'],
  factory: SqlMigrationAwareDriverAdapterFactory,
  {
    config,
    ...driver
  }: Pick<Database, 'copy' | 'runScript' | 'lookAfter' | 'room' | 'pool' | 'close'> & {
    readonly config: Config;
    /** Where there is a way past the adapter. */
    readonly reader?: RowReader;
  },
): Database {
  const errors: ((error: unknown) => void)[] = [];
  const failed = (error: unknown): never => {
    for (const heard of errors) heard(error);
    throw error;
  };
  let reader = driver.reader && (config.guardsTransactions ? guardedReader(driver.reader) : driver.reader);
  if (reader !== undefined) reader = tellingReader(reader, failed);
  const found = adapting(factory, (adapter) => {
    telling(adapter, failed);
    noteTransactions(adapter);
    reader ??= adapterReader(adapter);
  });
  const db = new PrismaClient({
    adapter: config.guardsTransactions ? guarded(found) : found,
    log: [
      { emit: 'event', level: 'query' },
      { emit: 'event', level: 'error' },
    ],
  });
  const listeners: ((sql: string) => void)[] = [];
  const slow: ((ms: number, statement: string) => void)[] = [];
  const took = (ms: number, statement: string) => {
    if (ms > SLOW_MS) for (const heard of slow) heard(Math.round(ms), statement.slice(0, MAX_SHOWN));
  };
  db.$on('query', ({ duration, query }) => took(duration, query));
  knowDriver(db, {
    reader: () => reader,
    heard: (sql) => {
      for (const heard of listeners) heard(sql);
    },
    took,
  });
  const poolSize = config.databasePoolSize;
  const isEmbedded = kind === 'embedded';
  const isNeverHeld = async () => false;
  return {
    kind,
    copy: driver.copy,
    db,
    factory,
    onStatement: (heard) => void listeners.push(heard),
    onSlow: (heard) => void slow.push(heard),
    onError: (heard) => void errors.push(heard),
    room: driver.room,
    turns: new Turns(placesOf(poolSize), (realmId) => isOrganizationHeld(db, realmId)),
    // These wait for no locks.
    snapshots: new Turns(isEmbedded ? ONE_PLACE : placesOfSnapshots(poolSize), isNeverHeld, LINE_OF_SNAPSHOTS),
    catchUps: new Turns(isEmbedded ? ONE_PLACE : placesOfReaders(poolSize), isNeverHeld, LINE_OF_READERS),
    runScript: driver.runScript,
    lookAfter: driver.lookAfter,
    pool: driver.pool,
    async close() {
      driver.room.stop();
      await db.$disconnect();
      await driver.close();
    },
  };
}

type Fail = (error: unknown) => never;

/** Has somebody told of what fails on a connection: statements, the beginnings of transactions, and their ends. */
function telling(adapter: SqlDriverAdapter, failed: Fail): void {
  running(adapter, (run) => run().catch(failed));
  const start = adapter.startTransaction.bind(adapter);
  adapter.startTransaction = async (isolationLevel) => {
    const transaction = await start(isolationLevel).catch(failed);
    running(transaction, (run) => run().catch(failed));
    const commit = transaction.commit.bind(transaction);
    transaction.commit = () => commit().catch(failed);
    return transaction;
  };
}

const tellingReader =
  (read: RowReader, failed: Fail): RowReader =>
  (text, values) =>
    read<never>(text, values).catch(failed);

/**
 * A query on the client itself, made while a change runs, waits for the change's own transaction: on the embedded
 * database (one connection) for ever, on PostgreSQL it reads what the change has not committed. Tests fail
 * loudly instead; tests alone, because the client sends look-ups of one turn together, in the name of whoever came first,
 * so that under load this can blame the innocent.
 */
const guarded = (factory: SqlMigrationAwareDriverAdapterFactory) =>
  adapting(factory, (adapter) =>
    running(adapter, (run, query) => {
      requireNoChange(query.sql);
      return run();
    }),
  );

const guardedReader =
  (read: RowReader): RowReader =>
  async (text, values) => {
    requireNoChange(text);
    return read(text, values);
  };

function requireNoChange(sql: string): void {
  if (inTransaction.getStore() !== true) return;
  throw new Error(`A change must query its own transaction, not the client: ${sql}`);
}

/**
 * Has the statements of a transaction follow one another, as they do in the database: what is read for one answer is asked
 * for at once, and the driver takes one statement at a time.
 */
const oneByOne = (factory: SqlMigrationAwareDriverAdapterFactory) =>
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

/** The same factory, with something done to each connection pool it makes. */
function adapting(
  factory: SqlMigrationAwareDriverAdapterFactory,
  adapt: (adapter: SqlDriverAdapter) => void,
): SqlMigrationAwareDriverAdapterFactory {
  return new Proxy(factory, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (name !== 'connect') return typeof value === 'function' ? value.bind(target) : value;
      return async () => {
        const adapter = await target.connect();
        adapt(adapter);
        return adapter;
      };
    },
  });
}

/** Has `around` run each statement. */
function running(where: SqlQueryable, around: <T>(run: () => Promise<T>, query: SqlQuery) => Promise<T>): void {
  for (const method of ['queryRaw', 'executeRaw'] as const) {
    const run = where[method].bind(where) as (query: SqlQuery) => Promise<never>;
    where[method] = (query: SqlQuery) => around(() => run(query), query);
  }
}
