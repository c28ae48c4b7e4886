import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { Runtime } from '../../access/context.ts';
import { RateLimitHitError } from '../../platform/errors.ts';

const LIMITS = [
  { points: 2, duration: 3600 },
  { points: 5, duration: 86_400 },
];

/** Limiters of attempts to change email addresses, for each running service. Several services may run in one process. */
const limitersOf = new WeakMap<Runtime, readonly RateLimiterMemory[]>();

/**
 * Counts an attempt of a user to change their email address.
 *
 * @throws RateLimitHitError after 2 attempts within an hour, or 5 within a day.
 */
export async function countAttempt(app: Runtime, userId: number): Promise<void> {
  const limiters = limitersOf.get(app) ?? LIMITS.map((limit) => new RateLimiterMemory(limit));
  limitersOf.set(app, limiters);
  for (const limiter of limiters) {
    try {
      await limiter.consume(userId);
    } catch (error) {
      if (error instanceof RateLimiterRes) throw new RateLimitHitError(Math.ceil(error.msBeforeNext / 1000));
      throw error;
    }
  }
}
