import { median } from '../measure.ts';

/** A quantity that the benchmark measured in the browser. */
export interface Figure {
  readonly what: string;
  readonly unit: 'ms' | 's' | 'KiB' | 'MiB' | 'px';
  /** Measured values: one for each round, or a single one. */
  readonly seen: readonly number[];
  /** Highest accepted median of the values, in `unit`. */
  readonly mark?: number;
  /** Conditions under which the values were measured. */
  readonly note?: string;
}

/** Prints one line for each figure: median, minimum, maximum, and whether the median is at most the highest accepted value. */
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
