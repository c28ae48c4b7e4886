import type { Ctx } from '../../access/context.ts';
import { checkPassword, hashPassword, MIN_PASSWORD_LENGTH } from '../../access/passwords.ts';
import { endSessions, otherThan } from '../../access/sessions.ts';
import { normalAddress } from '../../access/sign-in.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { User } from '../../generated/prisma/client.ts';
import { lockUser } from '../../people/locks.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { lengthOf } from '../../platform/text.ts';
import { tryPassword } from './login.ts';

/** A password that may take the place of another: both as they are stored. */
export interface PasswordChange {
  readonly oldHash: string | null;
  readonly newHash: string;
}

const wrongPassword = () => new BadRequestError('Wrong password!');

/**
 * Checks a change of the viewer's password, and prepares it as far as it needs no database. Slow, so not for a
 * transaction. Failures count with those of signing in.
 *
 * @throws BadRequestError when the old password is wrong, or the new one is too weak or too long.
 * @throws RateLimitHitError after 5 failures for the viewer's address within 30 minutes, and while too many wait to sign
 *   in.
 */
export async function requirePasswordChange(
  { app, viewer, caller }: Ctx,
  { oldPassword, newPassword }: { oldPassword: string; newPassword: string },
): Promise<PasswordChange> {
  const address = normalAddress(viewer.user.email);
  // Null bytes count as a wrong one: scrypt would not tell it from the same without them.
  const tried = oldPassword.includes('\0')
    ? undefined
    : await tryPassword(app, viewer.realm, { address, password: oldPassword, caller });
  if (tried === undefined) throw wrongPassword();
  if (lengthOf(newPassword) < MIN_PASSWORD_LENGTH) throw new BadRequestError('New password is too weak!');
  checkPassword(newPassword);
  return { oldHash: tried.passwordHash, newHash: await hashPassword(app.config, newPassword, caller) };
}

/**
 * Gives a person another password, as the server's operator does for who has lost theirs, and signs them out of every
 * browser. Their API key stays.
 *
 * @param ctx The person's own.
 * @throws BadRequestError for a bot, and for a password that is too short or too long.
 */
export async function replacePassword(ctx: Ctx, newPassword: string): Promise<void> {
  const { app, viewer } = ctx;
  if (viewer.user.botType !== null) throw new BadRequestError('A bot has no password');
  checkPassword(newPassword);
  const passwordHash = await hashPassword(app.config, newPassword, undefined);
  await transact(ctx, async (tx, emit) => {
    await lockUser(tx, viewer.user);
    await tx.user.update({
      where: { realmId_id: { realmId: viewer.realm.id, id: viewer.id } },
      data: { passwordHash },
    });
    await endSessions(tx, emit, viewer.user);
  });
}

/**
 * Writes the new password, inside a change that holds the user's row, and signs the user out of every browser but the one
 * in which it was changed: whoever knew the old password may sit at another. The API key stays: it is a credential of its
 * own.
 *
 * @throws BadRequestError when the password is another by now.
 */
export async function writePassword(
  tx: Tx,
  emit: Emit,
  { viewer }: Ctx,
  { oldHash, newHash, user }: PasswordChange & { readonly user: User },
): Promise<void> {
  if (user.passwordHash !== oldHash) throw wrongPassword();
  await tx.user.update({
    where: { realmId_id: { realmId: user.realmId, id: user.id } },
    data: { passwordHash: newHash },
  });
  await endSessions(tx, emit, user, otherThan(viewer));
}
