import type { User } from '../generated/prisma/client.ts';
import { isTimeZone } from '../platform/time-zone.ts';
import { userSetting } from './user-settings.ts';

type ZonedUser = Pick<User, 'settings'>;

/** Returns the user's time zone. UTC if the user has set none, or this runtime does not support it. */
function timeZoneOf(user: ZonedUser): string {
  const timeZone = userSetting(user, 'timezone');
  return isTimeZone(timeZone) ? timeZone : 'UTC';
}

/** Returns a time in the user's time zone: `2026-11-30 14:02`. In UTC if the user has set none: `2026-11-30 14:02 UTC`. */
export function localTime(time: Date, user: ZonedUser): string {
  const timeZone = timeZoneOf(user);
  const local = new Intl.DateTimeFormat('sv', { dateStyle: 'short', timeStyle: 'short', timeZone }).format(time);
  return timeZone === 'UTC' ? `${local} UTC` : local;
}

/** Returns the time at which a day reaches an hour in the user's time zone, or in UTC if the user has set none. @param day As `2026-11-30`. */
export function atLocalHour(day: string, hour: number, user: ZonedUser): Date {
  const clock = new Intl.DateTimeFormat('sv', { dateStyle: 'short', timeStyle: 'medium', timeZone: timeZoneOf(user) });
  const wanted = Date.parse(`${day}T${String(hour).padStart(2, '0')}:00:00Z`);
  const offsetAt = (time: number) => Date.parse(`${clock.format(time).replace(' ', 'T')}Z`) - time;
  // The offset can differ between the first estimate and the result, if the clocks change between them.
  return new Date(wanted - offsetAt(wanted - offsetAt(wanted)));
}
