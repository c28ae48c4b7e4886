import { z } from 'zod';
import type { Account } from '../../access/accounts.ts';
import type { RequestCtx, Runtime, Scope, WorkCtx } from '../../access/context.ts';
import { auditFailedSignIn, type FailedSignIn } from '../../access/failed-sign-ins.ts';
import { organizationSetting } from '../../access/organization-settings.ts';
import { detached } from '../../events/act.ts';
import type { AuditedContext } from '../../events/audit.ts';
import { requireLive } from '../../events/context.ts';
import { transact } from '../../events/log.ts';
import type { User } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ConflictError, NonexistentSubdomainError, RateLimitHitError, ValidationError } from '../../platform/errors.ts';
import { isSameSecret } from '../../platform/key-vault.ts';
import { requireText } from '../../platform/text.ts';
import { queueSecurityMail } from '../security-mail.ts';
import { limited } from './attempts.ts';
import { CHALLENGE_FIELDS, openChallenge, sealChallenge, useUpChallenge } from './challenges.ts';
import { emitFactorChanged } from './events.ts';
import { confirmedApp, factorsOf } from './factors.ts';
import { recoveryHash, stepOf } from './one-time-codes.ts';

const PURPOSE = 'second step';

/** Maximum length of a challenge, in characters. Those that this server issues are much shorter. */
const MAX_CHALLENGE_LENGTH = 4000;
/** Maximum length of a code, in characters. A recovery code has 23. */
const MAX_CODE_LENGTH = 100;

/**
 * The second step of a sign-in: a code or the use of a passkey, or the enrollment of a person who must have a second factor but has
 * none.
 */
export type SecondStep = 'code' | 'enrollment';

/** Returns whether the organization requires a second factor of a person. Bots have none. */
export const isFactorRequired = ({ user, organization }: Account): boolean =>
  user.botType === null && user.role <= organizationSetting(organization, 'second_factor_required_role');

/** Returns the step that a sign-in with a password needs in addition. Undefined if the password is sufficient. */
export async function secondStepOf({ work }: Pick<WorkCtx, 'work'>, account: Account): Promise<SecondStep | undefined> {
  if ((await factorsOf(work.db, account.user)).count > 0) return 'code';
  return isFactorRequired(account) ? 'enrollment' : undefined;
}

/**
 * Content of a challenge, the token that proves the first step of a sign-in. It is sealed under SECRET_KEY, so that each node can
 * complete a sign-in that another node began.
 */
const Challenge = z.object({
  ...CHALLENGE_FIELDS,
  purpose: z.literal(PURPOSE),
  userId: z.int(),
  step: z.enum(['code', 'enrollment']),
  /** Fingerprint of the hash of the password with which the person signs in. A new password makes the challenge invalid. */
  password: z.string(),
});
type Challenge = z.output<typeof Challenge>;

const passwordMark = ({ keys }: Runtime, { passwordHash }: User): string[] =>
  keys.fingerprints(`password ${passwordHash ?? ''}`).map((mark) => Buffer.from(mark).toString('base64url'));

/** Returns the challenge with which a sign-in continues after a correct password. Passkeys sign this challenge as well. */
export function newChallenge(app: Runtime, { user }: Account, step: SecondStep): string {
  const [password = ''] = passwordMark(app, user);
  const { organizationId, id: userId } = user;
  return sealChallenge<Challenge>(app, { purpose: PURPOSE, organizationId, userId, step, password });
}

/** A sign-in whose first step is complete. */
export interface FirstStep {
  readonly account: Account;
  readonly step: SecondStep;
  readonly challenge: Challenge;
  /** The challenge as the client sent it. */
  readonly text: string;
}

const expired = () =>
  new ConflictError('This sign-in has expired. Enter your password again.', { parameter: 'challenge' });

/**
 * Returns the sign-in to which a challenge belongs.
 *
 * @throws ValidationError if the challenge contains a null byte, or is longer than 4000 characters.
 * @throws ConflictError if the challenge is not valid, has expired, or was completed, or the password has changed since.
 * @throws NonexistentSubdomainError at the server's own domain, if no organization uses that domain.
 */
