import { requireAddress } from '../../access/address.ts';
import type { Ctx } from '../../access/context.ts';
import { everyone } from '../../events/audience.ts';
import type { Emit } from '../../events/log.ts';
import type { Organization, User } from '../../generated/prisma/client.ts';
import { emailVisibilityChanged } from '../../people/events.ts';
import { lockUser } from '../../people/locks.ts';
import type { Tx } from '../../platform/db/client.ts';
import { isUniqueViolation } from '../../platform/db/errors.ts';
import { ConflictError, ForbiddenError, ValidationError } from '../../platform/errors.ts';
import { queueSecurityMail } from '../security-mail.ts';

/**
 * Changes a user's email address, and notifies the users who can see the address. The transaction must hold the lock of the
 * user's row. Cancels a pending change of email address that the user requested, and a link to reset the password.
 *
 * @returns The user after the change.
 * @throws Error from the unique index if another user has the address.
 */
export async function changeAddress(tx: Tx, emit: Emit, user: User, newEmail: string): Promise<User> {
  if (newEmail === user.email) return user;
  const after = { ...user, email: newEmail };
  await tx.user.update({
    where: { organizationId_id: { organizationId: user.organizationId, id: user.id } },
    data: { email: newEmail },
  });
  await tx.emailChange.deleteMany({ where: { organizationId: user.organizationId, userId: user.id } });
  await tx.passwordReset.deleteMany({ where: { organizationId: user.organizationId, userId: user.id } });
  emit.audit({ action: 'email_changed', objectType: 'user', objectId: user.id });
  for (const event of emailVisibilityChanged(user, after)) emit(event, everyone());
  return after;
}

/**
 * Validates the new email address that the viewer assigns to another user, and returns it without surrounding spaces.
 *
 * @throws ForbiddenError if the viewer is not allowed to change the addresses of users.
 * @throws ValidationError if email cannot be sent to the address.
 */
export function requireNewEmail({ viewer }: Ctx, newEmail: string): string {
  const parameter = 'new_email';
  if (!viewer.user.canChangeUserEmails) {
    throw new ForbiddenError('User not authorized to change user emails', { parameter });
  }
  try {
    return requireAddress(newEmail);
  } catch (error) {
    if (error instanceof ValidationError) {
      throw new ValidationError('Invalid new email address.', { parameter, value: newEmail });
    }
    throw error;
  }
}

/**
 * Changes a user's email address within a transaction. Does nothing if the user already has the new address. A person, but not
 * a bot, is notified by an email to the previous address. Locks the user's row.
 */
export async function giveAddress(
  tx: Tx,
  emit: Emit,
  { id, organizationId }: Pick<User, 'id' | 'organizationId'>,
  { organization, newEmail }: { readonly organization: Organization; readonly newEmail: string },
): Promise<void> {
  await lockUser(tx, { organizationId, id });
  const user = await tx.user.findUniqueOrThrow({ where: { organizationId_id: { organizationId, id } } });
  if (newEmail === user.email) return;
  await changeAddress(tx, emit, user, newEmail);
  if (user.botType === null) await notifyOldAddress(tx, organization, user, newEmail);
}

/**
 * Queues the email to the previous address that notifies a user of the changed address.
 *
 * @param user The user before the change.
 */
export const notifyOldAddress = (tx: Tx, organization: Organization, user: User, newEmail: string): Promise<void> =>
  queueSecurityMail(tx, organization, user, {
    subject: 'Your email address',
    happened: addressChanged(newEmail),
  });

/** Returns the sentence that states the new email address, for the email to the previous address. */
export const addressChanged = (newEmail: string): string => `your email address was changed to ${newEmail}.`;

/**
 * Runs `change`, which changes a user's email address. Converts the error of the unique index on addresses to a
 * `ConflictError`. Only this index detects that two concurrent changes assign the same address.
 *
 * @throws ConflictError if the address is in use.
 */
export async function refusingTakenNewEmail<T>(change: () => Promise<T>): Promise<T> {
  try {
    return await change();
  } catch (error) {
    if (isUniqueViolation(error)) {
      throw new ConflictError('New email value error: Email is already in use.', {
        parameter: 'new_email',
        schemaMessage: 'Email is already in use.',
      });
    }
    throw error;
  }
}
