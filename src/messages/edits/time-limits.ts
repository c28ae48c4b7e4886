/** How long after its time limit an edit is still taken, because it may have been under way. */
export const GRACE_SECONDS = 20;

/** Whether more than `limitSeconds` have passed; null is no limit. */
export function isPast(since: Date, limitSeconds: number | null, now: Date): boolean {
  return limitSeconds !== null && now.getTime() - since.getTime() > limitSeconds * 1000;
}

/** Whether the time for an edit is over, with its grace. */
export function isTooLate(since: Date, limitSeconds: number | null, now: Date): boolean {
  return limitSeconds !== null && isPast(since, limitSeconds + GRACE_SECONDS, now);
}
