/** A suggested time with its label. */
export interface Preset {
  readonly label: string;
  readonly at: Date;
}

/** Hour of the suggested times on later days, in the browser's time zone. */
const MORNING_HOUR = 9;
const MINUTE_MS = 60_000;

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit' });
const WEEKDAY = new Intl.DateTimeFormat(undefined, { weekday: 'long' });

/** Returns the times that the menus of reminders and scheduled messages suggest, earliest first. */
export function presets(now = new Date()): readonly Preset[] {
  const later = (minutes: number) => new Date(now.getTime() + minutes * MINUTE_MS);
  const morning = (days: number) => new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, MORNING_HOUR);
  const toMonday = (8 - now.getDay()) % 7 || 7;
  const monday = morning(toMonday);
  return [
    { label: 'In 20 minutes', at: later(20) },
    { label: 'In an hour', at: later(60) },
    { label: 'In three hours', at: later(180) },
    { label: `Tomorrow at ${CLOCK.format(morning(1))}`, at: morning(1) },
    ...(toMonday === 1 ? [] : [{ label: `${WEEKDAY.format(monday)} at ${CLOCK.format(monday)}`, at: monday }]),
  ];
}

/** Returns a time as the value of a date and time field: in the browser's time zone, to the minute. */
export function fieldValueOf(at: Date): string {
  const local = new Date(at.getTime() - at.getTimezoneOffset() * MINUTE_MS);
  return local.toISOString().slice(0, 'yyyy-mm-ddThh:mm'.length);
}

/** Returns the time in one hour, as the value of a date and time field. */
export const inAnHour = (): string => fieldValueOf(new Date(Date.now() + 60 * MINUTE_MS));

/** Parses the value of a date and time field, in the browser's time zone. @returns The time in ISO 8601. */
export const momentIn = (value: FormDataEntryValue | null): string => new Date(String(value)).toISOString();
