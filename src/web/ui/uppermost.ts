import { useId, useLayoutEffect } from 'react';
import { createStore, useStore } from '../base/store.ts';

/**
 * Creates a hook for a component of which the page and each dialog contain one instance, such as a live region. Only one
 * instance is active: that of the uppermost dialog or, if no dialog is open, that of the page. Screen readers ignore everything
 * below a modal dialog.
 *
 * @returns A hook that returns whether its component is the active instance: the last mounted one.
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
