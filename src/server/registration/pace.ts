import type { Budget } from '../../platform/budget.ts';

/** Maximum delay of a poll, in milliseconds. An event can arrive late by as much. */
const MAX_DELAY_MS = 2_000;

/**
 * Returns how many milliseconds a poll should wait before it reads its queue, so that one response contains several events. The
 * result is 0 while more than half of the account's request budget is left. After that, the remaining requests are spread over
 * the remaining time of the budget's window. A client that only polls therefore never uses up the budget.
 *
 * @param budget Budget left after this request. Undefined if requests are not limited.
 * @param now Milliseconds since the epoch.
 */
export function pollDelayMs(budget: Budget | undefined, now: number): number {
  if (budget === undefined || budget.remaining > budget.limit / 2) return 0;
  const windowMs = Math.max(0, budget.resetAt.getTime() - now);
  return Math.min(MAX_DELAY_MS, windowMs / Math.max(1, budget.remaining));
}
