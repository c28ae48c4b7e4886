import { type Account, readAccount } from '../../access/accounts.ts';
import type { App, Ctx, RequestCtx, Scope } from '../../access/context.ts';
import { requireAdministrator } from '../../access/roles.ts';
import { asOfNow, requireLiveCredential } from '../../access/sign-in.ts';
import { transact } from '../../events/log.ts';
import type { Passkey, SecondFactor, User } from '../../generated/prisma/client.ts';
import { lockOrganization, lockUser } from '../../people/locks.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ConflictError, NotFoundError, UnauthorizedPrincipalError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { isOwner, OWNER } from '../../platform/roles.ts';
import { queueSecurityMail } from '../security-mail.ts';
import { emitFactorChanged } from '../sign-in/events.ts';
import { type GivenFactorProof, proveFactor, requireFactorProof } from '../sign-in/factor-proof.ts';
import { confirmedApp, factorsOf } from '../sign-in/factors.ts';
import { newSecret, uriOf } from '../sign-in/one-time-codes.ts';
import { requireProof } from '../sign-in/proof.ts';
import { attemptCode, type FirstStep, isFactorRequired, requireCode, stepOfSealed } from '../sign-in/second-step.ts';
import {
  aboutCodes,
  type Change,
  type CheckProof,
  codesOfFirst,
  factorRemoved,
  noFactor,
  proveAddition,
  removingFactor,
  replaceCodes,
} from './changes.ts';
import { completeEnrollment, enrollmentOf, requireEnrollment, scopeOf } from './enrollment.ts';

/** The second factors of the viewer, as the settings show them. */
export interface FactorState {
  /** Time at which the person confirmed the authenticator app. Null if there is none. */
  readonly addedAt: Date | null;
  /** Oldest first. */
  readonly passkeys: readonly Passkey[];
  readonly recoveryCodesLeft: number;
  readonly isRequired: boolean;
}

/** A secret that a person adds to an authenticator app. */
export interface Enrollment {
  /** The secret in base32, for people who cannot scan the QR code. */
  readonly secret: string;
  /** URI of the secret, to be shown as a QR code. */
  readonly uri: string;
}

/** Returns the state of the viewer's second factors. */
export async function factorState({ work, viewer }: Ctx): Promise<FactorState> {
  const { organizationId, id: userId } = viewer.user;
  const { app, passkeys, count } = await factorsOf(work.db, viewer.user);
  const recoveryCodesLeft = count === 0 ? 0 : await work.db.recoveryCode.count({ where: { organizationId, userId } });
  return { addedAt: app?.confirmedAt ?? null, passkeys, recoveryCodesLeft, isRequired: isFactorRequired(viewer) };
}

/**
 * Begins to add an authenticator app to the viewer's account. It takes effect when the viewer confirms it with a code. A secret
 * that was not confirmed is replaced.
 *
 * @param given Proof with an existing second factor. Required if the viewer has one, and refused otherwise.
 * @throws The errors of `proveAddition`.
 * @throws ForbiddenError for a bot.
 * @throws ConflictError if the viewer has an authenticator app already, or has added a passkey during the request.
 */
export async function beginEnrollment(
  ctx: Ctx,
  given?: GivenFactorProof | null,
  currentPassword?: string,
): Promise<Enrollment> {
  const { viewer } = ctx;
  const { isFactorProved } = await proveAddition(ctx, { given, currentPassword, requireFree: requireNoApp });
  return storeSecret(ctx, viewer, async (tx) => {
    await requireLiveCredential(tx, ctx);
    if (!isFactorProved && (await factorsOf(tx, viewer.user)).count > 0) {
      throw new ConflictError('You have added a second factor in the meantime. Begin again.');
    }
  });
}

async function requireNoApp(db: Tx, user: User): Promise<void> {
  if ((await confirmedApp(db, user)) !== null) throw alreadyAdded();
}

/**
 * Begins to add an authenticator app during a sign-in, for a person who must have a second factor.
 *
 * @param challenge Token of the first step of the sign-in.
 * @throws ValidationError if the challenge contains a null byte, or is too long.
 * @throws ConflictError if the challenge is not valid, or the person has a second factor already.
 * @throws OrganizationDeactivatedError, UserDeactivatedError if the account cannot sign in.
 */
export async function beginEnrollmentAtSignIn(request: RequestCtx, challenge: string): Promise<Enrollment> {
  const { account } = await enrollmentOf(request, challenge);
  return storeSecret(scopeOf(request, account), account, (tx) => requireEnrollment(tx, account));
}

const alreadyAdded = () => new ConflictError('You have an authenticator app already. Remove it to add another one.');

