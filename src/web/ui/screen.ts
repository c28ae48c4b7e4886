import { useSyncExternalStore } from 'react';

/** As the styles have it. */
const narrow = matchMedia('(max-width: 760px)');

function watch(listener: () => void): () => void {
  narrow.addEventListener('change', listener);
  return () => narrow.removeEventListener('change', listener);
}

/** Whether the screen is narrow, for what is not only of another size there: all else is said in styles. */
export const useIsNarrow = (): boolean => useSyncExternalStore(watch, () => narrow.matches);
