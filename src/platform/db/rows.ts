import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type ColumnType,
  ColumnTypeEnum,
  type SqlDriverAdapter,
  type SqlQueryable,
} from '@prisma/driver-adapter-utils';
import type { Prisma, PrismaClient } from '../../generated/prisma/client.ts';
import type { RowReader } from './pg-rows.ts';

/** Whatever answers SQL: the client, or the transaction of a change. */
type Client = Pick<Prisma.TransactionClient, '$queryRaw'>;

/** What is under each client that is known. */
const drivers = new WeakMap<object, Driver>();

export interface Driver {
  /** Undefined until the client is connected. */
  readonly reader: () => RowReader | undefined;
  /** Told of each statement. */
  readonly heard: (sql: string) => void;
  /** Told how long each took. */
  readonly took: (ms: number, sql: string) => void;
}

/**
 * The rows of a statement, straight from the driver: what is read often takes a third of the time this way that it takes
 * through the ORM's interpreter. On a client that is not known (an extended one) it is the ORM that reads them.
 *
 * Values are as the ORM has them: `bigint` for int8, `Date`, parsed JSON, `Uint8Array`.
 *
 * @param statement By `Prisma.sql`, so that values are parameters.
 */
export async function readRows<Row>(client: Client, statement: Prisma.Sql): Promise<Row[]> {
  const driver = drivers.get(client);
  const read = driver?.reader();
  if (driver === undefined || read === undefined) return client.$queryRaw<Row[]>(statement);
  const { text, values } = statement;
  driver.heard(text);
  const startedAt = performance.now();
  try {
    return await read<Row>(text, values.map(parameter));
  } finally {
    driver.took(performance.now() - startedAt, text);
  }
}

/** Reads through an adapter of the ORM's. */
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

/** The driver needs to be told of texts that stand for something else alone, of which there are none. */
const ANY = { scalarType: 'unknown', arity: 'scalar' } as const;

/** A parameter as every driver writes it. */
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

/** Undefined where the driver's own value is what is wanted. */
function decoderOf(type: ColumnType): Decode | undefined {
  if (type === ColumnTypeEnum.Numeric || type === ColumnTypeEnum.NumericArray) {
    throw new Error('A statement must cast what is numeric');
  }
  return DECODERS[type];
}

/** What `readRows` sends the statements of a client to. */
export const driverOf = (client: object): Driver | undefined => drivers.get(client);

/** Makes a client known to `readRows`. */
export function knowDriver(client: object, driver: Driver): void {
  drivers.set(client, driver);
}

/** The transaction that is being begun, for who is to be given it. */
const beginning = new AsyncLocalStorage<{ transaction?: SqlQueryable }>();

/** Has `transaction` find what is under the transactions that begin on an adapter. */
export function noteTransactions(adapter: SqlDriverAdapter): void {
  const start = adapter.startTransaction.bind(adapter);
  adapter.startTransaction = async (isolationLevel) => {
    const transaction = await start(isolationLevel);
    const place = beginning.getStore();
    if (place !== undefined) place.transaction = transaction;
    return transaction;
  };
}

/** Runs a transaction of the ORM's, whose statements `readRows` can send. */
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
      knowDriver(tx, { reader: () => read, heard: driver.heard, took: driver.took });
    }
    return work(tx);
  };
  return beginning.run(place, () => db.$transaction(known, options));
}
