import type { App } from '../../access/context.ts';
import type { Db } from '../../platform/db/client.ts';

/**
 * What is read for many at once: the readers of an organisation to whom events are delivered in one turn of the event loop. What
 * does not depend on who reads is read once for all of them, and what does is read for all of them together, where a
 * feature knows how to (`acrossReaders`).
 *
 * All of it is read after the events were committed, and nothing is kept for the next turn's.
 */
export class ReaderBatch {
  static readonly #current = new WeakMap<App, Map<number, ReaderBatch>>();
  /** The service, whose database answers the same read once. */
  readonly app: App;
  readonly #loaders = new Map<object, unknown>();

  constructor(app: App) {
    this.app = { ...app, db: readingOnce(app.db) };
  }

  /** The batch of whatever is delivered in an organisation in this turn of the event loop. */
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

  /** Something that the batch has one of, by what makes it. */
  once<T>(make: () => T): T {
    const known = this.#loaders.get(make) as T | undefined;
    if (known !== undefined) return known;
    const made = make();
    this.#loaders.set(make, made);
    return made;
  }
}

/** A client that sends each read to the database once, and gives what came of it to whoever asks for the same again. */
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

/** Of what JSON has no word for. */
const plain = (_key: string, value: unknown): unknown =>
  typeof value === 'bigint' ? `${value}n` : value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value;
