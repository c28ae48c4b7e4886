import { useSyncExternalStore } from 'react';

/** Must match the styles. */
const narrow = matchMedia('(max-width: 760px)');

function watch(listener: () => void): () => void {
  narrow.addEventListener('change', listener);
  return () => narrow.removeEventListener('change', listener);
}

/** Whether the screen is narrow. Only for differences that styles cannot make. */
export const useIsNarrow = (): boolean => useSyncExternalStore(watch, () => narrow.matches);
