import { median } from '../measure.ts';

/** A value that was measured in the browser. */
export interface Figure {
  readonly what: string;
  readonly unit: 'ms' | 's' | 'KiB' | 'MiB' | 'px';
  /** One value for each round, or a single value. */
  readonly seen: readonly number[];
  /** Highest accepted median, in `unit`. */
  readonly mark?: number;
  /** Conditions of the measurement. */
  readonly note?: string;
}

/** Prints one line for each figure: median, minimum, maximum, and whether the median is within the mark. */
export function printFigures(figures: readonly Figure[]): void {
  for (const { what, unit, seen, mark, note } of figures) {
    const middle = median(seen);
    const range = seen.length > 1 ? ` (${round(Math.min(...seen))} to ${round(Math.max(...seen))})` : '';
    const verdict = mark === undefined ? '' : `  ${middle <= mark ? 'meets' : 'MISSES'} ${mark} ${unit}`;
    console.log(`${what}: ${round(middle)} ${unit}${range}${verdict}`);
    if (note !== undefined) console.log(`    ${note}`);
  }
}

const round = (value: number): string => (value >= 100 ? String(Math.round(value)) : value.toPrecision(3));
