import type { User } from '../generated/prisma/client.ts';
import { userSetting } from './user-settings.ts';

/** Returns a time in the user's time zone: `2026-11-30 14:02`. In UTC if the user has set none: `2026-11-30 14:02 UTC`. */
export function localTime(time: Date, user: Pick<User, 'settings'>): string {
  const timeZone = userSetting(user, 'timezone') || 'UTC';
  const local = new Intl.DateTimeFormat('sv', { dateStyle: 'short', timeStyle: 'short', timeZone }).format(time);
  return timeZone === 'UTC' ? `${local} UTC` : local;
}

/** Returns the time at which a day reaches an hour in the user's time zone, or in UTC if the user has set none. @param day As `2026-11-30`. */
export function atLocalHour(day: string, hour: number, user: Pick<User, 'settings'>): Date {
  const clock = clockOf(userSetting(user, 'timezone'));
  const wanted = Date.parse(`${day}T${String(hour).padStart(2, '0')}:00:00Z`);
  const offsetAt = (time: number) => Date.parse(`${clock.format(time).replace(' ', 'T')}Z`) - time;
  // The offset can differ between the first estimate and the result, if the clocks change between them.
  return new Date(wanted - offsetAt(wanted - offsetAt(wanted)));
}

/** Returns a format with the date and the time of a time zone. UTC if it is empty, or this runtime does not know it. */
function clockOf(timeZone: string): Intl.DateTimeFormat {
  const form = { dateStyle: 'short', timeStyle: 'medium' } as const;
  try {
    return new Intl.DateTimeFormat('sv', { ...form, timeZone: timeZone || 'UTC' });
  } catch {
    return new Intl.DateTimeFormat('sv', { ...form, timeZone: 'UTC' });
  }
}
