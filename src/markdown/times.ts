import { escapeText } from './escape.ts';
import type { Inline } from './inline-text.ts';

/** Matches `<time:T>`, in which T has at most 100 characters. A longer T remains text. */
const TIME = /<time:([^>\n]{1,100})>/g;

/** Replaces `<time:T>` in a text by placeholders of times. Clients show a time in the time zone of the reader. */
export function times(inline: Inline, text: string): string {
  if (!text.includes('<time:')) return text;
  return text.replace(TIME, (source: string, written: string) => {
    const time = parseTime(written);
    if (time === undefined) return inline.literal(source);
    const datetime = time.toISOString().replace(/\.\d+Z$/, 'Z');
    return inline.keep(source, `<time datetime="${datetime}">${escapeText(written)}</time>`);
  });
}

const UNIX_SECONDS = /^\d{1,12}(?:\.\d+)?$/;
const ISO =
  /^(\d{4}-\d{2}-\d{2})(?:(?:T|\s+)(\d{2}:\d{2})(:\d{2})?(?:[.,]\d{1,9})?\s*(?:(Z)|([+-]\d{2}):?(\d{2})?)?)?$/i;

const MONTHS = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ');
const MONTH =
  /^(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)$/;
const WEEKDAYS = 'sun mon tue wed thu fri sat'.split(' ');
const WEEKDAY = /^(?:sun|mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?)(?:day)?$/;
/** Hours by which a time zone is ahead of UTC, by the name of the zone. */
const ZONES: ReadonlyMap<string, number> = new Map([
  ...(['utc', 'gmt', 'z'] as const).map((name) => [name, 0] as const),
  ...(['est', 'cst', 'mst', 'pst'] as const).map((name, i) => [name, -5 - i] as const),
  ...(['edt', 'cdt', 'mdt', 'pdt'] as const).map((name, i) => [name, -4 - i] as const),
]);

/** A calendar day as numbers. Months count from 1. */
type Day = readonly [year: number, month: number, day: number];

/**
 * Parses a time in one of three forms: UNIX seconds, ISO 8601, or a day with month and year in words or numbers. Examples of
 * the last form are "Jan 2, 2024 3:04 PM EST", "2-Jan-2024" and "1/2/2024". The time of day is optional. If no time zone is
 * given, it is UTC. Fractions of a second are dropped.
 *
 * @returns Undefined for a text in another form, and for a year without four digits. Also undefined for a day or a time of day
 *   that does not exist, and for a wrong day of the week.
 */
export function parseTime(text: string): Date | undefined {
  const written = text.trim();
  const milliseconds = UNIX_SECONDS.test(written) ? Math.floor(Number(written)) * 1000 : parseDate(written);
  const time = new Date(milliseconds);
  const year = time.getUTCFullYear();
  return year >= 1 && year <= 9999 ? time : undefined;
}

function parseDate(text: string): number {
  const [whole, day = '', time = '00:00', seconds = ':00', , hours = '+00', minutes = '00'] = ISO.exec(text) ?? [];
  if (whole === undefined) return parseWords(text.toLowerCase());
  const [year = 0, month = 0, dayOfMonth = 0] = day.split('-').map(Number);
  if (Number.isNaN(midnightOf([year, month, dayOfMonth])) || time.startsWith('24')) return Number.NaN;
  return Date.parse(`${day}T${time}${seconds}${hours}:${minutes}`);
}

/** Returns the start of a day in UTC, in milliseconds since 1970. NaN if the day does not exist. */
function midnightOf([year, month, day]: Day): number {
  const midnight = new Date(0);
  midnight.setUTCFullYear(year, month - 1, day);
  const isSame = midnight.getUTCMonth() === month - 1 && midnight.getUTCDate() === day && month >= 1 && month <= 12;
  return isSame ? midnight.getTime() : Number.NaN;
}

const TOKEN =
  /\d{4}-\d{2}-\d{2}(?!\d)|\d+(?::\d+)+(?:[.,]\d+)?|\d+(?:[/.]\d+){2}|[+-]\d{2}:?\d{2}(?!\d)|\d+|[a-z]+|[^\s,]/g;
