import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TOTALS, wireNameOf } from '../src/platform/totals.ts';

export const README = join(import.meta.dirname, '../src/api/README.md');

/** Returns src/api/README.md with its table of totals as the code declares it. */
export function withTotals(readme: string): string {
  const rows = Object.entries(TOTALS).map(([name, total]) => {
    const { max, description, note }: { max: number; description: string; note?: string } = total;
    const text = description.replace(/^Maximum (number of )?/, '');
    const details = note === undefined ? '' : `. ${note}`;
    return `| \`${wireNameOf(name as keyof typeof TOTALS)}\` | ${max.toLocaleString('en')} | ${text}${details} |\n`;
  });
  const table = /(?<=\| Total \| Limit \| Of \|\n\|---\|---\|---\|\n)(\|.*\n)+/;
  if (!table.test(readme)) throw new Error(`${README} has no table of totals`);
  return readme.replace(table, rows.join(''));
}

// `npm run schema` runs this file as a script.
if (import.meta.main) writeFileSync(README, withTotals(readFileSync(README, 'utf8')));
