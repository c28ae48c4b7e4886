import type { Account } from '../../access/accounts.ts';
import type { RequestCtx, Scope } from '../../access/context.ts';
import { requireActive } from '../../access/sign-in.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ConflictError } from '../../platform/errors.ts';
import { factorsOf } from '../sign-in/factors.ts';
import { completeChallenge, type FirstStep, firstStepOf, requireSamePassword } from '../sign-in/second-step.ts';

/**
 * Returns the sign-in of a person who must add a second factor.
 *
 * @throws The errors of `beginEnrollmentAtSignIn`.
 */
export async function enrollmentOf(request: RequestCtx, challenge: string): Promise<FirstStep> {
  const first = await firstStepOf(request, challenge);
  requireActive(first.account);
  if (first.step !== 'enrollment' || (await hasFactor(request.work.db, first.account))) throw alreadyEnrolled();
  return first;
}

const alreadyEnrolled = () => new ConflictError('You have a second factor already. Sign in with it.');

/** Returns the scope for the changes of a person who adds a second factor during a sign-in. */
export const scopeOf = ({ app, work, caller, clientName }: RequestCtx, { organization }: Account): Scope => ({
  ...{ app, work, organizationId: organization.id, caller, clientName },
});

/**
 * Checks that a person can add a second factor during a sign-in. Without this check, a password would be sufficient to add a factor
 * beside one that was added since the sign-in began. The transaction must hold the lock of the user's row.
 */
export async function requireEnrollment(tx: Tx, account: Account): Promise<void> {
  await requireSamePassword(tx, account);
  if (await hasFactor(tx, account)) throw alreadyEnrolled();
}

const hasFactor = async (db: Tx, { user }: Account): Promise<boolean> => (await factorsOf(db, user)).count > 0;

/** Checks that a person can add a second factor during a sign-in, and completes the challenge. */
export async function completeEnrollment({ app }: RequestCtx, tx: Tx, first: FirstStep): Promise<void> {
  await requireEnrollment(tx, first.account);
  await completeChallenge(app, tx, first);
}
