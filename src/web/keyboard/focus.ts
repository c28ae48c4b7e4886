/** Maximum wait, in milliseconds, for the composer of a view that was just opened. Afterwards, the focus stays where it is. */
const PATIENCE_MS = 3_000;

/** Returns the text field of the composer. Null if the view has none. */
export const composerField = (): HTMLTextAreaElement | null =>
  document.querySelector<HTMLTextAreaElement>('form.composer textarea');

/** Focuses the composer. */
export const focusComposer = (): void => composerField()?.focus();

/**
 * Focuses the composer as soon as the view that is being opened shows the composer and the messages.
 *
 * @param onFocus Called after that.
 */
export function focusComposerSoon(onFocus?: () => void): void {
  const shown = document.querySelector('[role="feed"]');
  const observer = new MutationObserver(() => {
    const feed = document.querySelector('[role="feed"]');
    // While it opens, a list may focus one of its messages. The composer is focused after that.
    if (feed === null || feed === shown || feed.getAttribute('aria-busy') === 'true' || composerField() === null)
      return;
    observer.disconnect();
    focusComposer();
    onFocus?.();
  });
  observer.observe(document.body, { childList: true, subtree: true, attributes: true, attributeFilter: ['aria-busy'] });
  setTimeout(() => observer.disconnect(), PATIENCE_MS);
}

/** Focuses the message that is the tab stop of the message list. @returns Whether there is such a message. */
export function focusList(): boolean {
  const stop = document.querySelector<HTMLElement>('[role="feed"] article[tabindex="0"]');
  stop?.focus();
  return stop !== null;
}
