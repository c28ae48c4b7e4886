import { accessRevoked, namedKeyRevocation } from '../../access/events.ts';
import { channelAudience } from '../../channels/audience.ts';
import { peersAdded, peersRemoved } from '../../channels/events.ts';
import { lockChannels } from '../../channels/locks.ts';
import { everyone, except, noRecipients } from '../../events/audience.ts';
import type { Emit } from '../../events/log.ts';
import type { Channel, Organization, User } from '../../generated/prisma/client.ts';
import { userActivityChanged } from '../../people/events.ts';
import type { Tx } from '../../platform/db/client.ts';
import { revokeInvitationsOf } from '../invitations/service.ts';

/** The organization and the time of a deactivation or reactivation. */
export interface ActivityChangeContext {
  readonly organization: Organization;
  readonly now: Date;
}

/**
 * Deactivates a user, and notifies all users. The transaction must hold the locks of the organization's row and of the user's
 * channels.
 *
 * When the transaction commits, the user's API keys become invalid, those with a name are deleted, and all browsers of the user are
 * signed out. Open connections end within seconds on every node. Subscriptions and group memberships are kept, and take effect
 * again after a reactivation.
 */
export async function deactivate(
  tx: Tx,
  emit: Emit,
  { organization, now }: ActivityChangeContext,
  { id, organizationId }: Pick<User, 'id' | 'organizationId'>,
): Promise<void> {
  await tx.user.update({ where: { organizationId_id: { organizationId, id } }, data: { isActive: false } });
  await tx.session.deleteMany({ where: { organizationId, userId: id } });
  const keys = await tx.namedApiKey.findMany({
    where: { organizationId, userId: id },
    select: { id: true, name: true },
  });
  await tx.namedApiKey.deleteMany({ where: { organizationId, userId: id } });
  if (keys.length > 0) emit.audit(...keys.map((key) => namedKeyRevocation(id, key)));
  await tx.eventQueue.updateMany({
    where: { organizationId, userId: id, endedAt: null },
    data: { endedAt: now, endReason: 'revoked' },
  });
  await tx.emailChange.deleteMany({ where: { organizationId, userId: id } });
  await tx.passwordReset.deleteMany({ where: { organizationId, userId: id } });
  await revokeInvitationsOf(tx, emit, now, { id, organizationId });
  // Presence is deleted. No user can see it during the deactivation, and no event would send it again after a reactivation.
  await tx.presence.deleteMany({ where: { organizationId, userId: id } });
  for (const channel of await channelsOf(tx, { id, organizationId })) {
    emit(peersRemoved(channel, [id]), except(await channelAudience(tx, organization, channel, now), [id]));
  }
  emit(userActivityChanged(id, false), everyone());
  emit(accessRevoked(id), noRecipients());
}

/** Reactivates a deactivated user, and notifies all users. The transaction must hold the lock of the organization's row. */
export async function reactivate(
  tx: Tx,
  emit: Emit,
  { organization, now }: ActivityChangeContext,
  { id, organizationId }: Pick<User, 'id' | 'organizationId'>,
): Promise<void> {
  await tx.user.update({ where: { organizationId_id: { organizationId, id } }, data: { isActive: true } });
  emit(userActivityChanged(id, true), everyone());
  // Includes archived channels, because the deactivation sent `peer_remove` for them too. The API reference mentions only
  // channels that are not archived.
  const subscribed = await channelsOf(tx, { id, organizationId });
  const channels = await lockChannels(
    tx,
    organizationId,
    subscribed.map((channel) => channel.id),
  );
  for (const channel of channels) {
    emit(peersAdded(channel, [id]), except(await channelAudience(tx, organization, channel, now), [id]));
  }
}

/** Returns the channels to which a user is subscribed, archived ones included, ascending by id. */
function channelsOf(tx: Tx, { id, organizationId }: Pick<User, 'id' | 'organizationId'>): Promise<Channel[]> {
  return tx.channel.findMany({
    where: { organizationId, subscriptions: { some: { organizationId, userId: id, active: true } } },
    orderBy: { id: 'asc' },
  });
}
