import { median, spread } from './measure.ts';

/**
 * One measurement of the service and, if there is a yardstick, the measurement of that. A yardstick is a server that the
 * service is compared with.
 */
export interface Row {
  readonly id: string;
  readonly what: string;
  readonly unit: string;
  readonly service: readonly number[];
  readonly yardstick?: readonly number[];
  /** Lowest accepted ratio of the service's value to that of the yardstick. */
  readonly mark?: number;
  /** Reason why the values of the service and the yardstick cannot be compared. */
  readonly unequal?: string | undefined;
  /** Conditions from which a reader can judge whether the comparison is fair: sizes, CPU shares, reads. */
  readonly facts: Readonly<Record<string, string | number>>;
}

/**
 * Returns the median over the rounds of the ratio of the service to the yardstick. Rounds are interleaved, so both values of a
 * ratio were measured shortly after each other.
 */
export function ratioOf({ service, yardstick = [] }: Row): number {
  return median(service.map((value, i) => value / (yardstick[i] ?? Number.NaN)));
}

function verdictOf(row: Row): string {
  if (row.yardstick === undefined) return '';
  if (row.unequal !== undefined) return `VOID: ${row.unequal}`;
  if (row.mark === undefined) return 'for information';
  return ratioOf(row) >= row.mark ? `meets ${row.mark}` : `BELOW ${row.mark}`;
}

const figure = (value: number) =>
  value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3).replace(/\.0+$/, '');

export function printTable(rows: readonly Row[]): void {
  const cells = rows.map((row) => [
    `${row.id} ${row.what}`,
    `${figure(median(row.service))} ${row.unit}`,
    row.service.length > 1 ? spread(row.service) : '',
    row.yardstick === undefined ? '' : `${figure(median(row.yardstick))} ${row.unit}`,
    row.yardstick === undefined || row.yardstick.length < 2 ? '' : spread(row.yardstick),
    row.yardstick === undefined ? '' : ratioOf(row).toFixed(2),
    verdictOf(row),
  ]);
  printColumns([['measurement', 'service', 'spread', 'yardstick', 'spread', 'ratio', 'mark'], ...cells]);
  for (const { id, what, facts } of rows) {
    const said = Object.entries(facts).map(([name, value]) => `${name}: ${value}`);
    if (said.length > 0) console.log(`${id} ${what}\n    ${said.join('\n    ')}`);
  }
  console.log();
}

/** Prints rows of cells in columns, and an empty line after them. */
export function printColumns(table: readonly (readonly string[])[]): void {
  const widths = (table[0] ?? []).map((_, column) => Math.max(...table.map((line) => line[column]?.length ?? 0)));
  for (const line of table)
    console.log(
      line
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    );
  console.log();
}

/** Prints all results as one JSON object, on the last line of the output. */
export function printJson(environment: Readonly<Record<string, unknown>>, rows: readonly Row[]): void {
  const results = rows.map((row) => ({
    ...row,
    median: median(row.service),
    ...(row.yardstick !== undefined && {
      yardstickMedian: median(row.yardstick),
      ratio: Number(ratioOf(row).toFixed(3)),
      verdict: verdictOf(row),
    }),
  }));
  console.log(JSON.stringify({ environment, results }));
}
