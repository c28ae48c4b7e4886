import { escapeText } from './escape.ts';
import type { Inline } from './inline-text.ts';

/** Our choice: no date is longer. */
const TIME = /<time:([^>\n]{1,100})>/g;

/** `<time:T>`: a moment, which each reader sees in their own time zone. */
export function times(inline: Inline, text: string): string {
  if (!text.includes('<time:')) return text;
  return text.replace(TIME, (source: string, written: string) => {
    const moment = parseTime(written);
    if (moment === undefined) return inline.literal(source);
    const datetime = moment.toISOString().replace(/\.\d+Z$/, 'Z');
    return inline.keep(source, `<time datetime="${datetime}">${escapeText(written)}</time>`);
  });
}

const UNIX_SECONDS = /^\d{1,12}(?:\.\d+)?$/;
const ISO =
  /^(\d{4}-\d{2}-\d{2})(?:(?:T|\s+)(\d{2}:\d{2})(:\d{2})?(?:[.,]\d{1,9})?\s*(?:(Z)|([+-]\d{2}):?(\d{2})?)?)?$/i;

/** Words of dates that are not written in figures alone. The engine's own parser would take any others for months. */
const WORDS =
  /^(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|(?:sun|mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?)(?:day)?|[ap]m|utc|gmt|[ecmp][sd]t|z)$/;
const ZONE = /\b(?:utc|gmt|[ecmp][sd]t|z)\b|:\d{2}\s*z|[+-]\d{2}:?\d{2}$/;

/**
 * The moment a text names: UNIX seconds, ISO 8601, or a day with month and year in words or figures ("Jan 2, 2024
 * 3:04 PM EST", "1/2/2024"), with or without a time of day. Without a zone it is UTC. Fractions of a second are dropped.
 *
 * @returns undefined for what is no date, or has no year of four digits.
 */
export function parseTime(text: string): Date | undefined {
  const written = text.trim();
  const milliseconds = UNIX_SECONDS.test(written) ? Math.floor(Number(written)) * 1000 : parseDate(written);
  const moment = new Date(milliseconds);
  const year = moment.getUTCFullYear();
  return year >= 1 && year <= 9999 ? moment : undefined;
}

function parseDate(text: string): number {
  const [whole, day = '', time = '00:00', seconds = ':00', , hours = '+00', minutes = '00'] = ISO.exec(text) ?? [];
  if (whole === undefined) return parseWords(text.toLowerCase());
  const midnight = Date.parse(`${day}T00:00:00Z`);
  // The thirtieth of February would become a day of March.
  if (Number.isNaN(midnight) || !new Date(midnight).toISOString().startsWith(day)) return Number.NaN;
  return Date.parse(`${day}T${time}${seconds}${hours}:${minutes}`);
}

function parseWords(text: string): number {
  const plain = text
    .replace(/\([^()]*\)/g, ' ')
    .replace(/(\d)(?:st|nd|rd|th)\b/g, '$1')
    .replace(/\bat\b/g, ' ')
    .replace(/\b([ap])\.m\.?/g, '$1m')
    .replace(/(\d)([ap]m)\b/g, '$1 $2');
  const words = plain.match(/[a-z]+/g) ?? [];
  const isDate = /^[\w\s,.:/+-]*$/.test(plain) && /\b\d{4}\b/.test(plain) && words.every((word) => WORDS.test(word));
  if (!isDate) return Number.NaN;
  return Date.parse(ZONE.test(plain) ? plain : `${plain} utc`);
}
