import { useSyncExternalStore } from 'react';

/** A page-wide value that components can watch. */
export interface Store<T> {
  get(): T;
  /** Replaces the value. If it differs from the previous one, the listeners are called. */
  set(next: T): void;
  /** Calls a listener after each change. @returns A function that removes the listener. */
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
 * Returns the value of a store, or a part of it, and renders the component again after changes.
 *
 * @param pick Must return the same object for equal values, or the component renders in an endless loop.
 */
export function useStore<T>(store: Store<T>): T;
export function useStore<T, S>(store: Store<T>, pick: (value: T) => S): S;
export function useStore<T, S>(store: Store<T>, pick?: (value: T) => S): T | S {
  return useSyncExternalStore(store.watch, () => (pick === undefined ? store.get() : pick(store.get())));
}