export async function firstStepOf({ app, work, organization }: RequestCtx, given: string): Promise<FirstStep> {
  if (organization === null) throw new NonexistentSubdomainError();
  const text = requireText('challenge', given, { max: MAX_CHALLENGE_LENGTH });
  const challenge = openChallenge(app, Challenge, text);
  if (challenge?.organizationId !== organization.id) throw expired();
  const { organizationId, userId: id } = challenge;
  const user = await work.db.user.findUnique({ where: { organizationId_id: { organizationId, id } } });
  if (user === null || !passwordMark(app, user).some((mark) => isSameSecret(challenge.password, mark))) throw expired();
  return { account: { user, organization }, step: challenge.step, challenge, text };
}

/** Marks a challenge as completed. @throws ConflictError if it was completed before. */
export async function completeChallenge(app: Runtime, db: Tx, { challenge }: FirstStep): Promise<void> {
  if (!(await useUpChallenge(app, db, challenge))) throw expired();
}

/**
 * Checks that the password with which a sign-in began has not changed. The transaction must hold the lock of the user's row.
 *
 * @throws ConflictError if the password has changed.
 */
export async function requireSamePassword(tx: Tx, { user }: Account): Promise<void> {
  const { organizationId, id, passwordHash } = user;
  const count = await tx.user.count({ where: { organizationId, id, passwordHash } });
  if (count === 0) throw expired();
}

/**
 * Checks the form of a code. Called before the state of the account is read, so that a malformed code always has the same error.
 *
 * @returns The code for `useCode` or `attemptCode`.
 * @throws ValidationError if the code is blank, contains a null byte, or is longer than 100 characters.
 */
export const requireCode = (code: string): string =>
  requireText('code', code, { strip: true, min: 1, max: MAX_CODE_LENGTH });

/** The context of an attempt with a second factor. */
export type AttemptCtx = WorkCtx & Pick<Scope, 'caller' | 'clientName'> & Pick<AuditedContext, 'viewer'>;

/**
 * Makes one attempt with a code of a person's second factor, and uses the code up. Failed attempts are limited for each person,
 * separately from those with passwords. Those with recovery codes have a limit of their own: another person who guesses codes of
 * the authenticator app cannot prevent the use of recovery codes.
 *
 * @param code Code of the authenticator app, or a recovery code. The person is notified of the use of a recovery code by email.
 * @throws ValidationError if the code is wrong, or was used before.
 * @throws RateLimitHitError after 5 failures within 30 minutes.
 */
export async function useCode(ctx: AttemptCtx, account: Account, code: string): Promise<void> {
  const recovery = recoveryHash(code);
  const attempt = async () => {
    // A recovery code works even if the secret cannot be opened, because SECRET_KEY was lost.
    const isRight =
      recovery === undefined ? await takeStep(ctx, account, code) : await takeRecoveryCode(ctx, account, recovery);
    return isRight ? true : undefined;
  };
  await attemptCode(ctx, account, attempt, recovery === undefined ? 'second factor' : 'recovery codes');
}

/**
 * Counts and records an attempt with a code. When the limit of failures is reached, the person is notified by email.
 *
 * @param counter Kind of codes whose failures are counted.
 * @throws ValidationError if `attempt` returns undefined.
 * @throws RateLimitHitError after 5 failures within 30 minutes.
 */
export async function attemptCode<T>(
  ctx: AttemptCtx,
  { user, organization }: Account,
  attempt: () => Promise<T | undefined>,
  counter: 'second factor' | 'recovery codes' = 'second factor',
): Promise<T> {
  const { app } = ctx;
  const refused = (reason: 'wrong second factor' | 'too many attempts') =>
    recordRefusal(ctx, { user, organization }, reason);
  const name = `${counter} of ${organization.id} ${user.id}`;
  const result = await limited(app, name, attempt, () => mailLimit(ctx, { user, organization })).catch(
    (error: unknown) => {
      if (error instanceof RateLimitHitError) refused('too many attempts');
      throw error;
    },
  );
  if (result !== undefined) return result;
  refused('wrong second factor');
  throw wrongCode();
}

