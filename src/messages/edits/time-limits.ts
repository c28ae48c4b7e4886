/** Time in seconds after the time limit during which an edit is still accepted, because its request may have been in flight. */
export const GRACE_SECONDS = 20;

/** Returns whether more than `limitSeconds` have passed since a time. If `limitSeconds` is null, there is no limit. */
export function isPast(since: Date, limitSeconds: number | null, now: Date): boolean {
  return limitSeconds !== null && now.getTime() - since.getTime() > limitSeconds * 1000;
}

/**
 * Returns whether the time limit for an edit has passed, including the grace period. If `limitSeconds` is null, there is no
 * limit.
 */
export function isTooLate(since: Date, limitSeconds: number | null, now: Date): boolean {
  return limitSeconds !== null && isPast(since, limitSeconds + GRACE_SECONDS, now);
}
