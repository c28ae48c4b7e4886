import type { Ctx } from '../../access/context.ts';

/** What one viewer asks for: some of many, who are all of one organisation. */
export interface Wanted<K> {
  readonly ctx: Ctx;
  readonly key: K;
}

/** What each of the viewers gets, in order; an error where that is what becomes of it. */
export type LoadEach<K, V> = (wanted: readonly Wanted<K>[]) => Promise<readonly (V | Error)[]>;

/** What is loaded by key, for one viewer. */
export interface Loads<K, V> {
  readonly load: (key: K) => Promise<V>;
  /** The same of many, in their order, with one wait for all of them; null for none, and an error in the place it is of. */
  readonly loadAll: (keys: readonly (K | null)[]) => Promise<readonly (V | Error | null)[]>;
}

/**
 * What is there of what was loaded, in its order.
 *
 * @throws What came in the place of one.
 */
export const present = <V>(values: readonly (V | Error | null)[]): V[] =>
  values.filter((value): value is V => {
    if (value instanceof Error) throw value;
    return value !== null;
  });

/** What the viewer of one operation is given. */
export interface KeyedLoader<K, V> extends Loads<K, V> {
  /** Keeps what was found on another way. */
  readonly prime: (key: K, value: V) => void;
}

/** What is loaded in one go. */
interface Batch<K, V> {
  readonly wanted: Wanted<K>[];
  readonly come: Promise<unknown>;
  values: readonly (V | Error)[];
}

/** Where the value of a key is, or is going to be. */
interface Place<K, V> {
  readonly batch: Batch<K, V>;
  readonly at: number;
}

/**
 * Loads values by key, each once: all that are asked for before the event loop goes on, by whichever of the viewers, in one
 * go. What it keeps is of one moment and of these viewers' rights, so it must not outlive the operation or delivery it is for.
 *
 * It has one promise for all the keys of a list, where DataLoader has one for each, which is most of what a list of three
 * hundred costs.
 */
export class BatchedLoads<K, V> {
  readonly #load: LoadEach<K, V>;
  /** By viewer and key. */
  readonly #places = new Map<number, Map<K, Place<K, V>>>();
  #next: Batch<K, V> | undefined;

  constructor(load: LoadEach<K, V>) {
    this.#load = load;
  }

  /** As one of the viewers has it. */
  of(ctx: Ctx): KeyedLoader<K, V> {
    const places = this.#places.get(ctx.viewer.id) ?? new Map<K, Place<K, V>>();
    this.#places.set(ctx.viewer.id, places);
    const placeOf = (key: K): Place<K, V> => {
      const known = places.get(key);
      if (known !== undefined) return known;
      const place = this.#enlist({ ctx, key });
      places.set(key, place);
      return place;
    };
    return {
      load: async (key) => {
        const { batch, at } = placeOf(key);
        await batch.come;
        const value = batch.values[at] as V | Error;
        if (value instanceof Error) throw value;
        return value;
      },
      loadAll: async (keys) => {
        const found = keys.map((key) => (key === null ? null : placeOf(key)));
        // Waited for one after another: as a rule they are one.
        for (const { come } of new Set(found.flatMap((place) => place?.batch ?? []))) if (come !== DONE) await come;
        return found.map((place) => (place === null ? null : (place.batch.values[place.at] as V | Error)));
      },
      prime: (key, value) => {
        if (!places.has(key)) places.set(key, { batch: { wanted: [], come: DONE, values: [value] }, at: 0 });
      },
    };
  }

  #enlist(wanted: Wanted<K>): Place<K, V> {
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
        if (batch.values.length !== batch.wanted.length) throw new Error('Not as many values as were wanted');
      } catch (error) {
        const failure = error instanceof Error ? error : new Error('A load failed', { cause: error });
        batch.values = batch.wanted.map(() => failure);
      }
      resolve();
    };
    // After all that what has come by now leads to, so that it is part of it.
    void DONE.then(() => process.nextTick(run));
    return batch;
  }
}

const DONE = Promise.resolve();
