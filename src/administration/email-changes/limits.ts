import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { App } from '../../access/context.ts';
import { RateLimitHitError } from '../../platform/errors.ts';

const LIMITS = [
  { points: 2, duration: 3600 },
  { points: 5, duration: 86_400 },
];

/** Limiters by database. All `App` objects of a database share the limiters, including those that run within a transaction. */
const limitersOf = new WeakMap<App['database'], readonly RateLimiterMemory[]>();

/**
 * Counts an attempt of a user to change their email address.
 *
 * @throws RateLimitHitError after too many attempts.
 */
export async function countAttempt({ database }: App, userId: number): Promise<void> {
  const limiters = limitersOf.get(database) ?? LIMITS.map((limit) => new RateLimiterMemory(limit));
  limitersOf.set(database, limiters);
  for (const limiter of limiters) {
    try {
      await limiter.consume(userId);
    } catch (error) {
      if (error instanceof RateLimiterRes) throw new RateLimitHitError(Math.ceil(error.msBeforeNext / 1000));
      throw error;
    }
  }
}
