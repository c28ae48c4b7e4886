import type { Memberships } from '../../access/permissions/membership.ts';
import { channelActor } from '../../access/permissions/require.ts';
import { seenBy } from '../../channels/access.ts';
import { channelsDeleted, defaultChannelsChanged } from '../../channels/events.ts';
import { publishAccessChange } from '../../channels/hooks.ts';
import { holdChannels } from '../../channels/locks.ts';
import { defaultChannelIds } from '../../channels/subscriptions/default-channels.ts';
import { showChannels } from '../../channels/visibility.ts';
import { users } from '../../events/audience.ts';
import type { Emit } from '../../events/log.ts';
import type { Tx } from '../../platform/db/client.ts';
import { isGuest } from '../../platform/roles.ts';

interface RoleChange {
  readonly organizationId: number;
  readonly userId: number;
  readonly oldRole: number;
  readonly newRole: number;
  /** The groups of the user before the change. */
  readonly oldGroups: Memberships;
  readonly now: Date;
}

/**
 * Notifies a user of the channels that become visible or invisible to them, after a change of the user's role. Sends the
 * default channels if the user becomes or ceases to be a guest.
 *
 * Must be called in the transaction of the change, after the user's row was updated. Locks the organization's row, so that no
 * channel changes. A transaction that locks both rows itself must lock the organization's row before the user's row.
 *
 * @param change The user's roles and groups before and after, and the time by the service's clock.
 */
export async function roleChangeEffects(
  tx: Tx,
  emit: Emit,
  { organizationId, userId, oldRole, newRole, oldGroups, now }: RoleChange,
): Promise<void> {
  await holdChannels(tx, organizationId);
  const user = await tx.user.findUniqueOrThrow({
    where: { organizationId_id: { organizationId, id: userId } },
    include: { organization: true },
  });
  const seenAs = async (role: number, memberships: Memberships) => {
    const person = { id: userId, role, organization: user.organization, user: { ...user, ...memberships } };
    return tx.channel.findMany({ where: seenBy(await channelActor(tx, person, now)), orderBy: { id: 'asc' } });
  };
  const [before, after] = [await seenAs(oldRole, oldGroups), await seenAs(newRole, user)];
  const lost = missing(before, after);
  const gained = missing(after, before);
  if (lost.length > 0) emit(channelsDeleted(lost), users([userId]));
  if (gained.length > 0) await showChannels(tx, emit, { organization: user.organization, now }, gained, [userId]);
  await publishAccessChange(tx, emit, { organization: user.organization, now }, { userIds: [userId] });
  if (isGuest(oldRole) !== isGuest(newRole)) {
    const ids = isGuest(newRole) ? [] : await defaultChannelIds(tx, organizationId);
    emit(defaultChannelsChanged(ids), users([userId]));
  }
}

function missing<T extends { readonly id: number }>(from: readonly T[], others: readonly T[]): T[] {
  const ids = new Set(others.map(({ id }) => id));
  return from.filter(({ id }) => !ids.has(id));
}
