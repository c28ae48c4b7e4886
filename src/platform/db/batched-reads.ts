import type { Prisma } from '../../generated/prisma/client.ts';
import { BatchSchedule } from '../batch-schedule.ts';
import type { SqlClient } from './client.ts';
import { isBusy, isSerializationFailure } from './errors.ts';
import { readRows } from './rows.ts';

/** Reads the values of all items of a batch with one statement. Returns the values in the order of the items. */
type Read<T, V> = (place: ReadPlace, items: readonly T[]) => Promise<readonly V[]>;

/**
 * Sum of the weights of the items of a batch, in rows, at which the statement of the batch starts immediately. A larger
 * statement would delay the requests that share it.
 */
const MAX_WEIGHT = 2_000;
/**
 * Maximum time, in milliseconds, that a batch waits for the statement in progress. Afterwards, the statement of the batch
 * starts in parallel. Most statements take a fraction of this time.
 */
const PATIENCE_MS = 20;

/** A batch: the items of all requests that share one statement. */
interface Batch<T, V> {
  readonly items: T[];
  readonly values: PromiseWithResolvers<readonly V[]>;
  /** Keys of the items, if equal items share their rows. */
  readonly keys: Set<unknown>;
  callers: number;
  weight: number;
}

/** The batch queue for one statement of one organization. */
interface BatchQueue<T, V> {
  /** The batch to which new requests are added. Undefined while no request is waiting. */
  batch: Batch<T, V> | undefined;
  readonly schedule: BatchSchedule;
}

/** Key of a read. Two requests share a statement only if all fields are equal. */
export interface ReadPlace {
  /** The database client, or the client of a transaction, that runs the statement. */
  readonly db: SqlClient;
  readonly organizationId: number;
  /** Identifies the statement, if the requests of a `BatchedReads` need different statements. */
  readonly statement?: string;
}

/**
 * A batch queue for reads of many requests: requests that arrive while a statement is in progress share the next statement. So
 * under higher load, each statement serves more requests. A request that arrives while no statement is in progress does not
 * wait.
 *
 * A statement starts after all its requests have arrived, so each of them receives the current state. Nothing is cached.
 */
export class BatchedReads<T, V> {
  readonly #read: Read<T, V>;
  readonly #weightOf: (item: T) => number;
  readonly #keyOf: ((item: T) => unknown) | undefined;
  readonly #queues = new WeakMap<SqlClient, Map<string, BatchQueue<T, V>>>();

  /**
   * @param read Reads the values of all items of a batch, in the order of the items.
   * @param weightOf Returns the maximum number of rows that the statement reads for an item. Default: 1.
   * @param keyOf Returns the key of an item, if the statement reads the rows of items with equal keys only once.
   */
  constructor(read: Read<T, V>, weightOf: (item: T) => number = () => 1, keyOf?: (item: T) => unknown) {
    this.#read = read;
    this.#weightOf = weightOf;
    this.#keyOf = keyOf;
  }

  /**
   * Returns the value of each item, in the order of the items. If a shared statement fails, each request reads its own items,
   * because an item of another request can be the cause. If the database is unavailable or reports a serialization failure, all
   * requests fail instead: one statement per request would only add load.
   */
  async of(place: ReadPlace, items: readonly T[]): Promise<readonly V[]> {
    const { schedule, batch } = this.#collecting(place);
    const start = batch.items.length;
    for (const item of items) {
      batch.items.push(item);
      const key = this.#keyOf?.(item);
      if (key !== undefined && batch.keys.has(key)) continue;
      batch.keys.add(key);
      batch.weight += this.#weightOf(item);
    }
    batch.callers++;
    if (batch.weight >= MAX_WEIGHT) schedule.startNow();
    else schedule.request();
    try {
      return (await batch.values.promise).slice(start, start + items.length);
    } catch (error) {
      if (batch.callers === 1 || isBusy(error) || isSerializationFailure(error)) throw error;
      return this.#read(place, items);
    }
  }

  #collecting(place: ReadPlace): { readonly schedule: BatchSchedule; readonly batch: Batch<T, V> } {
    const { db, organizationId, statement = '' } = place;
    const key = `${organizationId} ${statement}`;
    const queues = this.#queues.get(db) ?? new Map<string, BatchQueue<T, V>>();
    this.#queues.set(db, queues);
    const queue = queues.get(key) ?? this.#newQueue(place, () => queues.delete(key));
    queues.set(key, queue);
    queue.batch ??= { items: [], values: Promise.withResolvers(), keys: new Set(), callers: 0, weight: 0 };
    return { schedule: queue.schedule, batch: queue.batch };
  }

  #newQueue(place: ReadPlace, forget: () => void): BatchQueue<T, V> {
    const queue: BatchQueue<T, V> = {
      batch: undefined,
      schedule: new BatchSchedule({
        patienceMs: PATIENCE_MS,
        start: () => {
          const { batch } = queue;
          queue.batch = undefined;
          if (batch === undefined) forget();
          return batch && this.#readBatch(place, batch);
        },
      }),
    };
    return queue;
  }

  /** Reads a batch and settles its promise. Never rejects. */
  async #readBatch(place: ReadPlace, { items, values }: Batch<T, V>): Promise<void> {
    try {
      values.resolve(await this.#read(place, items));
    } catch (error) {
      values.reject(error);
    }
  }
}

/**
 * Reads the rows of a statement. Concurrent calls with equal statements and values share one query. Callers share the rows and
 * must not change them.
 *
 * @param statement Made by `Prisma.sql`, so that values are parameters.
 */
export async function sharedRows<Row>(place: ReadPlace, statement: Prisma.Sql): Promise<readonly Row[]> {
  const { text, values } = statement;
  const key = `${text} ${JSON.stringify(values, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))}`;
  const [rows] = await same.of({ ...place, statement: key }, [statement]);
  // Equal text and values identify the statement, and so the type of its rows.
  return (rows ?? []) as readonly Row[];
}

const same = new BatchedReads<Prisma.Sql, readonly unknown[]>(async ({ db }, [statement, ...others]) => {
  if (statement === undefined) return [];
  const rows = await readRows(db, statement);
  return [rows, ...others.map(() => rows)];
});
