import type { Ctx } from '../../access/context.ts';
import type { PasswordOwner } from '../../access/password-strength.ts';
import { checkPassword, hashPassword } from '../../access/passwords.ts';
import { endSessions, otherThan } from '../../access/sessions.ts';
import { normalAddress, replaceKey } from '../../access/sign-in.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { Realm, User } from '../../generated/prisma/client.ts';
import { lockUser } from '../../people/locks.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { queueSecurityMail } from '../security-mail.ts';
import { tryPassword } from './login.ts';
import { wrongPassword } from './proof.ts';

/** A change of a password: the stored hashes of the old and the new password. */
export interface PasswordChange {
  readonly oldHash: string | null;
  readonly newHash: string;
}

/**
 * Checks a change of the viewer's password, and hashes the new one. Hashing is slow, so this must not run in a transaction.
 * Failures count towards the limit of failed sign-ins.
 *
 * @throws BadRequestError if the old password is wrong, or the new one is too weak or too long.
 * @throws RateLimitHitError after 5 failures for the viewer's email address within 30 minutes, or if too many requests wait to
 *   sign in.
 */
export async function requirePasswordChange(
  { app, viewer, caller }: Ctx,
  { oldPassword, newPassword }: { oldPassword: string; newPassword: string },
): Promise<PasswordChange> {
  const address = normalAddress(viewer.user.email);
  // A password with null bytes is wrong: scrypt ignores null bytes at the end, so it would accept the password with them.
  const tried = oldPassword.includes('\0')
    ? undefined
    : await tryPassword(app, viewer.realm, { address, password: oldPassword, caller });
  if (tried === undefined) throw wrongPassword();
  await checkPassword(newPassword, ownerOf(viewer), 'New password is too weak!');
  return { oldHash: tried.passwordHash, newHash: await hashPassword(app.config, newPassword, caller) };
}

/**
 * Replaces a person's password, as the server's operator does if the person lost it. Signs the person out of every browser and
 * cancels a pending change of their email address. The API key stays valid.
 *
 * @param ctx The person's own context.
 * @throws BadRequestError for a bot, or if the password is too short, too long or too weak.
 */
export async function replacePassword(ctx: Ctx, newPassword: string): Promise<void> {
  const { app, viewer } = ctx;
  if (viewer.user.botType !== null) throw new BadRequestError('A bot has no password');
  await checkPassword(newPassword, ownerOf(viewer));
  const passwordHash = await hashPassword(app.config, newPassword, undefined);
  await transact(ctx, async (tx, emit) => {
    await lockUser(tx, viewer.user);
    await tx.user.update({
      where: { realmId_id: { realmId: viewer.realm.id, id: viewer.id } },
      data: { passwordHash },
    });
    await endSessions(tx, emit, viewer.user);
    await passwordChanged(tx, viewer.realm, viewer.user);
  });
}

const ownerOf = ({ user, realm }: Ctx['viewer']): PasswordOwner => ({ ...user, organization: realm });

/** Cancels a change of email address that a person with the old password may have requested, and notifies the user. */
async function passwordChanged(tx: Tx, realm: Realm, user: User): Promise<void> {
  await tx.emailChange.deleteMany({ where: { realmId: user.realmId, userId: user.id } });
  await queueSecurityMail(tx, realm, user, { subject: 'Your password', happened: 'your password was changed.' });
}

/**
 * Writes the new password. The transaction must hold the lock of the user's row. Ends the user's other sessions and cancels a
 * pending change of email address: a person with the old password may have started them. In a session, the API key is replaced
 * too, unless `keepsApiKey` is true. In a request by API key, the key stays.
 *
 * @throws BadRequestError if the password has changed in the meantime.
 */
export async function writePassword(
  tx: Tx,
  emit: Emit,
  ctx: Ctx,
  { oldHash, newHash, user, keepsApiKey }: PasswordChange & { readonly user: User; readonly keepsApiKey: boolean },
): Promise<void> {
  if (user.passwordHash !== oldHash) throw wrongPassword();
  await tx.user.update({
    where: { realmId_id: { realmId: user.realmId, id: user.id } },
    data: { passwordHash: newHash },
  });
  const { viewer } = ctx;
  await endSessions(tx, emit, user, otherThan(viewer));
  await passwordChanged(tx, viewer.realm, user);
  if (viewer.credential?.kind === 'session' && !keepsApiKey) await replaceKey(tx, emit, ctx, user.id);
}
