import type { Ctx, Runtime, Scope } from '../../access/context.ts';
import { revokeNamedKeys } from '../../access/named-keys.ts';
import type { PasswordOwner } from '../../access/password-strength.ts';
import { checkPassword, hashPassword } from '../../access/passwords.ts';
import { endSessions, otherThan } from '../../access/sessions.ts';
import { normalAddress, replaceKey } from '../../access/sign-in.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { Organization, User } from '../../generated/prisma/client.ts';
import { lockUser } from '../../people/locks.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ForbiddenError } from '../../platform/errors.ts';
import { queueSecurityMail } from '../security-mail.ts';
import { tryPassword } from './login.ts';
import { wrongPassword } from './proof.ts';
import { remainingAccess } from './remaining-access.ts';

/** Name of the parameter that contains the old password. */
const OLD_PASSWORD = 'old_password';

/** A change of a password: the stored hashes of the old and the new password. */
export interface PasswordChange {
  readonly oldHash: string | null;
  readonly newHash: string;
}

/**
 * Checks a change of the viewer's password, and hashes the new one. Hashing is slow, so this must not run in a transaction.
 * Failures count towards the limit of failed sign-ins.
 *
 * @throws ValidationError if the old password is wrong, or the new one is too weak or too long.
 * @throws RateLimitHitError after 5 failures for the viewer's email address within 30 minutes, or if too many requests wait to
 *   sign in.
 */
export async function requirePasswordChange(
  ctx: Ctx,
  { oldPassword, newPassword }: { oldPassword: string; newPassword: string },
): Promise<PasswordChange> {
  const { app, viewer, caller } = ctx;
  const address = normalAddress(viewer.user.email);
  // A password with null bytes counts as wrong. scrypt ignores null bytes at the end, so it would accept the right password
  // followed by null bytes.
  const tried = oldPassword.includes('\0')
    ? undefined
    : await tryPassword(ctx, viewer.organization, { address, password: oldPassword, caller });
  if (tried === undefined) throw wrongPassword(OLD_PASSWORD);
  await checkPassword(newPassword, ownerOf(viewer), { parameter: 'new_password', weak: 'New password is too weak!' });
  return { oldHash: tried.passwordHash, newHash: await hashPassword(app.config, newPassword, caller) };
}

/**
 * Replaces a person's password without checking the old password. Called for the server's operator if the person lost the
 * password. Signs the person out of every browser and cancels a pending change of their email address. The API key stays valid.
 *
 * @param ctx The person's own context.
 * @throws ForbiddenError for a bot.
 * @throws ValidationError if the password is too short, too long or too weak.
 */
export async function replacePassword(ctx: Ctx, newPassword: string): Promise<void> {
  const { app, viewer } = ctx;
  if (viewer.user.botType !== null) throw new ForbiddenError('A bot has no password');
  await checkPassword(newPassword, ownerOf(viewer));
  const passwordHash = await hashPassword(app.config, newPassword, undefined);
  await transact(ctx, async (tx, emit) => {
    await lockUser(tx, viewer.user);
    await tx.user.update({
      where: { organizationId_id: { organizationId: viewer.organization.id, id: viewer.id } },
      data: { passwordHash },
    });
    await endSessions(tx, emit, viewer.user);
    emit.audit({ action: 'password_changed', objectType: 'user', objectId: viewer.id });
    await passwordChanged(tx, app, viewer.organization, viewer.user);
  });
}

const ownerOf = ({ user, organization }: Ctx['viewer']): PasswordOwner => ({ ...user, organization });

/**
 * Completes a change of password, after credentials were revoked. Cancels a pending change of email address, because another person
 * with the old password may have requested it, and a link to reset the password. Notifies the user by email, which lists the
 * credentials that stay valid.
 */
async function passwordChanged(tx: Tx, app: Runtime, organization: Organization, user: User): Promise<void> {
  await tx.emailChange.deleteMany({ where: { organizationId: user.organizationId, userId: user.id } });
  await tx.passwordReset.deleteMany({ where: { organizationId: user.organizationId, userId: user.id } });
  await queueSecurityMail(tx, organization, user, {
    ...{ subject: 'Your password', happened: 'your password was changed.' },
    details: await remainingAccess(tx, app, organization, user),
  });
}

/**
 * Writes the password that a person has chosen by a link in an email. The transaction must hold the lock of the user's row. Ends
 * all sessions, replaces the default API key and revokes the others, because another person may know the old password. Passkeys,
 * identities and bots stay; the email to the person lists them.
 */
export async function completeReset(
  tx: Tx,
  emit: Emit,
  scope: Scope,
  {
    organization,
    user,
    passwordHash,
  }: { readonly organization: Organization; readonly user: User; readonly passwordHash: string },
): Promise<void> {
  await tx.user.update({
    where: { organizationId_id: { organizationId: user.organizationId, id: user.id } },
    data: { passwordHash },
  });
  await endSessions(tx, emit, user);
  emit.audit({ action: 'password_reset', objectType: 'user', objectId: user.id });
  await replaceKey(tx, emit, scope, user.id);
  await revokeNamedKeys(tx, emit, user);
  await passwordChanged(tx, scope.app, organization, user);
}

/**
 * Writes the new password. The transaction must hold the lock of the user's row. Ends the user's other sessions and cancels a
 * pending change of email address, because another person with the old password may have started them. If the request uses a
 * session, the default API key is replaced and the others are revoked, unless `keepsApiKey` is true.
 *
 * @throws ValidationError if the stored hash is no longer `oldHash`, because another request has changed the password.
 */
export async function writePassword(
  tx: Tx,
  emit: Emit,
  ctx: Ctx,
  { oldHash, newHash, user, keepsApiKey }: PasswordChange & { readonly user: User; readonly keepsApiKey: boolean },
): Promise<void> {
  if (user.passwordHash !== oldHash) throw wrongPassword(OLD_PASSWORD);
  await tx.user.update({
    where: { organizationId_id: { organizationId: user.organizationId, id: user.id } },
    data: { passwordHash: newHash },
  });
  const { viewer } = ctx;
  emit.audit({ action: 'password_changed', objectType: 'user', objectId: user.id });
  await endSessions(tx, emit, user, otherThan(viewer));
  if (viewer.credential?.kind === 'session' && !keepsApiKey) {
    await replaceKey(tx, emit, ctx, user.id);
    await revokeNamedKeys(tx, emit, user);
  }
  await passwordChanged(tx, ctx.app, viewer.organization, user);
}
