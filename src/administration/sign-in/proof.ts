import type { Credential, Ctx } from '../../access/context.ts';
import { runOutsideTransaction } from '../../access/idempotency.ts';
import { MAX_PASSWORD_LENGTH } from '../../access/passwords.ts';
import { normalAddress } from '../../access/sign-in.ts';
import { ValidationError } from '../../platform/errors.ts';
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
  'Your own current password. Required in a session if the sign-in was more than ten minutes ago. Not needed with ' +
  'an API key.';
/** Description for the documentation of requests that require a recent sign-in. */
export const RECENT_SIGN_IN = 'In a session, requires a sign-in within the last ten minutes.';

/**
 * Credentials of the requests that contained the correct password. Each request has its own credential object, so the password
 * proves the user's identity for that request only.
 */
const proved = new WeakSet<Credential>();

/** Returns the error for a wrong current password. @param parameter Name of the parameter that contains the password. */
export const wrongPassword = (parameter: string) => new ValidationError('Wrong password!', { parameter });

/**
 * Checks that the request comes from the user, and not only from a browser with the user's session cookie. Required for changes
 * that give access beyond the session: API keys, email addresses, passwords, accounts, roles,
 * owners of bots. Each of these proves the user's
 * identity: an API key, a sign-in within the last ten minutes, the current password.
 *
 * Checking a password is slow, so this must not run in a transaction. Failed checks count towards the limit of failed sign-ins.
 *
 * @param parameter Name of the parameter that contains the password.
 * @throws PasswordRequiredError if the sign-in was more than ten minutes ago and no password is given.
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
  if (credential?.kind !== 'session') return;
  const isRight = await runOutsideTransaction(ctx.work, 'proof', (work) =>
    isPassword({ ...ctx, work }, currentPassword),
  );
  if (!isRight) throw wrongPassword(parameter);
  proved.add(credential);
}

/**
 * Checks that the viewer signed in within the last ten minutes, or uses an API key. Called for requests without a password
 * parameter, such as reads.
 *
 * @param parameter Name of the parameter for the current password, if the request has one.
 * @throws PasswordRequiredError if the sign-in was more than ten minutes ago.
 */
export function requireRecentSignIn(ctx: Ctx, parameter?: string): void {
  if (!isRecentlyProved(ctx)) throw new PasswordRequiredError(parameter);
}

/** Returns whether the viewer signed in within the last ten minutes, gave the current password, or uses an API key. */
export function isRecentlyProved({ app, viewer: { credential } }: Ctx): boolean {
  if (credential?.kind !== 'session' || proved.has(credential)) return true;
  return credential.signedInAt.getTime() + RECENT_MS >= app.now().getTime();
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
