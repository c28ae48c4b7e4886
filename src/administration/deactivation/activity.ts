import { accessRevoked } from '../../access/events.ts';
import { channelAudience } from '../../channels/audience.ts';
import { peersAdded, peersRemoved } from '../../channels/events.ts';
import { lockChannels } from '../../channels/locks.ts';
import { everyone, except, nobody } from '../../events/audience.ts';
import type { Emit } from '../../events/log.ts';
import type { Channel, Realm, User } from '../../generated/prisma/client.ts';
import { userActivityChanged } from '../../people/events.ts';
import type { Tx } from '../../platform/db/client.ts';

/** Where and when somebody leaves or comes back. */
export interface ChangeContext {
  readonly realm: Realm;
  readonly now: Date;
}

/**
 * Deactivates a user, inside a change that holds the organisation's row and the channels they are in, and tells everybody.
 *
 * Their key is refused from the commit on, they are signed out of every browser, and what they have open ends within
 * seconds on every node. Subscriptions and
 * memberships stay as they are, and count again when they come back.
 */
export async function deactivate(
  tx: Tx,
  emit: Emit,
  { realm, now }: ChangeContext,
  { id, realmId }: Pick<User, 'id' | 'realmId'>,
): Promise<void> {
  await tx.user.update({ where: { realmId_id: { realmId, id } }, data: { isActive: false } });
  await tx.session.deleteMany({ where: { realmId, userId: id } });
  await tx.eventQueue.updateMany({
    where: { realmId, userId: id, endedAt: null },
    data: { endedAt: now, endReason: 'revoked' },
  });
  await tx.emailChange.deleteMany({ where: { realmId, userId: id } });
  // Nobody is shown it any more, and no event would bring it back.
  await tx.presence.deleteMany({ where: { realmId, userId: id } });
  for (const channel of await channelsOf(tx, { id, realmId })) {
    emit(peersRemoved(channel, [id]), except(await channelAudience(tx, realm, channel, now), [id]));
  }
  emit(userActivityChanged(id, false), everyone());
  emit(accessRevoked(id), nobody());
}

/** Makes a deactivated user active again, inside a change that holds the organisation's row, and tells everybody. */
export async function reactivate(
  tx: Tx,
  emit: Emit,
  { realm, now }: ChangeContext,
  { id, realmId }: Pick<User, 'id' | 'realmId'>,
): Promise<void> {
  await tx.user.update({ where: { realmId_id: { realmId, id } }, data: { isActive: true } });
  emit(userActivityChanged(id, true), everyone());
  // Archived ones too, although the document names the others alone: what `peer_remove` took away comes back.
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

/** The channels somebody is subscribed to, archived ones included, by id. */
function channelsOf(tx: Tx, { id, realmId }: Pick<User, 'id' | 'realmId'>): Promise<Channel[]> {
  return tx.channel.findMany({
    where: { realmId, subscriptions: { some: { realmId, userId: id, active: true } } },
    orderBy: { id: 'asc' },
  });
}
