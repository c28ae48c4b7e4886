import type { RequestCtx } from '../access/context.ts';
import { normalAddress } from '../access/sign-in.ts';
import type { Caller } from '../platform/caller.ts';
import { attemptLimit } from './attempt-limit.ts';

const HOUR_SECONDS = 3600;
const PER_ADDRESS = { points: 3, duration: HOUR_SECONDS };
/** All people of an office can have one network address, and join within the same hour. */
const PER_NETWORK = { points: 250, duration: HOUR_SECONDS };

/** A request of a person for an email with a link to an account. */
type LinkRequest = Pick<RequestCtx, 'app'> & { readonly caller?: Pick<Caller, 'network'> | undefined };

/**
 * Returns a function that counts requests for an email with a link to an account of an organization. Each email address can
 * request 3 links per hour, and each network 250.
 *
 * @param name Prefix of the counters' keys in Redis.
 * @throws RateLimitHitError The returned function throws it if one of the limits is reached.
 */
function joinLimit(name: string) {
  const countForAddress = attemptLimit(name, PER_ADDRESS);
  const countForNetwork = attemptLimit(`${name}_by_network`, PER_NETWORK);
  return async ({ app, caller }: LinkRequest, organizationId: number, address: string): Promise<void> => {
    await countForAddress(app, `${organizationId} ${normalAddress(address)}`);
    await countForNetwork(app, `${organizationId} ${caller?.network ?? ''}`);
  };
}

/** Counts a request on the page of a reusable invitation link. */
export const countInvitationRequest = joinLimit('invitation_requests');
/** Counts a request for an account without an invitation. */
export const countSignUpRequest = joinLimit('sign_ups');