function storeSecret(scope: Scope, { user, organization }: Account, checkProof: CheckProof): Promise<Enrollment> {
  const { app, organizationId } = scope;
  const secret = newSecret();
  return transact(scope, async (tx) => {
    await lockUser(tx, user);
    await checkProof(tx);
    const where = { organizationId_userId: { organizationId, userId: user.id } };
    const before = await tx.secondFactor.findUnique({ where });
    if (before !== null && before.confirmedAt !== null) throw alreadyAdded();
    const data = { sealedSecret: app.keys.seal(secret), createdAt: app.now(), confirmedAt: null, lastStep: null };
    await tx.secondFactor.upsert({ where, create: { organizationId, userId: user.id, ...data }, update: data });
    return { secret, uri: uriOf(secret, { issuer: organization.name, label: user.email }) };
  });
}

/**
 * Confirms the viewer's authenticator app with a code. From then on, a sign-in with the password needs a code.
 *
 * @returns The recovery codes, which are not stored. Null if the viewer had another second factor: earlier codes stay valid.
 * @throws ValidationError if the code is wrong or malformed.
 * @throws RateLimitHitError after 5 failures within 30 minutes.
 * @throws ConflictError if the viewer has not begun to add an authenticator app, or has confirmed it.
 */
export const confirmEnrollment = async (ctx: Ctx, code: string): Promise<string[] | null> =>
  transact(ctx, await confirming(ctx, ctx.viewer, requireCode(code), (tx) => requireLiveCredential(tx, ctx)));

/**
 * Checks the code with which a person confirms an authenticator app during a sign-in.
 *
 * @returns A function that confirms the app, completes the challenge, and returns the recovery codes, which are not stored.
 * @throws The errors of `confirmEnrollment`.
 */
export const confirmAtSignIn = (
  request: RequestCtx,
  first: FirstStep,
  code: string,
): Promise<Change<string[] | null>> =>
  confirming(scopeOf(request, first.account), first.account, code, (tx) => completeEnrollment(request, tx, first));

/** Checks a code. @returns A function that confirms the authenticator app. */
async function confirming(
  scope: Scope,
  account: Account,
  code: string,
  checkProof: CheckProof,
): Promise<Change<string[] | null>> {
  const { app, work, organizationId } = scope;
  const { user, organization } = account;
  const where = { organizationId_userId: { organizationId, userId: user.id } };
  const pending = await work.db.secondFactor.findUnique({ where });
  if (pending === null || pending.confirmedAt !== null) throw notBegun();
  const step = await attemptCode(scope, account, async () => stepOfSealed(app, pending.sealedSecret, code));
  return async (tx, emit) => {
    await lockUser(tx, user);
    await checkProof(tx);
    const codes = await codesOfFirst(tx, user);
    const { count } = await tx.secondFactor.updateMany({
      // The time of creation identifies the secret, which another request can have replaced.
      where: { organizationId, userId: user.id, createdAt: pending.createdAt, confirmedAt: null },
      data: { confirmedAt: app.now(), lastStep: step },
    });
    if (count === 0) throw notBegun();
    emit.audit({ action: 'second_factor_added', objectType: 'user', objectId: user.id, actorId: user.id });
    emitFactorChanged(emit, user, codes !== null);
    await queueSecurityMail(tx, organization, user, {
      subject: 'A second factor',
      happened: `an authenticator app was added to your account as a second factor.${aboutCodes(codes)}`,
    });
    return codes;
  };
}

export const notBegun = () => new ConflictError('There is no authenticator app to confirm. Begin again.');

/**
 * Replaces the viewer's recovery codes.
 *
 * @returns The new codes, which are not stored.
 * @throws PasswordRequiredError and the other errors of `requireProof`.
 * @throws ValidationError if the code is wrong or malformed, or was used before.
 * @throws ConflictError if the viewer has no second factor.
 */
export async function replaceRecoveryCodes(
  ctx: Ctx,
  given: GivenFactorProof,
  currentPassword?: string,
): Promise<string[]> {
  const { viewer } = ctx;
  const proof = requireFactorProof(given);
  await requireProof(ctx, currentPassword);
  await requireFactor(ctx.work.db, viewer.user);
  await proveFactor(ctx, proof);
  return transact(ctx, async (tx, emit) => {
    await lockUser(tx, viewer.user);
    await requireLiveCredential(tx, ctx);
    await requireFactor(tx, viewer.user);
    const codes = await replaceCodes(tx, viewer.user);
    emit.audit({ action: 'recovery_codes_replaced', objectType: 'user', objectId: viewer.id });
    emitFactorChanged(emit, viewer.user, false);
    await queueSecurityMail(tx, viewer.organization, viewer.user, {
      subject: 'Your recovery codes',
      happened: 'the recovery codes of your second factor were replaced.',
    });
    return codes;
  });
}

