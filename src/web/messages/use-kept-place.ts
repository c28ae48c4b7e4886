import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef } from 'react';

/** What the reader looks at: the first message on the screen and how far below its top edge, or the end of the list. */
export type Place = { readonly id: string; readonly top: number } | 'end';

/** Closer than this to the end, the end is what is looked at. */
const NEAR_END = 40;

/** Where lists were left, for as long as the page is open. */
const left = new Map<string, Place>();

export const placeLeft = (key: string): Place | undefined => left.get(key);

/**
 * Keeps what the reader looks at where it is, to the pixel, whatever is put before it, taken away, or grows: only their
 * own scrolling moves it. At the end of the list it stays at the end.
 *
 * @param key Of the list: where it is left, it is found again.
 * @param version Another value for each change of what is in it.
 */
export function useKeptPlace(list: RefObject<HTMLElement | null>, key: string, version: unknown) {
  const place = useRef<Place>(undefined);
  /** Where the list was scrolled to when the place was noted, or shown. */
  const scrolledTo = useRef(0);

  const note = useCallback(() => {
    const element = list.current;
    if (element === null) return;
    place.current = placeIn(element);
    scrolledTo.current = element.scrollTop;
    left.set(key, place.current);
  }, [list, key]);

  const keep = useCallback(() => {
    const element = list.current;
    if (element === null || place.current === undefined) return;
    // Who has just scrolled, as a key does that goes to a message, is told of in the next frame.
    place.current = scrolled(element, place.current, element.scrollTop - scrolledTo.current);
    show(element, place.current);
    scrolledTo.current = element.scrollTop;
  }, [list]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: each change of what is in the list is one of where it is.
  useLayoutEffect(keep, [keep, version]);

  useEffect(() => {
    const element = list.current;
    if (element === null) return undefined;
    // Pictures, fonts and folds change heights later than the list changes.
    const observer = new ResizeObserver(keep);
    observer.observe(element);
    for (const child of element.children) observer.observe(child);
    element.addEventListener('scroll', note, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', note);
    };
  }, [list, keep, note]);

  /** Goes to a place, and keeps that from now on. */
  const go = useCallback(
    (to: Place) => {
      place.current = to;
      scrolledTo.current = list.current?.scrollTop ?? 0;
      left.set(key, to);
      keep();
    },
    [keep, key, list],
  );
  return { go, isAtEnd: () => place.current === 'end' };
}

function placeIn(list: HTMLElement): Place {
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

/** What is looked at after the list was scrolled, before anything else changed in it. */
function scrolled(list: HTMLElement, place: Place, by: number): Place {
  // What is no longer long enough is scrolled up by the browser.
  const isShortened = by < 0 && list.scrollHeight - list.scrollTop - list.clientHeight < 1;
  if (by === 0 || isShortened) return place;
  if (place === 'end') return by < -NEAR_END ? placeIn(list) : place;
  return { id: place.id, top: place.top - by };
}

function show(list: HTMLElement, place: Place): void {
  if (place === 'end') {
    list.scrollTop = list.scrollHeight;
    return;
  }
  const row = list.querySelector(`article[data-id="${CSS.escape(place.id)}"]`);
  if (row === null) return;
  const drift = row.getBoundingClientRect().top - list.getBoundingClientRect().top - place.top;
  if (Math.abs(drift) >= 0.5) list.scrollTop += drift;
}
