import type { User } from '../generated/prisma/client.ts';
import { userSetting } from './user-settings.ts';

/** Returns a time in the user's time zone: `2026-11-30 14:02`. In UTC if the user has set none: `2026-11-30 14:02 UTC`. */
export function localTime(time: Date, user: Pick<User, 'settings'>): string {
  const timeZone = userSetting(user, 'timezone') || 'UTC';
  const local = new Intl.DateTimeFormat('sv', { dateStyle: 'short', timeStyle: 'short', timeZone }).format(time);
  return timeZone === 'UTC' ? `${local} UTC` : local;
}
