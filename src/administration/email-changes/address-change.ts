import { requireAddress } from '../../access/address.ts';
import type { Ctx } from '../../access/context.ts';
import { everyone } from '../../events/audience.ts';
import type { Emit } from '../../events/log.ts';
import type { Realm, User } from '../../generated/prisma/client.ts';
import { emailVisibilityChanged } from '../../people/events.ts';
import { lockUser } from '../../people/locks.ts';
import type { Tx } from '../../platform/db/client.ts';
import { isUniqueViolation } from '../../platform/db/errors.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { queueSecurityMail } from '../security-mail.ts';

/**
 * Changes a user's email address, and notifies the users who can see it. The transaction must hold the lock of the user's row.
 * Cancels a change of email address that the user requested themselves.
 *
 * @returns The user after the change.
 * @throws Error from the unique index if another user has the address.
 */
export async function changeAddress(tx: Tx, emit: Emit, user: User, newEmail: string): Promise<User> {
  if (newEmail === user.email) return user;
  const after = { ...user, email: newEmail };
  await tx.user.update({ where: { realmId_id: { realmId: user.realmId, id: user.id } }, data: { email: newEmail } });
  await tx.emailChange.deleteMany({ where: { realmId: user.realmId, userId: user.id } });
  for (const event of emailVisibilityChanged(user, after)) emit(event, everyone());
  return after;
}

/**
 * Validates the new email address that the viewer assigns to another user, and returns it without surrounding spaces.
 *
 * @throws BadRequestError if the viewer is not allowed to change the addresses of users, or if email cannot be sent to the
 * address.
 */
export function requireNewEmail({ viewer }: Ctx, newEmail: string): string {
  if (!viewer.user.canChangeUserEmails) throw new BadRequestError('User not authorized to change user emails');
  try {
    return requireAddress(newEmail);
  } catch (error) {
    if (error instanceof BadRequestError) throw new BadRequestError('Invalid new email address.');
    throw error;
  }
}

/** Changes a user's email address within a transaction, and notifies the user at the previous address. Locks the user's row. */
export async function giveAddress(
  tx: Tx,
  emit: Emit,
  { id, realmId }: Pick<User, 'id' | 'realmId'>,
  { realm, newEmail }: { readonly realm: Realm; readonly newEmail: string },
): Promise<void> {
  await lockUser(tx, { realmId, id });
  const user = await tx.user.findUniqueOrThrow({ where: { realmId_id: { realmId, id } } });
  if (newEmail === user.email) return;
  await changeAddress(tx, emit, user, newEmail);
  if (user.botType === null) await notifyOldAddress(tx, realm, user, newEmail);
}

/** Notifies a user of the change at their previous email address, within the transaction. */
export const notifyOldAddress = (tx: Tx, realm: Realm, user: User, newEmail: string): Promise<void> =>
  queueSecurityMail(tx, realm, user, {
    subject: 'Your email address',
    happened: addressChanged(newEmail),
  });

/** Returns the sentence about the new email address, for the email to the previous address. */
export const addressChanged = (newEmail: string): string => `your email address was changed to ${newEmail}.`;

/**
 * Runs a change of a user's email address, and converts the error of the unique index. Only this index detects that two
 * concurrent changes assign one address.
 *
 * @throws BadRequestError if the address is in use.
 */
export async function refusingTakenNewEmail<T>(change: () => Promise<T>): Promise<T> {
  try {
    return await change();
  } catch (error) {
    if (isUniqueViolation(error)) throw new BadRequestError('New email value error: Email is already in use.');
    throw error;
  }
}
