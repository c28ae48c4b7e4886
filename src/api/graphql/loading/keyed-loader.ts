import type { Ctx } from '../../../access/context.ts';

/** A key requested by a viewer. All viewers of a batch belong to one organization. */
export interface RequestedKey<K> {
  readonly ctx: Ctx;
  readonly key: K;
}

/**
 * A function that loads the value of each key for the viewer who requested the key, in the order of the keys. It returns an
 * error in place of a value that could not be loaded.
 */
export type LoadEach<K, V> = (wanted: readonly RequestedKey<K>[]) => Promise<readonly (V | Error)[]>;

/** A loader of values by key, for one viewer. */
export interface Loads<K, V> {
  readonly load: (key: K) => Promise<V>;
  /**
   * Loads the values of many keys with one await, in the order of the keys. The result is null for a null key, and an error for
   * a failed load.
   */
  readonly loadAll: (keys: readonly (K | null)[]) => Promise<readonly (V | Error | null)[]>;
}

/**
 * Returns the results of `loadAll` without nulls, in order.
 *
 * @throws The first error among the results.
 */
export const present = <V>(values: readonly (V | Error | null)[]): V[] =>
  values.filter((value): value is V => {
    if (value instanceof Error) throw value;
    return value !== null;
  });

/** A loader for one viewer, whose cache lasts for one operation. */
export interface KeyedLoader<K, V> extends Loads<K, V> {
  /** Stores a value that other code has loaded, unless the key was requested before. */
  readonly prime: (key: K, value: V) => void;
}

/** Keys that are loaded in one batch. `values` is filled when the promise `come` resolves. */
interface Batch<K, V> {
  readonly wanted: RequestedKey<K>[];
  readonly come: Promise<unknown>;
  values: readonly (V | Error)[];
}

/** The location of a loaded value: a batch, and an index in the batch. */
interface ValueLocation<K, V> {
  readonly batch: Batch<K, V>;
  readonly at: number;
}

/**
 * A loader of values by key, for several viewers. Each key is loaded once per viewer. Keys that are requested in the same turn
 * of the event loop form one batch, even if different viewers request them. Loaded values are never refreshed, and depend on
 * the rights of the viewers. An instance must therefore be used only for one operation or one delivery of events.
 *
 * Loading a list of keys creates one promise, while a DataLoader creates one promise per key. For a list of three hundred keys,
 * creating so many promises takes most of the time.
 */
export class BatchedLoads<K, V> {
  readonly #load: LoadEach<K, V>;
  /** Locations of the values of all requested keys, by viewer id and key. */
  readonly #locations = new Map<number, Map<K, ValueLocation<K, V>>>();
  #next: Batch<K, V> | undefined;

  constructor(load: LoadEach<K, V>) {
    this.#load = load;
  }

  /** Returns the loader for the viewer of `ctx`. */
  of(ctx: Ctx): KeyedLoader<K, V> {
    const locations = this.#locations.get(ctx.viewer.id) ?? new Map<K, ValueLocation<K, V>>();
    this.#locations.set(ctx.viewer.id, locations);
    const locationOf = (key: K): ValueLocation<K, V> => {
      const known = locations.get(key);
      if (known !== undefined) return known;
      const location = this.#enlist({ ctx, key });
      locations.set(key, location);
      return location;
    };
    return {
      load: async (key) => {
        const { batch, at } = locationOf(key);
        await batch.come;
        const value = batch.values[at] as V | Error;
        if (value instanceof Error) throw value;
        return value;
      },
      loadAll: async (keys) => {
        const found = keys.map((key) => (key === null ? null : locationOf(key)));
        // The batches are awaited one after another, because the values are usually in a single batch.
        for (const { come } of new Set(found.flatMap((location) => location?.batch ?? [])))
          if (come !== DONE) await come;
        return found.map((location) => (location === null ? null : (location.batch.values[location.at] as V | Error)));
      },
      prime: (key, value) => {
        if (!locations.has(key)) locations.set(key, { batch: { wanted: [], come: DONE, values: [value] }, at: 0 });
      },
    };
  }

  #enlist(wanted: RequestedKey<K>): ValueLocation<K, V> {
    this.#next ??= this.#begin();
    return { batch: this.#next, at: this.#next.wanted.push(wanted) - 1 };
  }

  #begin(): Batch<K, V> {
    const { promise: come, resolve } = Promise.withResolvers<void>();
    const batch: Batch<K, V> = { wanted: [], come, values: [] };
    const run = async () => {
      this.#next = undefined;
      try {
        batch.values = await this.#load(batch.wanted);
        if (batch.values.length !== batch.wanted.length)
          throw new Error('The number of values differs from the number of keys');
      } catch (error) {
        const failure = error instanceof Error ? error : new Error('A load failed', { cause: error });
        batch.values = batch.wanted.map(() => failure);
      }
      resolve();
    };
    // The batch is loaded after all pending promise callbacks. So keys that these callbacks request join the batch.
    void DONE.then(() => process.nextTick(run));
    return batch;
  }
}

const DONE = Promise.resolve();
