import { isInSystemGroup } from '../../access/permissions/membership.ts';
import { refreshMemberships } from '../../access/permissions/memberships.ts';
import { realmSetting } from '../../access/realm-settings.ts';
import { GROUP_OF_ROLE, type SystemGroupName, systemGroups } from '../../access/system-groups.ts';
import { everyone } from '../../events/audience.ts';
import type { Emit } from '../../events/log.ts';
import type { Realm, User } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { MEMBER } from '../../platform/roles.ts';
import { waitingPeriodEffects } from './channel-effects.ts';
import { groupMembersAdded, groupMembersRemoved } from './events.ts';

// Roles determine the members of role groups. These functions keep clients and the group ids in users' rows consistent
// with roles. All must run in a transaction that holds the lock of the organization's row.

/** The organization and the time of a change. */
interface RoleChangeContext {
  readonly realm: Realm;
  readonly now: Date;
}

/** Returns the role groups of which a user is a direct member: that of their role, and that of full members. */
function directRoleGroups(user: User, { realm, now }: RoleChangeContext): SystemGroupName[] {
  const { id, role } = user;
  const own = GROUP_OF_ROLE.get(role);
  const isFull = role === MEMBER && isInSystemGroup({ id, role, realm, user }, 'role:fullmembers', now);
  return [...(own === undefined ? [] : [own]), ...(isFull ? (['role:fullmembers'] as const) : [])];
}

/** Returns the state of a role group for its events. A role group is never deactivated. */
const subject = (id: number) => ({ id, isDeactivated: false });

/** Adds a new user to the groups of their role, and notifies all users. */
export async function joinRoleGroups(tx: Tx, emit: Emit, user: User, context: RoleChangeContext): Promise<void> {
  await refreshMemberships(tx, user.realmId, [user.id]);
  const groups = await systemGroups(tx, user.realmId);
  for (const name of directRoleGroups(user, context)) {
    emit(groupMembersAdded(subject(groups.id(name)), [user.id]), everyone());
  }
}

/**
 * Moves a user whose role or join date has changed between role groups, and notifies all users. Emits no event for a
 * deactivated user, because lists of members do not contain them.
 */
export async function roleGroupsChanged(
  tx: Tx,
  emit: Emit,
  { before, after }: { readonly before: User; readonly after: User },
  context: RoleChangeContext,
): Promise<void> {
  const { id, realmId, isActive } = after;
  await refreshMemberships(tx, realmId, [id]);
  if (!isActive) return;
  const groups = await systemGroups(tx, realmId);
  const [was, is] = [directRoleGroups(before, context), directRoleGroups(after, context)];
  for (const name of was.filter((group) => !is.includes(group))) {
    emit(groupMembersRemoved(subject(groups.id(name)), [id]), everyone());
  }
  for (const name of is.filter((group) => !was.includes(group))) {
    emit(groupMembersAdded(subject(groups.id(name)), [id]), everyone());
  }
}

/** Sends the direct groups of a reactivated user to all users, because clients removed deactivated users from all groups. */
export async function rejoinGroups(tx: Tx, emit: Emit, user: User, context: RoleChangeContext): Promise<void> {
  const groups = await systemGroups(tx, user.realmId);
  const rows = await tx.userGroup.findMany({
    where: { realmId: user.realmId, members: { some: { realmId: user.realmId, userId: user.id } } },
    orderBy: { id: 'asc' },
    select: { id: true, deactivatedAt: true },
  });
  const own = directRoleGroups(user, context).map((name) => subject(groups.id(name)));
  const others = rows.map(({ id, deactivatedAt }) => ({ id, isDeactivated: deactivatedAt !== null }));
  for (const group of [...own, ...others]) emit(groupMembersAdded(group, [user.id]), everyone());
}

/**
 * Notifies all users of members who become full members, or no longer are, because the waiting period changed. Notifies
 * these members of the channels that become visible or invisible to them.
 */
export async function waitingPeriodChanged(
  tx: Tx,
  emit: Emit,
  { before, after, now }: { readonly before: Realm; readonly after: Realm; readonly now: Date },
): Promise<void> {
  if (realmSetting(before, 'waiting_period_threshold') === realmSetting(after, 'waiting_period_threshold')) {
    return;
  }
  const groups = await systemGroups(tx, after.id);
  const members = await tx.user.findMany({
    where: { realmId: after.id, role: MEMBER, isActive: true, isSystem: false },
    orderBy: { id: 'asc' },
  });
  const isFull = (user: User, realm: Realm) => directRoleGroups(user, { realm, now }).length > 1;
  const moved = members.filter((user) => isFull(user, before) !== isFull(user, after));
  const lost = moved.filter((user) => isFull(user, before)).map(({ id }) => id);
  const gained = moved.filter((user) => isFull(user, after)).map(({ id }) => id);
  const group = subject(groups.id('role:fullmembers'));
  if (lost.length > 0) emit(groupMembersRemoved(group, lost), everyone());
  if (gained.length > 0) emit(groupMembersAdded(group, gained), everyone());
  await waitingPeriodEffects(tx, emit, { before, after, now }, moved);
}
