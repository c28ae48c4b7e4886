import { useSyncExternalStore } from 'react';

/** Something that is the same for the whole page, and that components may watch. */
export interface Store<T> {
  get(): T;
  /** Watchers hear of it when it is another value than before. */
  set(next: T): void;
  /** @returns What ends the watch. */
  watch(listener: () => void): () => void;
}

export function createStore<T>(initial: T): Store<T> {
  let value = initial;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of [...listeners]) listener();
    },
    watch(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/**
 * What a store holds, or a part of it.
 *
 * @param pick Of equal values the same, or the component renders for ever.
 */
export function useStore<T>(store: Store<T>): T;
export function useStore<T, S>(store: Store<T>, pick: (value: T) => S): S;
export function useStore<T, S>(store: Store<T>, pick?: (value: T) => S): T | S {
  return useSyncExternalStore(store.watch, () => (pick === undefined ? store.get() : pick(store.get())));
}
