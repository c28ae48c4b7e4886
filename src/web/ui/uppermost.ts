import { useId, useLayoutEffect } from 'react';
import { createStore, useStore } from '../base/store.ts';

/**
 * Creates a hook for components that the page and each dialog contain. Only one of them is active: the component of the
 * uppermost dialog, or that of the page if no dialog is open. Screen readers read nothing below a modal dialog, and little
 * below it is visible.
 *
 * @returns A hook that returns whether its component was mounted last.
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
