/** What would come later than this is not meant any more. */
export const LATENESS_MS = 600_000;

/** Our choice: the last second of the year 9999, beyond which date libraries disagree. */
export const LAST_TIMESTAMP = 253_402_300_799;

/** Should the service not come to send a message until then, it fails. */
export const lastMoment = (scheduledAt: Date): Date =>
  new Date(Math.min(scheduledAt.getTime() + LATENESS_MS, LAST_TIMESTAMP * 1000));
