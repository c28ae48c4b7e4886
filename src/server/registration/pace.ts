import type { Budget } from '../../platform/budget.ts';

/** Maximum delay of a poll, in milliseconds, by which events can be late. */
const MAX_DELAY_MS = 2_000;

/**
 * Returns how many milliseconds a poll should wait before it reads its queue, so that one response contains several events. The
 * result is 0 while more than half of the account's budget is left. After that, the rest of the budget is spread over the rest
 * of its window, so that a client that only polls never uses it up.
 *
 * @param budget Budget left after this request. Undefined if requests are not limited.
 * @param now Milliseconds since the epoch.
 */
export function pollDelayMs(budget: Budget | undefined, now: number): number {
  if (budget === undefined || budget.remaining > budget.limit / 2) return 0;
  const windowMs = Math.max(0, budget.resetAt.getTime() - now);
  return Math.min(MAX_DELAY_MS, windowMs / Math.max(1, budget.remaining));
}
