import { everyone } from '../../events/audience.ts';
import type { Emit } from '../../events/log.ts';
import type { User } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { userStatusSet } from '../status-events.ts';
import { isAway } from './state.ts';
import { toWire } from './wire.ts';

/** Deletes a user's status, within a transaction, and notifies all users if there was one. */
export async function clearStatus(
  tx: Tx,
  emit: Emit,
  { id: userId, organizationId }: Pick<User, 'id' | 'organizationId'>,
): Promise<void> {
  const status = await tx.userStatus.findUnique({ where: { organizationId_userId: { organizationId, userId } } });
  if (status === null) return;
  await tx.userStatus.delete({ where: { organizationId_userId: { organizationId, userId } } });
  const change = {
    ...(status.text !== '' && { status_text: '' }),
    ...(status.emojiName !== '' && { emoji_name: '', emoji_code: '', reaction_type: '' }),
  };
  if (Object.keys(change).length > 0) emit(userStatusSet(userId, change), everyone());
}

/**
 * Publishes the status of a reactivated user to all users. Clients that registered during the deactivation do not have it,
 * because registration omits the statuses of deactivated users.
 */
export async function publishStatus(
  tx: Tx,
  emit: Emit,
  { id: userId, organizationId }: Pick<User, 'id' | 'organizationId'>,
): Promise<void> {
  const { status, ...user } = await tx.user.findUniqueOrThrow({
    where: { organizationId_id: { organizationId, id: userId } },
    include: { status: true },
  });
  const shown = toWire(status, isAway(user));
  if (Object.keys(shown).length > 0) emit(userStatusSet(userId, shown), everyone());
}
