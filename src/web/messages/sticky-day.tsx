import { type RefObject, useEffect, useState } from 'react';
import { type Row, shortDayOf } from './rows.ts';

interface Props {
  readonly list: RefObject<HTMLElement | null>;
  readonly rows: readonly Row[];
}

/** Day of the first visible message, above the list while older messages are above it. Screen readers read the day lines. */
export function StickyDay({ list, rows }: Props) {
  const [day, setDay] = useState<string>();
  useEffect(() => {
    const element = list.current;
    if (element === null) return undefined;
    let frame = 0;
    const look = () => {
      frame = 0;
      setDay(dayAtTop(element, rows));
    };
    const plan = () => {
      if (frame === 0) frame = requestAnimationFrame(look);
    };
    plan();
    element.addEventListener('scroll', plan, { passive: true });
    return () => {
      cancelAnimationFrame(frame);
      element.removeEventListener('scroll', plan);
    };
  }, [list, rows]);
  if (day === undefined) return null;
  return (
    <div className="sticky-day" aria-hidden="true">
      {day}
    </div>
  );
}

/** Height in pixels of the area at the top in which the day is shown. */
const AREA = 40;

/** Returns the day of the first visible message. Undefined if its day line is visible, or if there are no rows. */
function dayAtTop(list: HTMLElement, rows: readonly Row[]): string | undefined {
  if (list.scrollTop < AREA) return undefined;
  const edge = list.getBoundingClientRect().top;
  const articles = list.querySelectorAll<HTMLElement>('article[data-id]');
  let [low, high] = [0, articles.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((articles[middle]?.getBoundingClientRect().bottom ?? 0) > edge + AREA) high = middle;
    else low = middle + 1;
  }
  const [row, article] = [rows[low], articles[low]];
  if (row === undefined || article === undefined) return undefined;
  const isLineShown = row.day !== undefined && article.getBoundingClientRect().top > edge;
  return isLineShown ? undefined : shortDayOf(row.message);
}
