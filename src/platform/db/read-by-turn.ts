import DataLoader from 'dataloader';

/**
 * Returns a function that reads a value by key. All calls in one iteration of the event loop share a query, whatever their
 * organizations. The query runs after all requests that have already arrived were read. Nothing is cached, and unlike a batch
 * of `BatchedReads`, no query waits for another query.
 *
 * @param read Returns the values in the order of the keys. `source` is the database client, or an object that contains the
 *   client.
 * @param maxBatchSize Maximum number of keys in a query. If there are more keys, several queries run.
 */
export function readByTurn<Source extends object, K, V>(
  read: (source: Source, keys: readonly K[]) => Promise<readonly V[]>,
  maxBatchSize = 500,
): (source: Source, key: K) => Promise<V> {
  const loaders = new WeakMap<Source, DataLoader<K, V>>();
  return (source, key) => {
    let loader = loaders.get(source);
    if (loader === undefined) {
      loader = new DataLoader((keys) => read(source, keys), {
        cache: false,
        maxBatchSize,
        batchScheduleFn: (run) => void setImmediate(run),
      });
      loaders.set(source, loader);
    }
    return loader.load(key);
  };
}
