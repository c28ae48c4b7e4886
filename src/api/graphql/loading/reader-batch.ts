import type { App } from '../../../access/context.ts';
import type { Db } from '../../../platform/db/client.ts';

/**
 * Shares database reads among the readers of one organization to whom events are delivered in one turn of the event loop. Reads
 * that do not depend on the reader run once for all. Other reads are batched if the feature uses `acrossReaders`.
 *
 * All reads run after the events were committed. Nothing is cached for the next turn.
 */
export class ReaderBatch {
  static readonly #current = new WeakMap<App, Map<number, ReaderBatch>>();
  /** The app of the service, with a database client that runs identical reads only once. */
  readonly app: App;
  readonly #loaders = new Map<object, unknown>();

  constructor(app: App) {
    this.app = { ...app, db: readingOnce(app.db) };
  }

  /** Returns the batch of an organization's deliveries in this turn of the event loop. */
  static current(app: App, realmId: number): ReaderBatch {
    let batches = ReaderBatch.#current.get(app);
    if (batches === undefined) {
      batches = new Map();
      ReaderBatch.#current.set(app, batches);
      setImmediate(() => ReaderBatch.#current.delete(app));
    }
    const batch = batches.get(realmId) ?? new ReaderBatch(app);
    batches.set(realmId, batch);
    return batch;
  }

  /** Returns the value that `make` creates. It is created once per batch and `make`. */
  once<T>(make: () => T): T {
    const known = this.#loaders.get(make) as T | undefined;
    if (known !== undefined) return known;
    const made = make();
    this.#loaders.set(make, made);
    return made;
  }
}

/** Returns a database client that runs each read once. Later reads with the same arguments get the first result. */
function readingOnce(db: Db): Db {
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
  return extended as unknown as Db;
}

/** Converts values that JSON cannot represent (bigint, bytes) to texts, for the key of a read. */
const plain = (_key: string, value: unknown): unknown =>
  typeof value === 'bigint' ? `${value}n` : value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value;
