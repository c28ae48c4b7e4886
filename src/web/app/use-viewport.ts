import { useEffect } from 'react';

/**
 * Keeps the page as high as what is to be seen of it: where an on-screen keyboard lies over the page instead of making
 * it smaller, the composer stands above it.
 */
export function useViewport(): void {
  useEffect(() => {
    const { visualViewport: seen } = window;
    if (seen === null) return undefined;
    const stop = new AbortController();
    const fit = () => {
      const { style } = document.documentElement;
      // Who has zoomed in sees a part of the page, and wants it as it was.
      if (seen.scale > 1 || Math.round(seen.height) >= innerHeight) style.removeProperty('--viewport-height');
      else style.setProperty('--viewport-height', `${seen.height}px`);
    };
    seen.addEventListener('resize', fit, stop);
    return () => stop.abort();
  }, []);
}