async function requireFactor(db: Tx, user: User): Promise<void> {
  if ((await factorsOf(db, user)).count === 0) throw noFactor();
}

/**
 * Removes the viewer's authenticator app. Recovery codes are removed with the last second factor.
 *
 * @throws ForbiddenError if the organization requires a second factor of the viewer, and this is the last one.
 * @throws ConflictError if the viewer has no authenticator app.
 * @throws The errors of `replaceRecoveryCodes`.
 */
export async function removeFactor(ctx: Ctx, given: GivenFactorProof, currentPassword?: string): Promise<void> {
  const { organizationId, viewer } = ctx;
  const proof = requireFactorProof(given);
  await removingFactor(ctx, { proof, currentPassword, requireExisting: requireApp }, async (tx, emit) => {
    await tx.secondFactor.deleteMany({ where: { organizationId, userId: viewer.id } });
    emit.audit({ action: 'second_factor_removed', objectType: 'user', objectId: viewer.id });
    return { subject: 'Your second factor', happened: 'the authenticator app was removed from your account.' };
  });
}

async function requireApp(db: Tx, user: User): Promise<void> {
  if ((await confirmedApp(db, user)) === null) throw new ConflictError('You have no authenticator app.');
}

/**
 * Removes all second factors of another person who has lost them. The person is notified by email.
 *
 * @returns The person.
 * @throws UnauthorizedPrincipalError unless the viewer is an administrator, and an owner if the person is one.
 * @throws NotFoundError if there is no such person.
 * @throws ConflictError if the person has no second factor, or is the viewer: `removeFactor` needs a code.
 * @throws PasswordRequiredError and the other errors of `requireProof`.
 * @throws UnauthorizedError, InvalidApiKeyError if the viewer's session or key has ended in the meantime.
 */
export async function resetFactor(ctx: Ctx, userId: number, currentPassword?: string): Promise<User> {
  const isOperator = ctx.viewer.credential === null;
  requireAdministrator(ctx);
  if (userId === ctx.viewer.id && !isOperator) {
    throw new ConflictError('Remove your own second factor with a code.', { parameter: 'user_id' });
  }
  await requireProof(ctx, currentPassword);
  const { organizationId } = ctx;
  return transact(ctx, async (tx, emit) => {
    await lockOrganization(tx, organizationId);
    await lockUser(tx, ctx.viewer.user);
    await requireLiveCredential(tx, ctx);
    const now = await asOfNow(tx, ctx);
    requireAdministrator(now);
    const where = { organizationId, id: userId, botType: null, isSystem: false };
    const user = isRowId(userId) ? await tx.user.findFirst({ where }) : null;
    if (user === null) throw new NotFoundError('No such user', { type: 'User', id: userId, parameter: 'user_id' });
    if (isOwner(user.role) && !isOwner(now.viewer.role)) throw new UnauthorizedPrincipalError(OWNER);
    await lockUser(tx, user);
    if ((await factorsOf(tx, user)).count === 0) throw new ConflictError('The user has no second factor.');
    await tx.secondFactor.deleteMany({ where: { organizationId, userId } });
    await tx.passkey.deleteMany({ where: { organizationId, userId } });
    await factorRemoved(tx, emit, user);
    emit.audit({ action: 'second_factor_reset', objectType: 'user', objectId: userId });
    await queueSecurityMail(tx, now.viewer.organization, user, {
      subject: 'Your second factor',
      happened: `${isOperator ? 'the operator of the server' : 'an administrator'} removed your second factors.`,
    });
    return user;
  });
}

/**
 * Removes an authenticator app whose secret was sealed with a lost SECRET_KEY, as the operator. Does nothing if the secret was
 * replaced. The person is notified by email.
 *
 * @returns Whether it was removed.
 */
export function removeLostFactor(app: App, { organizationId, userId, sealedSecret }: SecondFactor): Promise<boolean> {
  const scope = { app, work: app.work, organizationId, isOperator: true };
  return transact(scope, async (tx, emit) => {
    await lockUser(tx, { organizationId, id: userId });
    const { user, organization } = await readAccount(tx, organizationId, userId);
    const isConfirmed = (await confirmedApp(tx, user)) !== null;
    const { count } = await tx.secondFactor.deleteMany({ where: { organizationId, userId, sealedSecret } });
    if (count === 0) return false;
    if (!isConfirmed) return true;
    await factorRemoved(tx, emit, user);
    emit.audit({ action: 'second_factor_reset', objectType: 'user', objectId: userId });
    await queueSecurityMail(tx, organization, user, {
      subject: 'Your second factor',
      happened: 'the operator of the server removed the authenticator app from your account.',
    });
    return true;
  });
}
