import { useEffect } from 'react';

/**
 * Sets the height of the page to the height of its visible part. If an on-screen keyboard covers the page instead of shrinking
 * it, the composer stays above the keyboard.
 */
export function useViewport(): void {
  useEffect(() => {
    const { visualViewport: seen } = window;
    if (seen === null) return undefined;
    const stop = new AbortController();
    const fit = () => {
      const { style } = document.documentElement;
      // If the user has zoomed in, the visible part is smaller, but the page keeps its height.
      if (seen.scale > 1 || Math.round(seen.height) >= innerHeight) style.removeProperty('--viewport-height');
      else style.setProperty('--viewport-height', `${seen.height}px`);
    };
    seen.addEventListener('resize', fit, stop);
    return () => stop.abort();
  }, []);
}
