import { type KeyboardEvent, type RefObject, useCallback, useState } from 'react';
import { isKey, SHORTCUTS } from '../keyboard/keys.ts';
import { TAB_STOPS } from '../markdown/markup.ts';

/**
 * Makes a message list a single tab stop. Arrows, Page Up, Page Down, Home and End move the focus from message to message.
 * Enter moves the focus into a message, where left and right arrows move it through links, players and buttons. Escape moves the
 * focus back to the message. `SHORTCUTS` defines the keys.
 */
export function useRovingFocus(list: RefObject<HTMLElement | null>) {
  const [stop, setStop] = useState<string>();
  const onKeyDown = useCallback(
    (event: KeyboardEvent<HTMLElement>) => {
      const rows = [...(list.current?.querySelectorAll<HTMLElement>('article[data-id]') ?? [])];
      const target = event.target as HTMLElement;
      const row = target.closest<HTMLElement>('article[data-id]');
      if (row === null) return;
      const isInside = target !== row;
      if (event.key === 'Escape' && isInside) row.focus();
      else if (event.key === 'Enter' && !isInside) row.querySelector<HTMLElement>(TAB_STOPS)?.focus();
      else if (target instanceof HTMLMediaElement && seekStep(event) !== 0) target.currentTime += seekStep(event);
      else {
        const next = isInside ? nextStop(event.key, row, target) : nextRow(event, rows, rows.indexOf(row));
        if (next === undefined) return;
        next.focus({ preventScroll: true });
        next.scrollIntoView({ block: 'nearest' });
      }
      event.preventDefault();
    },
    [list],
  );
  const onKeyDownCapture = useCallback(
    (event: KeyboardEvent<HTMLElement>) => {
      // Chromium seeks on every arrow key that reaches a player, even if the default action is prevented.
      if (!(event.target instanceof HTMLMediaElement) || !/^Arrow(?:Left|Right)$/.test(event.key)) return;
      event.stopPropagation();
      onKeyDown(event);
    },
    [onKeyDown],
  );
  const onFocus = useCallback((event: { readonly target: EventTarget }) => {
    const row = (event.target as HTMLElement).closest<HTMLElement>('article[data-id]');
    if (row !== null) setStop(row.dataset['id']);
  }, []);
  return { stop, onKeyDown, onKeyDownCapture, onFocus };
}

/** Returns the number of seconds by which a key moves a player. 0 for other keys. */
function seekStep(event: KeyboardEvent): number {
  const { seek, seekBack } = SHORTCUTS.list;
  if (isKey(seek, event)) return 5;
  return isKey(seekBack, event) ? -5 : 0;
}

function nextStop(key: string, row: HTMLElement, from: HTMLElement): HTMLElement | undefined {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
  const stops = [...row.querySelectorAll<HTMLElement>(TAB_STOPS)].filter((stop) => stop.checkVisibility());
  const at = stops.indexOf(from);
  return step === undefined || at < 0 ? undefined : stops.at((at + step) % stops.length);
}

function nextRow(event: KeyboardEvent, rows: readonly HTMLElement[], at: number): HTMLElement | undefined {
  const { next, before, first, last } = SHORTCUTS.list;
  if (isKey(first, event)) return rows[0];
  if (isKey(last, event)) return rows.at(-1);
  if (isKey(next, event)) return rows[at + 1];
  return isKey(before, event) ? rows[at - 1] : undefined;
}
