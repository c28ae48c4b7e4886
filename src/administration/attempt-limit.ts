import { createHash } from 'node:crypto';
import type { Runtime } from '../access/context.ts';
import { RateLimitHitError } from '../platform/errors.ts';
import type { FailureCounter, FailureLimit } from '../platform/rate-limits.ts';

/** A function that counts an attempt for a key. */
type CountAttempt = (app: Runtime, key: string) => Promise<void>;

/**
 * Returns a function that counts an attempt for a key, such as an email address, and refuses too many of them. All nodes with the
 * same Redis share the counts.
 *
 * @param name Prefix of the counter's keys in Redis.
 * @throws RateLimitHitError The returned function throws it if the limit is reached.
 */
export function attemptLimit(name: string, limit: FailureLimit): CountAttempt {
  // Several services may run in one process.
  const counters = new WeakMap<Runtime, FailureCounter>();
  return async (app, key) => {
    const counter = counters.get(app) ?? app.rateLimits.failureCounter(name, limit);
    counters.set(app, counter);
    const hashed = createHash('sha256').update(key).digest('base64');
    const waitMs = await counter.take(hashed);
    if (waitMs > 0) throw new RateLimitHitError(Math.ceil(waitMs / 1000));
  };
}

/**
 * Returns a function that counts requests for an email about an account, and refuses more than 2 within an hour or 5 within a
 * day for the same key.
 *
 * @param name Prefix of the counters' keys in Redis.
 * @throws RateLimitHitError The returned function throws it if one of the limits is reached.
 */
export function accountEmailLimit(name: string): CountAttempt {
  const countInHour = attemptLimit(`${name}_per_hour`, { points: 2, duration: 3600 });
  const countInDay = attemptLimit(`${name}_per_day`, { points: 5, duration: 86_400 });
  return async (app, key) => {
    await countInHour(app, key);
    await countInDay(app, key);
  };
}
