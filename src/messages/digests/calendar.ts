import { atLocalHour } from '../../access/local-time.ts';
import type { User } from '../../generated/prisma/client.ts';

const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
/** Hour of the day at which digests are sent, in the time zones of their recipients. */
const HOUR = 8;
/** Maximum difference by which a time zone is ahead of UTC, in hours. */
const MAX_AHEAD = 14;
/** Time in which a round can begin, in hours. It ends when the first digests are due: at 18:00 UTC of the day before. */
const BEGINNING_HOURS = 6;

/**
 * Returns the day whose digests are queued at a time, as `2026-11-30`. Its digests are queued from 12:00 UTC of the day before
 * until 12:00 UTC of the day.
 */
export const roundDay = (now: Date): string =>
  new Date(now.getTime() + (MAX_AHEAD - HOUR + BEGINNING_HOURS) * HOUR_MS).toISOString().slice(0, 10);

/**
 * Returns whether the round of a day can begin at a time: before any of its digests is due. So no digest is late because the
 * settings of its organization were changed.
 */
export const canBegin = (day: string, now: Date): boolean =>
  now.getTime() < Date.parse(day) - (MAX_AHEAD - HOUR) * HOUR_MS;

/** Returns the day of the week of a day, as in the setting `digest_weekday`: 0 for Monday. */
export const weekdayOf = (day: string): number => (new Date(day).getUTCDay() + 6) % 7;

/** Returns the day that is a number of days before another one. */
export const daysBefore = (day: string, count: number): string =>
  new Date(Date.parse(day) - count * DAY_MS).toISOString().slice(0, 10);

/** Returns the time at which the digest of a day is due for a user. */
export const digestTime = (day: string, user: Pick<User, 'settings'>): Date => atLocalHour(day, HOUR, user);
