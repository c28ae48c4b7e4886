import { accessRevoked } from '../../access/events.ts';
import { channelAudience } from '../../channels/audience.ts';
import { peersAdded, peersRemoved } from '../../channels/events.ts';
import { lockChannels } from '../../channels/locks.ts';
import { everyone, except, noRecipients } from '../../events/audience.ts';
import type { Emit } from '../../events/log.ts';
import type { Channel, Realm, User } from '../../generated/prisma/client.ts';
import { userActivityChanged } from '../../people/events.ts';
import type { Tx } from '../../platform/db/client.ts';

/** The organization and the time of a deactivation or reactivation. */
export interface ActivityChangeContext {
  readonly realm: Realm;
  readonly now: Date;
}

/**
 * Deactivates a user, and notifies all users. The transaction must hold the locks of the organization's row and of the
 * user's channels.
 *
 * From the commit on, the API key is refused and all browsers are signed out. Open connections end within seconds on
 * every node. Subscriptions and memberships are kept, and count again after a reactivation.
 */
export async function deactivate(
  tx: Tx,
  emit: Emit,
  { realm, now }: ActivityChangeContext,
  { id, realmId }: Pick<User, 'id' | 'realmId'>,
): Promise<void> {
  await tx.user.update({ where: { realmId_id: { realmId, id } }, data: { isActive: false } });
  await tx.session.deleteMany({ where: { realmId, userId: id } });
  await tx.eventQueue.updateMany({
    where: { realmId, userId: id, endedAt: null },
    data: { endedAt: now, endReason: 'revoked' },
  });
  await tx.emailChange.deleteMany({ where: { realmId, userId: id } });
  // Deleted, because no user can see it any more, and no event would send it again after a reactivation.
  await tx.presence.deleteMany({ where: { realmId, userId: id } });
  for (const channel of await channelsOf(tx, { id, realmId })) {
    emit(peersRemoved(channel, [id]), except(await channelAudience(tx, realm, channel, now), [id]));
  }
  emit(userActivityChanged(id, false), everyone());
  emit(accessRevoked(id), noRecipients());
}

/** Reactivates a deactivated user, and notifies all users. The transaction must hold the lock of the organization's row. */
export async function reactivate(
  tx: Tx,
  emit: Emit,
  { realm, now }: ActivityChangeContext,
  { id, realmId }: Pick<User, 'id' | 'realmId'>,
): Promise<void> {
  await tx.user.update({ where: { realmId_id: { realmId, id } }, data: { isActive: true } });
  emit(userActivityChanged(id, true), everyone());
  // Includes archived channels, because `peer_remove` was sent for these too. The API reference mentions only channels that are
  // not archived.
  const subscribed = await channelsOf(tx, { id, realmId });
  const channels = await lockChannels(
    tx,
    realmId,
    subscribed.map((channel) => channel.id),
  );
  for (const channel of channels) {
    emit(peersAdded(channel, [id]), except(await channelAudience(tx, realm, channel, now), [id]));
  }
}

/** Returns the channels to which a user is subscribed, archived ones included, ascending by id. */
function channelsOf(tx: Tx, { id, realmId }: Pick<User, 'id' | 'realmId'>): Promise<Channel[]> {
  return tx.channel.findMany({
    where: { realmId, subscriptions: { some: { realmId, userId: id, active: true } } },
    orderBy: { id: 'asc' },
  });
}
