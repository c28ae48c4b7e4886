import type { ReadWork } from '../../../access/context.ts';
import type { Database, Db, Tx } from '../../../platform/db/client.ts';

/**
 * A batch of database reads for all users of one organization who receive events in the same turn of the event loop
 * ("readers"). Reads that do not depend on the user run once. Other reads are batched if `acrossReaders` created their loader.
 *
 * All reads run after the events were committed. No result is kept for the next turn of the event loop.
 */
export class ReaderBatch {
  static readonly #current = new WeakMap<Database, Map<number, ReaderBatch>>();
  /** A unit of work whose database client runs reads with the same arguments only once. */
  readonly work: ReadWork;
  readonly #loaders = new Map<object, unknown>();

  constructor({ db }: Pick<Database, 'db'>) {
    this.work = { db: readingOnce(db) };
  }

  /** Returns the batch that all event recipients of an organization share in this turn of the event loop. */
  static current(database: Database, organizationId: number): ReaderBatch {
    let batches = ReaderBatch.#current.get(database);
    if (batches === undefined) {
      batches = new Map();
      ReaderBatch.#current.set(database, batches);
      setImmediate(() => ReaderBatch.#current.delete(database));
    }
    const batch = batches.get(organizationId) ?? new ReaderBatch(database);
    batches.set(organizationId, batch);
    return batch;
  }

  /** Returns the result of `make`, which is called once per batch. */
  once<T>(make: () => T): T {
    const known = this.#loaders.get(make) as T | undefined;
    if (known !== undefined) return known;
    const made = make();
    this.#loaders.set(make, made);
    return made;
  }
}

/** Returns a database client that runs each distinct read once. Later reads with the same arguments get the first result. */
function readingOnce(db: Db): Tx {
  const answers = new Map<string, Promise<unknown>>();
  const extended = db.$extends({
    query: {
      $allOperations({ model, operation, args, query }) {
        const key = `${model ?? ''}.${operation} ${JSON.stringify(args, plain)}`;
        let answer = answers.get(key);
        if (answer === undefined) {
          answer = query(args);
          answers.set(key, answer);
        }
        return answer;
      },
    },
  });
  return extended as unknown as Tx;
}

/** Converts values that JSON cannot represent (bigint, bytes) to texts, for the key of a read. */
const plain = (_key: string, value: unknown): unknown =>
  typeof value === 'bigint' ? `${value}n` : value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value;
