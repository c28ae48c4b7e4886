import type { Runtime } from '../../access/context.ts';
import { attemptLimit } from '../attempt-limit.ts';

const countInHour = attemptLimit('email_changes_per_hour', { points: 2, duration: 3600 });
const countInDay = attemptLimit('email_changes_per_day', { points: 5, duration: 86_400 });

/**
 * Counts an attempt of a user to change their email address, on all nodes with the same Redis.
 *
 * @throws RateLimitHitError after 2 attempts within an hour, or 5 within a day.
 */
export async function countAttempt(
  app: Runtime,
  { organizationId, userId }: { readonly organizationId: number; readonly userId: number },
): Promise<void> {
  const key = `${organizationId} ${userId}`;
  await countInHour(app, key);
  await countInDay(app, key);
}
