import { useSyncExternalStore } from 'react';

/**
 * Media query for narrow screens, on which the page shows either the sidebar or the main view. Must match the media queries in
 * the styles.
 */
const narrow = matchMedia('(max-width: 760px)');

function watch(listener: () => void): () => void {
  narrow.addEventListener('change', listener);
  return () => narrow.removeEventListener('change', listener);
}

/** Returns whether the screen is narrow. Use it only if CSS cannot express the difference between narrow and wide screens. */
export const useIsNarrow = (): boolean => useSyncExternalStore(watch, () => narrow.matches);
