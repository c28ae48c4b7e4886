import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef } from 'react';

/**
 * A scroll position: the end of the list, or the ID of the first visible message and its distance from the top edge of the list
 * in pixels.
 */
export type ScrollPosition = { readonly id: string; readonly top: number } | 'end';

/** Distance from the end, in pixels, within which the list counts as scrolled to the end. */
const NEAR_END = 40;

/** Last scroll position of each message list, by the key of the list. Kept until the page is closed. */
const left = new Map<string, ScrollPosition>();

export const positionLeft = (key: string): ScrollPosition | undefined => left.get(key);

/**
 * Keeps the visible messages at the same position on the screen while content above them is added, removed or resized. Only
 * scrolling by the user moves them. If the list is scrolled to its end, it stays there.
 *
 * @param key Identifies the list. When a list with this key is opened again, its position is restored.
 * @param version A value that changes whenever the content of the list changes.
 */
export function useKeptPosition(list: RefObject<HTMLElement | null>, key: string, version: unknown) {
  const position = useRef<ScrollPosition>(undefined);
  /** `scrollTop` at the time when the position was recorded or restored. */
  const scrolledTo = useRef(0);

  const note = useCallback(() => {
    const element = list.current;
    if (element === null) return;
    position.current = positionIn(element);
    scrolledTo.current = element.scrollTop;
    left.set(key, position.current);
  }, [list, key]);

  const keep = useCallback(() => {
    const element = list.current;
    if (element === null || position.current === undefined) return;
    // If the list has just been scrolled, such as by a shortcut, the scroll event arrives only in the next frame. The distance
    // of the scroll is therefore added here.
    position.current = scrolled(element, position.current, element.scrollTop - scrolledTo.current);
    show(element, position.current);
    scrolledTo.current = element.scrollTop;
  }, [list]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: new rows move the rows that are already shown.
  useLayoutEffect(keep, [keep, version]);

  useEffect(() => {
    const element = list.current;
    if (element === null) return undefined;
    // Images, fonts and spoilers change heights after the list has changed.
    const observer = new ResizeObserver(keep);
    observer.observe(element);
    for (const child of element.children) observer.observe(child);
    element.addEventListener('scroll', note, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', note);
    };
  }, [list, keep, note]);

  /** Scrolls to a position. Later changes of the content do not move the messages that are then visible. */
  const go = useCallback(
    (to: ScrollPosition) => {
      position.current = to;
      scrolledTo.current = list.current?.scrollTop ?? 0;
      left.set(key, to);
      keep();
    },
    [keep, key, list],
  );
  return { go, isAtEnd: () => position.current === 'end' };
}

function positionIn(list: HTMLElement): ScrollPosition {
  if (list.scrollHeight - list.scrollTop - list.clientHeight < NEAR_END) return 'end';
  const edge = list.getBoundingClientRect().top;
  const rows = list.querySelectorAll<HTMLElement>('article[data-id]');
  let [low, high] = [0, rows.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows[middle]?.getBoundingClientRect().bottom ?? 0) > edge) high = middle;
    else low = middle + 1;
  }
  const row = rows[low];
  if (row === undefined) return 'end';
  return { id: row.dataset['id'] ?? '', top: row.getBoundingClientRect().top - edge };
}

/** Returns the position after a scroll whose event has not arrived yet. @param by Distance of the scroll, in pixels. */
function scrolled(list: HTMLElement, position: ScrollPosition, by: number): ScrollPosition {
  // If the content gets too short for the scroll position, the browser scrolls up by itself.
  const isShortened = by < 0 && list.scrollHeight - list.scrollTop - list.clientHeight < 1;
  if (by === 0 || isShortened) return position;
  if (position === 'end') return by < -NEAR_END ? positionIn(list) : position;
  return { id: position.id, top: position.top - by };
}

function show(list: HTMLElement, position: ScrollPosition): void {
  if (position === 'end') {
    list.scrollTop = list.scrollHeight;
    return;
  }
  const row = list.querySelector(`article[data-id="${CSS.escape(position.id)}"]`);
  if (row === null) return;
  const drift = row.getBoundingClientRect().top - list.getBoundingClientRect().top - position.top;
  if (Math.abs(drift) >= 0.5) list.scrollTop += drift;
}
