import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type ColumnType,
  ColumnTypeEnum,
  type SqlDriverAdapter,
  type SqlQueryable,
} from '@prisma/driver-adapter-utils';
import type { Prisma, PrismaClient } from '../../generated/prisma/client.ts';
import type { RowReader } from './pg-rows.ts';

/** An object that runs SQL: the database client, or the client of a transaction. */
type Client = Pick<Prisma.TransactionClient, '$queryRaw'>;

/** Database drivers, by the client for which each of them is registered. */
const drivers = new WeakMap<object, Driver>();

export interface Driver {
  /** Returns the reader of rows. Undefined until the client is connected. */
  readonly reader: () => RowReader | undefined;
  /** Called with the text of each statement. */
  readonly onStatement: (sql: string) => void;
  /** Called with the duration of each statement in milliseconds, and its text. */
  readonly took: (ms: number, sql: string) => void;
}

/**
 * Reads the rows of a statement directly from the driver. Frequent reads take a third of the time that they take through the
 * ORM's interpreter. If no driver is registered for the client (for example, an extended client), the ORM reads the rows.
 *
 * Values have the ORM's types: `bigint` for int8, `Date`, parsed JSON, `Uint8Array`.
 *
 * @param statement Made by `Prisma.sql`, so that values are parameters.
 */
export async function readRows<Row>(client: Client, statement: Prisma.Sql): Promise<Row[]> {
  const driver = drivers.get(client);
  const read = driver?.reader();
  if (driver === undefined || read === undefined) return client.$queryRaw<Row[]>(statement);
  const { text, values } = statement;
  driver.onStatement(text);
  const startedAt = performance.now();
  try {
    return await read<Row>(text, values.map(parameter));
  } finally {
    driver.took(performance.now() - startedAt, text);
  }
}

/** Returns a reader that uses an adapter of the ORM. */
export function adapterReader(adapter: SqlQueryable): RowReader {
  return async <Row>(text: string, given: readonly unknown[]) => {
    const args = [...given];
    const { columnNames, columnTypes, rows } = await adapter.queryRaw({
      sql: text,
      args,
      argTypes: args.map(() => ANY),
    });
    const decoders = columnTypes.map(decoderOf);
    return rows.map((row) => {
      const decoded: Record<string, unknown> = {};
      for (let i = 0; i < columnNames.length; i++) {
        const [name, decode, value] = [columnNames[i] as string, decoders[i], row[i]];
        decoded[name] = decode === undefined || value === null ? value : decode(value);
      }
      return decoded as Row;
    });
  };
}

/**
 * Parameter type that is passed to the driver for every parameter. The driver needs a specific type only for strings that
 * represent values of other types, and no statement has such parameters.
 */
const ANY = { scalarType: 'unknown', arity: 'scalar' } as const;

/** Converts a parameter to a value that every driver accepts. */
function parameter(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(parameter);
  if (typeof value === 'bigint') return String(value);
  return value instanceof Date ? value.toISOString() : (value ?? null);
}

type Decode = (value: unknown) => unknown;

const each =
  (decode: Decode): Decode =>
  (values) =>
    (values as readonly unknown[]).map((value) => (value === null ? null : decode(value)));
const bigint: Decode = (value) => BigInt(value as string);
const date: Decode = (value) => new Date(value as string);
const json: Decode = (value) => JSON.parse(value as string);
const bytes: Decode = (value) => new Uint8Array(value as Uint8Array);

const DECODERS: Readonly<Partial<Record<ColumnType, Decode>>> = {
  [ColumnTypeEnum.Int64]: bigint,
  [ColumnTypeEnum.Int64Array]: each(bigint),
  [ColumnTypeEnum.DateTime]: date,
  [ColumnTypeEnum.DateTimeArray]: each(date),
  [ColumnTypeEnum.Json]: json,
  [ColumnTypeEnum.JsonArray]: each(json),
  [ColumnTypeEnum.Bytes]: bytes,
  [ColumnTypeEnum.BytesArray]: each(bytes),
};

/** Returns the function that decodes values of a column type. Undefined if the driver's values need no decoding. */
function decoderOf(type: ColumnType): Decode | undefined {
  if (type === ColumnTypeEnum.Numeric || type === ColumnTypeEnum.NumericArray) {
    throw new Error('A statement must cast numeric columns to another type');
  }
  return DECODERS[type];
}

/** Returns the driver that `readRows` uses for a client. Undefined if no driver is registered for the client. */
export const driverOf = (client: object): Driver | undefined => drivers.get(client);

/** Registers the driver that `readRows` uses for a client. */
export function knowDriver(client: object, driver: Driver): void {
  drivers.set(client, driver);
}

/** Storage by which `noteTransactions` passes the driver's transaction to `transaction`. */
const beginning = new AsyncLocalStorage<{ transaction?: SqlQueryable }>();

/** Makes the driver's transactions that start on an adapter available to `transaction`. */
export function noteTransactions(adapter: SqlDriverAdapter): void {
  const start = adapter.startTransaction.bind(adapter);
  adapter.startTransaction = async (isolationLevel) => {
    const transaction = await start(isolationLevel);
    const place = beginning.getStore();
    if (place !== undefined) place.transaction = transaction;
    return transaction;
  };
}

/** Runs a transaction of the ORM. Within it, `readRows` reads directly from the driver, without the interpreter of the ORM. */
export function transaction<T>(
  db: PrismaClient,
  work: (tx: Prisma.TransactionClient) => Promise<T>,
  options?: Parameters<PrismaClient['$transaction']>[1],
): Promise<T> {
  const place: { transaction?: SqlQueryable } = {};
  const known = (tx: Prisma.TransactionClient) => {
    const driver = drivers.get(db);
    if (driver !== undefined && place.transaction !== undefined) {
      const read = adapterReader(place.transaction);
      knowDriver(tx, { reader: () => read, onStatement: driver.onStatement, took: driver.took });
    }
    return work(tx);
  };
  return beginning.run(place, () => db.$transaction(known, options));
}
