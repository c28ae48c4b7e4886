import type { Credential, Ctx } from '../../access/context.ts';
import { runOutsideTransaction } from '../../access/idempotency.ts';
import { MAX_PASSWORD_LENGTH } from '../../access/passwords.ts';
import { normalAddress } from '../../access/sign-in.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { lengthOf } from '../../platform/text.ts';
import { PasswordRequiredError } from './errors.ts';
import { tryPassword } from './login.ts';

/** Time after a sign-in during which a session needs no password, in milliseconds. */
const RECENT_MS = 10 * 60_000;

/** Description of the parameter with the current password. */
export const CURRENT_PASSWORD =
  'Your own current password. Required in a session if the sign-in was more than ten minutes ago. Not needed with ' +
  'an API key.';
/** Description of reads that require a recent sign-in. */
export const RECENT_SIGN_IN = 'In a session, requires a sign-in within the last ten minutes.';

/** Sessions of requests that contained the correct password. */
const proved = new WeakSet<Credential>();

export const wrongPassword = () => new BadRequestError('Wrong password!');

/**
 * Checks that the user acts, and not only a browser that has their cookie. Required for changes that give access beyond the
 * session: API keys, email addresses, passwords, accounts. An API key is proof, and so are a sign-in within the last ten
 * minutes and the current password.
 *
 * Checking a password is slow, so this must not run in a transaction. Failed checks count towards the limit of failed sign-ins.
 *
 * @throws PasswordRequiredError if the sign-in was more than ten minutes ago and no password is given.
 * @throws BadRequestError if the password is wrong.
 * @throws RateLimitHitError after 5 failures within 30 minutes.
 */
export async function requireProof(ctx: Ctx, currentPassword: string | undefined): Promise<void> {
  const { credential } = ctx.viewer;
  if (currentPassword === undefined) return requireRecentSignIn(ctx);
  if (currentPassword.includes('\0') || lengthOf(currentPassword) > MAX_PASSWORD_LENGTH) throw wrongPassword();
  if (credential?.kind !== 'session') return;
  const isRight = await runOutsideTransaction(ctx.app, 'proof', (app) => isPassword({ ...ctx, app }, currentPassword));
  if (!isRight) throw wrongPassword();
  proved.add(credential);
}

/**
 * Checks that the sign-in was recent, or that the viewer uses an API key. For requests without a password parameter, such as
 * reads.
 *
 * @throws PasswordRequiredError if the sign-in was more than ten minutes ago.
 */
export function requireRecentSignIn({ app, viewer: { credential } }: Ctx): void {
  if (credential?.kind !== 'session' || proved.has(credential)) return;
  if (credential.signedInAt.getTime() + RECENT_MS < app.now().getTime()) throw new PasswordRequiredError();
}

/** Returns whether `password` is the viewer's. A null byte makes it wrong, because scrypt would ignore the null byte. */
export async function isPassword({ app, viewer, caller }: Ctx, password: string): Promise<boolean> {
  if (password.includes('\0')) return false;
  const address = normalAddress(viewer.user.email);
  return (await tryPassword(app, viewer.realm, { address, password, caller })) !== undefined;
}
