import { requireAddress } from '../../access/address.ts';
import type { Ctx } from '../../access/context.ts';
import { everyone } from '../../events/audience.ts';
import type { Emit } from '../../events/log.ts';
import type { User } from '../../generated/prisma/client.ts';
import { emailVisibilityChanged } from '../../people/events.ts';
import { lockUser } from '../../people/locks.ts';
import type { Tx } from '../../platform/db/client.ts';
import { isUniqueViolation } from '../../platform/db/errors.ts';
import { BadRequestError } from '../../platform/errors.ts';

/**
 * Gives a user another address, inside a change that holds their row, and tells those who see it. What they began
 * themselves to get another one is void.
 *
 * @returns The user as they are after it.
 * @throws Error, by the database's own check, when another user has the address.
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
 * The address the viewer, who is an administrator, gives somebody.
 *
 * @throws BadRequestError without the right to do so, or when mail cannot be sent to it.
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

/** Gives somebody the address, inside a change. Their row is locked for it. */
export async function giveAddress(
  tx: Tx,
  emit: Emit,
  { id, realmId }: Pick<User, 'id' | 'realmId'>,
  newEmail: string,
): Promise<void> {
  await lockUser(tx, { realmId, id });
  await changeAddress(tx, emit, await tx.user.findUniqueOrThrow({ where: { realmId_id: { realmId, id } } }), newEmail);
}

/** Runs what gives somebody an address. The database is the judge of whether it is free: it alone sees every race. */
export async function refusingTakenNewEmail<T>(change: () => Promise<T>): Promise<T> {
  try {
    return await change();
  } catch (error) {
    if (isUniqueViolation(error)) throw new BadRequestError('New email value error: Email is already in use.');
    throw error;
  }
}
