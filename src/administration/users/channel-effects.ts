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
  readonly realmId: number;
  readonly userId: number;
  readonly oldRole: number;
  readonly newRole: number;
  /** The user's groups with the old role. */
  readonly oldGroups: Memberships;
  readonly now: Date;
}

/**
 * Notifies a user whose role changed of the channels that become visible or invisible to them. Sends the default channels
 * if the user becomes or ceases to be a guest.
 *
 * Must be called in the transaction, after the user's row was updated. Locks the organization's row, so that no channel
 * changes. A transaction that locks that row too must lock it before the user's row.
 *
 * @param change The user's roles and groups before and after, and the time by the service's clock.
 */
export async function roleChangeEffects(
  tx: Tx,
  emit: Emit,
  { realmId, userId, oldRole, newRole, oldGroups, now }: RoleChange,
): Promise<void> {
  await holdChannels(tx, realmId);
  const user = await tx.user.findUniqueOrThrow({
    where: { realmId_id: { realmId, id: userId } },
    include: { realm: true },
  });
  const seenAs = async (role: number, memberships: Memberships) => {
    const person = { id: userId, role, realm: user.realm, user: { ...user, ...memberships } };
    return tx.channel.findMany({ where: seenBy(await channelActor(tx, person, now)), orderBy: { id: 'asc' } });
  };
  const [before, after] = [await seenAs(oldRole, oldGroups), await seenAs(newRole, user)];
  const lost = missing(before, after);
  const gained = missing(after, before);
  if (lost.length > 0) emit(channelsDeleted(lost), users([userId]));
  if (gained.length > 0) await showChannels(tx, emit, { realm: user.realm, now }, gained, [userId]);
  await publishAccessChange(tx, emit, { realm: user.realm, now }, { userIds: [userId] });
  if (isGuest(oldRole) !== isGuest(newRole)) {
    const ids = isGuest(newRole) ? [] : await defaultChannelIds(tx, realmId);
    emit(defaultChannelsChanged(ids), users([userId]));
  }
}

function missing<T extends { readonly id: number }>(from: readonly T[], others: readonly T[]): T[] {
  const ids = new Set(others.map(({ id }) => id));
  return from.filter(({ id }) => !ids.has(id));
}
