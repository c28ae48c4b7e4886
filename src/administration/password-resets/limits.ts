import type { RequestCtx } from '../../access/context.ts';
import { normalAddress } from '../../access/sign-in.ts';
import { accountEmailLimit, attemptLimit } from '../attempt-limit.ts';

const countForAddress = accountEmailLimit('password_resets');
const countForNetwork = attemptLimit('password_resets_by_network', { points: 100, duration: 3600 });

/**
 * Counts a request for a password reset link, on all nodes with the same Redis.
 *
 * @throws RateLimitHitError after 2 requests for the address within an hour, 5 within a day, or 100 from the client's network
 *   within an hour.
 */
export async function countResetRequest(
  { app, caller }: Pick<RequestCtx, 'app' | 'caller'>,
  organizationId: number,
  address: string,
): Promise<void> {
  await countForAddress(app, `${organizationId} ${normalAddress(address)}`);
  await countForNetwork(app, `${organizationId} ${caller?.network ?? ''}`);
}