/** Writes a failed attempt with a second factor to the log and the audit log. */
export function recordRefusal(ctx: AttemptCtx, { user, organization }: Account, reason: FailedSignIn['reason']): void {
  const { app, caller } = ctx;
  app.log.warn({ organization: organization.id, user: user.id, address: caller?.address, reason }, 'sign-in failed');
  const { subdomain } = organization;
  const clientName = ctx.clientName ?? ctx.viewer?.clientName;
  auditFailedSignIn(ctx, { subdomain, reason, caller, clientName, account: user.email });
}

/** Notifies a person of wrong codes by email, after the response. The person who enters codes knows the password, or has a session. */
function mailLimit({ work, app }: WorkCtx, { user, organization }: Account): void {
  const { app: service } = requireLive(work);
  const mail = () =>
    transact({ work: service.work, organizationId: organization.id }, (tx) =>
      queueSecurityMail(tx, organization, user, {
        subject: 'Wrong codes',
        happened:
          'wrong codes of your second factor were entered several times, by a person who knows your password or uses a ' +
          'browser in which you are signed in. Further codes are refused for up to 30 minutes. If it was not you, change ' +
          'your password.',
      }),
    );
  detached(() => {
    mail().catch((err: unknown) => app.log.warn({ err }, 'email about wrong codes failed'));
  });
}

const wrongCode = () => new ValidationError('Wrong code!', { parameter: 'code' });

/**
 * Accepts a code of an authenticator app, if its time step is later than that of the last accepted code. The database decides
 * which of several concurrent attempts is the first. No code is accepted if the person has no authenticator app, or its secret
 * cannot be opened.
 */
async function takeStep({ app, work }: WorkCtx, { user }: Account, code: string): Promise<boolean> {
  const factor = await confirmedApp(work.db, user);
  if (factor === null) return false;
  const { organizationId, userId, sealedSecret, createdAt } = factor;
  const step = stepOfSealed(app, sealedSecret, code);
  if (step === undefined) return false;
  const { count } = await work.db.secondFactor.updateMany({
    // The time of creation identifies the secret.
    where: { organizationId, userId, createdAt, OR: [{ lastStep: null }, { lastStep: { lt: step } }] },
    data: { lastStep: step },
  });
  return count > 0;
}

/**
 * Returns the time step to which a code belongs. Undefined if it is not a code of the current time, or SECRET_KEY cannot open the
 * secret.
 */
export function stepOfSealed({ keys, log, now }: Runtime, sealed: Uint8Array, code: string): bigint | undefined {
  if (keys.canOpen(sealed)) return stepOf(keys.open(sealed), code, now());
  log.warn('a second factor is sealed with an unknown SECRET_KEY: use a recovery code, or reset the second factor');
  return undefined;
}

async function takeRecoveryCode(
  ctx: AttemptCtx,
  { user, organization }: Account,
  hash: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const { organizationId, id: userId } = user;
  const { work, caller, clientName } = ctx;
  return transact({ work, organizationId, caller, clientName }, async (tx, emit) => {
    const { count } = await tx.recoveryCode.deleteMany({ where: { organizationId, userId, hash } });
    if (count === 0) return false;
    const left = await tx.recoveryCode.count({ where: { organizationId, userId } });
    emit.audit({
      ...{ action: 'recovery_code_used', objectType: 'user', objectId: userId, actorId: userId },
      changes: { codes_left: { new: left } },
    });
    emitFactorChanged(emit, user, false);
    await queueSecurityMail(tx, organization, user, {
      subject: 'A recovery code',
      happened: `a recovery code was used instead of your second factor. ${left} codes are left.`,
    });
    return true;
  });
}
