import { useId, useLayoutEffect } from 'react';
import { createStore, useStore } from '../api/store.ts';

/**
 * Creates a hook for components that the page and each dialog contain, but that are active only in the uppermost dialog.
 * Screen readers read nothing below a modal dialog, and little below it is visible. Without a dialog, the page's is active.
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
