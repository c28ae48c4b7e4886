import { useEffect, useRef } from 'react';

/**
 * On narrow screens the focus goes into the sidebar when it is shown, and to the way back to it when it is not. Escape
 * closes it.
 */
export function useOnePane(isOpen: boolean, close: () => void): void {
  const wasOpen = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what closes it is another function each time, and does the same.
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
