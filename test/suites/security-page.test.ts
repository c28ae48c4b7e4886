import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const page = readFileSync(join(import.meta.dirname, '../../.github/SECURITY.md'), 'utf8');
const rows = page.split('\n').filter((line) => /^\| (?!Threat|---)/.test(line));

test('every row of the security page names an existing test', () => {
  expect(rows.length).toBeGreaterThan(25);
  const missing = rows.flatMap((row) => {
    const named = [...(row.split('|').at(-2) ?? '').matchAll(/`([\w./-]+): ([^`]+)`/g)];
    if (named.length === 0) return [row];
    return named.flatMap(([text, file = '', title = '']) =>
      readFileSync(join(import.meta.dirname, '..', file), 'utf8').includes(title) ? [] : [text],
    );
  });
  expect(missing).toEqual([]);
});
