import { expect, test } from 'vitest';
import { isQuietAt, parseQuietHours, timeOfDay } from '../../src/contract/quiet-hours.ts';

test.each([
  ['22:00-07:00', '22:00', true],
  ['22:00-07:00', '23:59', true],
  ['22:00-07:00', '00:00', true],
  ['22:00-07:00', '06:59', true],
  ['22:00-07:00', '07:00', false],
  ['22:00-07:00', '21:59', false],
  ['12:00-13:30', '12:00', true],
  ['12:00-13:30', '13:29', true],
  ['12:00-13:30', '13:30', false],
  ['12:00-13:30', '00:00', false],
  ['00:00-23:59', '23:58', true],
  ['00:00-23:59', '23:59', false],
  ['23:59-00:00', '23:59', true],
  ['', '00:00', false],
])('quiet hours %s, at %s: %s', (hours, time, expected) => {
  expect(isQuietAt(hours, time)).toBe(expected);
});

test('the time of day follows the zone, also over a change of summer time', () => {
  const [before, after] = [new Date('2026-03-29T00:59:00Z'), new Date('2026-03-29T01:00:00Z')];
  expect([timeOfDay(before, 'Europe/Berlin'), timeOfDay(after, 'Europe/Berlin')]).toEqual(['01:59', '03:00']);
  expect(timeOfDay(before, 'Asia/Kathmandu')).toBe('06:44');
  expect(timeOfDay(new Date('2026-01-01T00:00:00Z'), '')).toBe('00:00');
  expect(timeOfDay(new Date('2026-01-01T00:00:00Z'), 'Unknown/Zone')).toBe('00:00');
});

test.each(['22:00', '22:00-24:00', '2:00-07:00', '22:00-07:60', '07:00-07:00', '22:00-07:00 '])(
  '%s is refused',
  (text) => {
    expect(parseQuietHours(text)).toBeUndefined();
  },
);
