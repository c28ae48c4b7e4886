import { median } from '../measure.ts';

/** One thing that was measured in the browser. */
export interface Figure {
  readonly what: string;
  readonly unit: 'ms' | 's' | 'KiB' | 'MiB' | 'px';
  /** Of several rounds, or the one figure that several gave. */
  readonly seen: readonly number[];
  /** Not more than that. */
  readonly mark?: number;
  /** What makes it honest. */
  readonly note?: string;
}

/** One line each: the median, the least and the most, and whether the mark is reached. */
export function printFigures(figures: readonly Figure[]): void {
  for (const { what, unit, seen, mark, note } of figures) {
    const middle = median(seen);
    const range = seen.length > 1 ? ` (${round(Math.min(...seen))} to ${round(Math.max(...seen))})` : '';
    const verdict = mark === undefined ? '' : `  ${middle <= mark ? 'reaches' : 'MISSES'} ${mark} ${unit}`;
    console.log(`${what}: ${round(middle)} ${unit}${range}${verdict}`);
    if (note !== undefined) console.log(`    ${note}`);
  }
}

const round = (value: number): string => (value >= 100 ? String(Math.round(value)) : value.toPrecision(3));
