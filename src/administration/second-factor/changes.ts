import type { Account } from '../../access/accounts.ts';
import type { Ctx } from '../../access/context.ts';
import { asOfNow, requireLiveCredential } from '../../access/sign-in.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { User } from '../../generated/prisma/client.ts';
import { lockUser } from '../../people/locks.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ConflictError, ForbiddenError, ValidationError } from '../../platform/errors.ts';
import { queueSecurityMail } from '../security-mail.ts';
import { emitFactorChanged } from '../sign-in/events.ts';
import { type FactorProof, type GivenFactorProof, proveFactor, requireFactorProof } from '../sign-in/factor-proof.ts';
import { factorsOf } from '../sign-in/factors.ts';
import { newRecoveryCodes, recoveryHash } from '../sign-in/one-time-codes.ts';
import { requireProof } from '../sign-in/proof.ts';
import { isFactorRequired } from '../sign-in/second-step.ts';

/** Checks that the viewer can have second factors. @throws ForbiddenError for a bot. */
export function requirePerson({ viewer }: Ctx): void {
  if (viewer.user.botType !== null) throw new ForbiddenError('A bot has no second factor.');
}

/** Checks in the transaction of a change, under the lock of the user's row, that the proof of the request is still valid. */
export type CheckProof = (tx: Tx) => Promise<void>;

/** A change of second factors that runs in a transaction of its caller. */
export type Change<T> = (tx: Tx, emit: Emit) => Promise<T>;

/** The addition of a second factor by its owner. */
interface Addition {
  /** Proof with a second factor. Required if the viewer has one, and refused otherwise. */
  readonly given: GivenFactorProof | null | undefined;
  readonly currentPassword: string | undefined;
  /** Checks that the viewer can have one more factor of this kind. */
  readonly requireFree: (db: Tx, user: User) => Promise<void>;
}

/**
 * Checks the proof for another second factor of the viewer. If the viewer already has a second factor, it must be proved too.
 * Otherwise, a default API key or a recent session would be sufficient to add a factor, with which the others could then be
 * removed.
 *
 * @returns Whether the viewer proved a second factor. If not, the factor can only be added as the first one.
 * @throws PasswordRequiredError and the other errors of `requireProof`, and the errors of `proveFactor`.
 * @throws ValidationError if there are two proofs, or one is malformed, or if the viewer has a second factor and gives none.
 * @throws ConflictError if there is a proof, and the viewer has no second factor.
 */
export async function proveAddition(
  ctx: Ctx,
  { given, currentPassword, requireFree }: Addition,
): Promise<{ readonly isFactorProved: boolean }> {
  const { viewer, work } = ctx;
  requirePerson(ctx);
  const proof = given == null ? undefined : requireFactorProof(given);
  await requireProof(ctx, currentPassword);
  await requireFree(work.db, viewer.user);
  const hasFactor = (await factorsOf(work.db, viewer.user)).count > 0;
  if (proof === undefined) {
    if (hasFactor) throw new ValidationError('A proof with your second factor is required.', { parameter: 'proof' });
    return { isFactorProved: false };
  }
  if (!hasFactor) throw noFactor();
  await proveFactor(ctx, proof);
  return { isFactorProved: true };
}

export const noFactor = () => new ConflictError('You have no second factor.');

/**
 * Returns a sentence for the email about the first second factor. The response with the codes can have been lost on its way.
 *
 * @param codes Null if the user had a second factor before.
 */
export const aboutCodes = (codes: readonly string[] | null): string =>
  codes === null ? '' : ' If you have not seen its recovery codes, replace them in your settings.';

/** Returns new recovery codes for a user who adds the first second factor. Null if the user has one. */
export const codesOfFirst = async (tx: Tx, user: User): Promise<string[] | null> =>
  (await factorsOf(tx, user)).count > 0 ? null : replaceCodes(tx, user);

/** Replaces the recovery codes of a user. @returns The new codes. */
export async function replaceCodes(tx: Tx, { organizationId, id: userId }: User): Promise<string[]> {
  const codes = newRecoveryCodes();
  await tx.recoveryCode.deleteMany({ where: { organizationId, userId } });
  const data = codes.flatMap((code) => {
    const hash = recoveryHash(code);
    return hash === undefined ? [] : [{ organizationId, userId, hash }];
  });
  await tx.recoveryCode.createMany({ data });
  return codes;
}

/** The removal of a second factor by its owner. */
interface Removal {
  readonly proof: FactorProof;
  readonly currentPassword: string | undefined;
  /** Checks that the viewer has the factor. */
  readonly requireExisting: (db: Tx, user: User) => Promise<void>;
}

/**
 * Checks the proof for the removal of one of the viewer's second factors, and removes it. Recovery codes are removed with the last
 * one.
 *
 * @param remove Removes the factor. Returns the text of the email to the viewer.
 * @throws ForbiddenError if the organization requires a second factor of the viewer, and this is the last one.
 * @throws PasswordRequiredError and the other errors of `requireProof`, and the errors of `proveFactor`.
 */
export async function removingFactor(
  ctx: Ctx,
  { proof, currentPassword, requireExisting }: Removal,
  remove: (tx: Tx, emit: Emit) => Promise<{ readonly subject: string; readonly happened: string }>,
): Promise<void> {
  const { viewer, work } = ctx;
  await requireNotLast(work.db, viewer);
  await requireProof(ctx, currentPassword);
  await requireExisting(work.db, viewer.user);
  await proveFactor(ctx, proof);
  await transact(ctx, async (tx, emit) => {
    await lockUser(tx, viewer.user);
    await requireLiveCredential(tx, ctx);
    await requireNotLast(tx, (await asOfNow(tx, ctx)).viewer);
    await requireExisting(tx, viewer.user);
    const mail = await remove(tx, emit);
    await factorRemoved(tx, emit, viewer.user);
    await queueSecurityMail(tx, viewer.organization, viewer.user, mail);
  });
}

/** @throws ForbiddenError if the organization requires a second factor of a person who has only one, or none. */
async function requireNotLast(db: Tx, account: Account): Promise<void> {
  if (!isFactorRequired(account) || (await factorsOf(db, account.user)).count > 1) return;
  throw new ForbiddenError('Your organization requires a second factor of you.');
}

/** Emits the event after a second factor of a user was removed. Deletes the recovery codes if it was the last one. */
export async function factorRemoved(tx: Tx, emit: Emit, user: User): Promise<void> {
  const { organizationId, id: userId } = user;
  const { count } = await factorsOf(tx, user);
  if (count === 0) await tx.recoveryCode.deleteMany({ where: { organizationId, userId } });
  emitFactorChanged(emit, user, count === 0);
}
