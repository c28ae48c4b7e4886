/** So long a place may take to show where one writes. */
const PATIENCE_MS = 3_000;

const composer = (): HTMLElement | null =>
  document.querySelector<HTMLElement>('form.composer [data-section-start], form.composer textarea');

/** Puts the focus where one writes. */
export const focusComposer = (): void => composer()?.focus();

/** Puts the focus where one writes, once the place that was gone to shows it, and its messages. */
export function focusComposerSoon(): void {
  const shown = document.querySelector('[role="feed"]');
  const observer = new MutationObserver(() => {
    const feed = document.querySelector('[role="feed"]');
    // The message that the list begins at has the focus first.
    if (feed === null || feed === shown || feed.getAttribute('aria-busy') === 'true' || composer() === null) return;
    observer.disconnect();
    focusComposer();
  });
  observer.observe(document.body, { childList: true, subtree: true, attributes: true, attributeFilter: ['aria-busy'] });
  setTimeout(() => observer.disconnect(), PATIENCE_MS);
}

/** Puts the focus on the message of the list that the Tab key would come to. */
export function focusList(): boolean {
  const stop = document.querySelector<HTMLElement>('[role="feed"] article[tabindex="0"]');
  stop?.focus();
  return stop !== null;
}
