import { useEffect, useRef } from 'react';

/**
 * Handles focus and Escape for the sidebar on narrow screens. When the sidebar opens, the focus moves into it. When the sidebar
 * closes, the focus moves to the button that opens the sidebar. Escape closes the sidebar.
 */
export function useOnePane(isOpen: boolean, close: () => void): void {
  const wasOpen = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `close` is a new function in each render, with the same effect.
  useEffect(() => {
    const isChanged = wasOpen.current !== isOpen;
    wasOpen.current = isOpen;
    if (isChanged) {
      const start = document.querySelector<HTMLElement>(isOpen ? '.shell-close' : '.shell-menu');
      (start ?? document.getElementById('main'))?.focus();
    }
    if (!isOpen) return undefined;
    const stop = new AbortController();
    const onKey = ({ key }: KeyboardEvent) => key === 'Escape' && document.querySelector('dialog') === null && close();
    addEventListener('keydown', onKey, stop);
    return () => stop.abort();
  }, [isOpen]);
}