const TIME_OF_DAY = /^(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?$/;
const OFFSET = /^([+-])(\d{2}):?(\d{2})$/;

/**
 * Parses a date in words. Returns milliseconds since 1970, or NaN if the text has another form. Each part of the date can occur
 * once, in the orders that people write.
 */
function parseWords(text: string): number {
  const plain = text
    .replace(/\([^()]*\)/g, ' ')
    .replace(/(\d)(?:st|nd|rd|th)\b/g, '$1')
    .replace(/\bat\b/g, ' ')
    .replace(/\b([ap])\.m\.?/g, '$1m')
    .replace(/\b(\d{1,4})-([a-z]{3,9})-(\d{1,4})\b/g, '$1 $2 $3')
    .replace(/([a-z]{3,4}|\b\d{1,2})\.(?=\s)/g, '$1')
    .replace(
      /\b(utc|gmt)([+-])(\d{1,2})\b(?!:)/g,
      (_, zone, sign, hours) => `${zone} ${sign}${hours.padStart(2, '0')}00`,
    )
    .replace(/(\d)(?=[a-z])/g, '$1 ');
  const tokens = plain.match(TOKEN) ?? [];
  const day = takeDay(tokens);
  const time = takeTime(tokens);
  const zone = takeZone(tokens);
  const weekday = WEEKDAY.test(tokens[0] ?? '') ? tokens.shift()?.slice(0, 3) : undefined;
  if (day === undefined || time === undefined || tokens.length > 0) return Number.NaN;
  const midnight = midnightOf(day);
  if (weekday !== undefined && weekday !== WEEKDAYS[new Date(midnight).getUTCDay()]) return Number.NaN;
  return midnight + (time - zone) * 1000;
}

/**
 * Removes the day from the tokens of a date and returns it. Undefined if the tokens contain no day. Forms of a day: "2 jan
 * 2024", "jan 2 2024", "2024 jan 2", "1/2/2024", "2024/1/2" and "2024-01-02".
 */
function takeDay(tokens: string[]): Day | undefined {
  const figures = tokens.findIndex((token) => /^\d+(?:\/\d+){2}$|^\d+-\d+-\d+$/.test(token));
  if (figures !== -1) {
    const parts = (tokens.splice(figures, 1)[0] ?? '').split(/[/-]/);
    const [first = 0, second = 0, third = 0] = parts.map(Number);
    if (parts[0]?.length === 4) return [first, second, third];
    return parts[2]?.length === 4 ? [third, first, second] : undefined;
  }
  const month = tokens.findIndex((token) => MONTH.test(token));
  const isNumber = (at: number) => /^\d+$/.test(tokens[at] ?? '');
  if (month === -1) return undefined;
  // The two numbers are before and after the month, or both after it.
  const from = isNumber(month - 1) && isNumber(month + 1) ? month - 1 : month;
  const numbers = from === month ? [month + 1, month + 2] : [month - 1, month + 1];
  if (!numbers.every(isNumber)) return undefined;
  const [a = '', b = ''] = numbers.map((at) => tokens[at] ?? '');
  const [year, day] = a.length === 4 ? [a, b] : [b, a];
  if (year.length !== 4 || day.length > 2) return undefined;
  const monthNumber = MONTHS.indexOf((tokens[month] ?? '').slice(0, 3)) + 1;
  tokens.splice(from, 3);
  return [Number(year), monthNumber, Number(day)];
}

/**
 * Removes the time of day from the tokens of a date and returns it.
 *
 * @returns Seconds since midnight. 0 if there is no time of day. Undefined if the time does not exist.
 */
function takeTime(tokens: string[]): number | undefined {
  const half = tokens.findIndex((token) => token === 'am' || token === 'pm');
  const at = half === -1 ? tokens.findIndex((token) => token.includes(':') && !OFFSET.test(token)) : half - 1;
  if (at < 0) return half === -1 ? 0 : undefined;
  const written = tokens[at] ?? '';
  const [, hour, minute, second = '0'] =
    TIME_OF_DAY.exec(half !== -1 && /^\d+$/.test(written) ? `${written}:00` : written) ?? [];
  const [hours, minutes, seconds] = [Number(hour), Number(minute), Number(second)];
  const isPossible = half === -1 ? hours < 24 : hours >= 1 && hours <= 12;
  if (!isPossible || !(minutes < 60) || !(seconds < 60)) return undefined;
  const isAfternoon = tokens[half] === 'pm';
  tokens.splice(at, half === -1 ? 1 : 2);
  const ofDay = half === -1 ? hours : (hours % 12) + (isAfternoon ? 12 : 0);
  return (ofDay * 60 + minutes) * 60 + seconds;
}

/**
 * Removes the time zone from the tokens of a date: a name, an offset, or both ("gmt+0100"). Returns the number of seconds by
 * which the zone is ahead of UTC; 0 if there is no zone.
 */
function takeZone(tokens: string[]): number {
  let seconds = 0;
  const name = tokens.findIndex((token) => ZONES.has(token));
  if (name !== -1) seconds += (ZONES.get(tokens.splice(name, 1)[0] ?? '') ?? 0) * 3600;
  const offset = tokens.findIndex((token) => OFFSET.test(token));
  const [whole, sign, hours, minutes] = OFFSET.exec(tokens[offset] ?? '') ?? [];
  if (whole === undefined || Number(hours) > 23 || Number(minutes) > 59) return seconds;
  tokens.splice(offset, 1);
  return seconds + (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60;
}
