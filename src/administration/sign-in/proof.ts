import type { Credential, Ctx } from '../../access/context.ts';
import { runOutsideTransaction } from '../../access/idempotency.ts';
import { MAX_PASSWORD_LENGTH } from '../../access/passwords.ts';
import { normalAddress } from '../../access/sign-in.ts';
import { ForbiddenError, ValidationError } from '../../platform/errors.ts';
import { lengthOf } from '../../platform/text.ts';
import { PasswordRequiredError } from './errors.ts';
import { tryPassword } from './login.ts';

/**
 * Time after a sign-in, in milliseconds, during which the session can make protected changes (such as a new API key) without
 * the current password.
 */
const RECENT_MS = 10 * 60_000;

/** Description of the parameter with the current password. */
export const CURRENT_PASSWORD =
  'Your own current password. Required in a session if the sign-in was more than ten minutes ago, and with an API key that ' +
  'has a name. Not needed with the default API key.';
/** Prefix of the description of `CURRENT_PASSWORD` in changes of the organization. */
export const RELAXING =
  'Needed to require a second factor for fewer roles, and to keep the audit log for a shorter time.';
/** Description for the documentation of requests that require a recent sign-in. */
export const RECENT_SIGN_IN =
  'In a session, requires a sign-in within the last ten minutes. Not available with an API key that has a name.';

/**
 * Credentials of the requests that contained the correct password. Each request has its own credential object, so the password
 * proves the user's identity for that request only.
 */
const proved = new WeakSet<Credential>();

/** Returns the error for a wrong current password. @param parameter Name of the parameter that contains the password. */
export const wrongPassword = (parameter: string) => new ValidationError('Wrong password!', { parameter });

/**
 * Checks that the request comes from the user, and not only from a browser with the user's session cookie. Accepted proofs are
 * the default API key, a sign-in within the last ten minutes, and the current password. Required for changes that give access
 * beyond the session: API keys, email addresses, passwords, accounts, roles, owners of bots.
 *
 * Checking a password is slow, so this must not run in a transaction. Failed checks count towards the limit of failed sign-ins.
 *
 * @param parameter Name of the parameter that contains the password.
 * @throws PasswordRequiredError if no password is given, and the sign-in was more than ten minutes ago, or the API key has a
 *   name.
 * @throws ValidationError if the password is wrong.
 * @throws RateLimitHitError after 5 failures within 30 minutes.
 */
export async function requireProof(
  ctx: Ctx,
  currentPassword: string | undefined,
  parameter = 'current_password',
): Promise<void> {
  const { credential } = ctx.viewer;
  if (currentPassword === undefined) return requireRecentSignIn(ctx, parameter);
  if (currentPassword.includes('\0') || lengthOf(currentPassword) > MAX_PASSWORD_LENGTH) throw wrongPassword(parameter);
  if (credential === null || isDefaultKey(credential)) return;
  const isRight = await runOutsideTransaction(ctx.work, 'proof', (work) =>
    isPassword({ ...ctx, work }, currentPassword),
  );
  if (!isRight) throw wrongPassword(parameter);
  proved.add(credential);
}

/**
 * Checks that the viewer signed in within the last ten minutes, or uses the default API key. Called for requests without a
 * password parameter, such as reads.
 *
 * @param parameter Name of the parameter for the current password, if the request has one.
 * @throws PasswordRequiredError if the sign-in was more than ten minutes ago, or the API key has a name.
 */
export function requireRecentSignIn(ctx: Ctx, parameter?: string): void {
  if (!isRecentlyProved(ctx)) throw new PasswordRequiredError(parameter);
}

/** Returns whether the viewer signed in within the last ten minutes, gave the current password, or uses the default API key. */
export function isRecentlyProved({ app, viewer: { credential } }: Ctx): boolean {
  if (credential === null || isDefaultKey(credential) || proved.has(credential)) return true;
  return credential.kind === 'session' && credential.signedInAt.getTime() + RECENT_MS >= app.now().getTime();
}

/** Returns whether credentials prove the identity of the user without the password: the default API key, or the operator. */
export const isDefaultKey = (credential: Credential | null): boolean =>
  credential === null || (credential.kind === 'key' && credential.id === undefined);

/**
 * Checks that the viewer's API key does not expire. Called for requests that show or replace default keys, which do not expire.
 *
 * @throws ForbiddenError if the key expires.
 */
export function requireLastingKey({ viewer: { credential } }: Pick<Ctx, 'viewer'>): void {
  if (credential?.kind === 'key' && credential.endsAt !== undefined) {
    throw new ForbiddenError('An API key that expires cannot read or replace keys that do not expire.');
  }
}

/**
 * Returns whether `password` is the viewer's password. A password with a null byte is wrong: scrypt would ignore the null byte.
 */
export async function isPassword(ctx: Ctx, password: string): Promise<boolean> {
  const { viewer, caller } = ctx;
  if (password.includes('\0')) return false;
  const address = normalAddress(viewer.user.email);
  return (await tryPassword(ctx, viewer.organization, { address, password, caller })) !== undefined;
}
