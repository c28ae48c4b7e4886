import { useSyncExternalStore } from 'react';

/** Returns a hook that returns whether a media query matches. */
function mediaQuery(query: string): () => boolean {
  const list = matchMedia(query);
  const watch = (listener: () => void) => {
    list.addEventListener('change', listener);
    return () => list.removeEventListener('change', listener);
  };
  return () => useSyncExternalStore(watch, () => list.matches);
}

/**
 * Returns whether the screen is narrow, so that the page shows either the sidebar or the main view. Must match the media queries
 * in the styles. Use it only if CSS cannot express the difference between narrow and wide screens.
 */
export const useIsNarrow = mediaQuery('(max-width: 760px)');

/** Returns whether the screen has space for a column beside the sidebar and the main view. */
export const useHasColumn = mediaQuery('(min-width: 1024px)');

/** Returns whether the main pointer is a finger. */
export const useIsCoarse = mediaQuery('(pointer: coarse)');
