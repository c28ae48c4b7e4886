/**
 * Maximum delay of a scheduled message after its scheduled time, in milliseconds. After a longer delay, the message fails,
 * because the owner may no longer want it to be sent.
 */
export const LATENESS_MS = 600_000;

/** Last second of the year 9999, in UNIX seconds. Date libraries disagree on later times. */
export const LAST_TIMESTAMP = 253_402_300_799;

/** Returns the latest time at which a scheduled message can be sent. If the message is not sent by then, it fails. */
export const latestDelivery = (scheduledAt: Date): Date =>
  new Date(Math.min(scheduledAt.getTime() + LATENESS_MS, LAST_TIMESTAMP * 1000));
