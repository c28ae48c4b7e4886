import { useEffect, useRef } from 'react';

/**
 * On narrow screens, moves the focus into the sidebar when the sidebar opens. When it closes, moves the focus to the button
 * that opens it. Escape closes the sidebar.
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
