/** Matches two times of day from "00:00" to "23:59", such as "22:00-07:00". */
const FORM = /^((?:[01]\d|2[0-3]):[0-5]\d)-((?:[01]\d|2[0-3]):[0-5]\d)$/;

/** The minutes of a day at which quiet hours begin and end, as "HH:MM" on a 24-hour clock. */
export interface QuietHours {
  /** First quiet minute. */
  readonly from: string;
  /** First minute that is not quiet. If it is before `from`, the hours end on the next day. */
  readonly until: string;
}

/**
 * Returns the beginning and the end of quiet hours in the form "22:00-07:00". Undefined if the text has another form, or
 * beginning and end are equal.
 */
export function parseQuietHours(text: string): QuietHours | undefined {
  const [, from, until] = FORM.exec(text) ?? [];
  return from === undefined || until === undefined || from === until ? undefined : { from, until };
}

const clockIn = (timeZone: string): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZone });

/**
 * Returns the time of day in a time zone, as "HH:MM" on a 24-hour clock.
 *
 * @param timeZone IANA identifier. If it is empty, or this runtime does not know it, the time in UTC is returned.
 */
export function timeOfDay(at: Date, timeZone: string): string {
  try {
    return clockIn(timeZone === '' ? 'UTC' : timeZone).format(at);
  } catch {
    return clockIn('UTC').format(at);
  }
}

/** Returns whether a time of day, as "HH:MM", is within quiet hours. False if `hours` is not in the form of quiet hours. */
export function isQuietAt(hours: string, time: string): boolean {
  const quiet = parseQuietHours(hours);
  if (quiet === undefined) return false;
  const { from, until } = quiet;
  return from < until ? from <= time && time < until : from <= time || time < until;
}
