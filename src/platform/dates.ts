const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** Returns whether a text is a day of the calendar: "2026-02-28", not "2026-02-30". */
export function isDay(text: string): boolean {
  if (!DAY.test(text)) return false;
  const midnight = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(text);
}

const TIME =
  /^(\d{4}-\d\d-\d\d)(?:[T ]((?:[01]\d|2[0-3]):[0-5]\d)(:[0-5]\d(?:\.\d{1,9})?)?)?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?$/i;

/**
 * Parses a time in ISO 8601: a day, a time of day and a zone. The default time of day is midnight, the default zone
 * UTC.
 *
 * @returns Undefined if the text has another form, or the day or time of day does not exist.
 */
export function timeIn(text: string): Date | undefined {
  const [whole, day = '', minutes = '00:00', seconds = ':00', zone = 'Z'] = TIME.exec(text) ?? [];
  if (whole === undefined || !isDay(day)) return undefined;
  const time = new Date(`${day}T${minutes}${seconds}${zone.toUpperCase()}`);
  return Number.isNaN(time.getTime()) ? undefined : time;
}
