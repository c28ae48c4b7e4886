import { useId, useLayoutEffect } from 'react';
import { createStore, useStore } from '../api/store.ts';

/**
 * A hook for what is on the page and in each dialog, and is to speak in the uppermost place alone: of what lies below a modal
 * dialog nothing is heard, and little seen.
 *
 * @returns Whether the component that uses it is in the uppermost place, by when they came to be there.
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
