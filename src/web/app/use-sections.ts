import { useEffect } from 'react';

/** F6 and Shift+F6 go from section to section: to what is marked `data-section`, and in it to what can be focused first. */
export function useSections(): void {
  useEffect(() => {
    const stop = new AbortController();
    const go = (event: KeyboardEvent) => {
      if (event.key !== 'F6') return;
      event.preventDefault();
      const sections = [...document.querySelectorAll<HTMLElement>('[data-section]')].filter((one) =>
        one.checkVisibility(),
      );
      const here = sections.findLastIndex((section) => section.contains(document.activeElement));
      const next = sections.at((here + (event.shiftKey ? -1 : 1)) % sections.length);
      const inside = next?.querySelector<HTMLElement>('[data-section-start], a[href], button, textarea, input');
      (inside ?? next)?.focus();
    };
    addEventListener('keydown', go, stop);
    return () => stop.abort();
  }, []);
}
