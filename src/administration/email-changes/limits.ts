import type { Runtime } from '../../access/context.ts';
import { accountEmailLimit } from '../attempt-limit.ts';

const count = accountEmailLimit('email_changes');

/**
 * Counts an attempt of a user to change their email address, on all nodes with the same Redis.
 *
 * @throws RateLimitHitError after 2 attempts within an hour, or 5 within a day.
 */
export async function countAttempt(
  app: Runtime,
  { organizationId, userId }: { readonly organizationId: number; readonly userId: number },
): Promise<void> {
  await count(app, `${organizationId} ${userId}`);
}
