/**
 * Moves the focus to the next or previous section of the page (`data-section`). Within the section, focuses the element with
 * `data-section-start` or the message that is a tab stop, or else the first link or control.
 */
export function goToSection(step: 1 | -1): void {
  const sections = [...document.querySelectorAll<HTMLElement>('[data-section]')].filter((one) => one.checkVisibility());
  const here = sections.findLastIndex((section) => section.contains(document.activeElement));
  const from = here < 0 && step < 0 ? 0 : here;
  const next = sections.at((from + step) % sections.length);
  // Hidden elements are skipped: some are visible on narrow screens only.
  const first = (selector: string) =>
    [...(next?.querySelectorAll<HTMLElement>(selector) ?? [])].find((one) => one.checkVisibility());
  (first('[data-section-start], article[tabindex="0"]') ?? first('a[href], button, textarea, input') ?? next)?.focus();
}
