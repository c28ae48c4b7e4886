import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROWS = join(import.meta.dirname, '../../src/web/messages/rows.ts');
/** Runs in a process of its own: the days are in the time zone of the process. */
const SCRIPT = `
  const { rowMaker } = await import(process.argv[1]);
  const times = JSON.parse(process.argv[2]);
  const message = (sentAt, i) => ({ id: String(i), sentAt, sender: { id: 'ann' }, channel: { id: 'c' }, topicName: 't' });
  console.log(JSON.stringify(rowMaker()(times.map(message), undefined).map(({ day }) => day ?? null)));
`;

/** Returns the day above each message of a list, as the page shows it in a time zone. Null if the page shows none. */
const daysIn = (zone: string, times: readonly string[]): (string | null)[] =>
  JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '-e', SCRIPT, ROWS, JSON.stringify(times)], {
      env: { TZ: zone, LC_ALL: 'en_US.UTF-8' },
      encoding: 'utf8',
    }),
  );

test.each([
  ['UTC', '2026-03-10T00:00:00Z'],
  ['America/New_York', '2026-03-10T04:00:00Z'],
  ['Asia/Kolkata', '2026-03-09T18:30:00Z'],
  ['Asia/Kathmandu', '2026-03-09T18:15:00Z'],
  ['Australia/Adelaide', '2026-03-09T13:30:00Z'],
  ['Pacific/Chatham', '2026-03-09T10:15:00Z'],
])('in %s the page begins a day at midnight, %s', (zone, midnight) => {
  const around = [-2, -1, 0, 1, 2].map((seconds) => new Date(Date.parse(midnight) + seconds * 1_000).toISOString());
  const [monday, tuesday] = ['Monday, March 9, 2026', 'Tuesday, March 10, 2026'];
  expect(daysIn(zone, around)).toEqual([monday, null, tuesday, null, null]);
});
