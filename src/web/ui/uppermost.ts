import { useId, useLayoutEffect } from 'react';
import { createStore, useStore } from '../api/store.ts';

/**
 * Creates a hook for components that are on the page and in each dialog, but are active only in the uppermost of these. Screen
 * readers read nothing below a modal dialog, and little of it is visible.
 *
 * @returns A hook. It returns whether its component was mounted last.
 */
export function uppermostPlace(): () => boolean {
  const places = createStore<readonly string[]>([]);
  return function useIsUppermost() {
    const id = useId();
    useLayoutEffect(() => {
      places.set([...places.get(), id]);
      return () => places.set(places.get().filter((one) => one !== id));
    }, [id]);
    return useStore(places, (all) => all.at(-1) === id);
  };
}
