import { organizationSetting } from '../../access/organization-settings.ts';
import { isInSystemGroup } from '../../access/permissions/membership.ts';
import { refreshMemberships } from '../../access/permissions/memberships.ts';
import { GROUP_OF_ROLE, type SystemGroupName, systemGroups } from '../../access/system-groups.ts';
import { everyone } from '../../events/audience.ts';
import type { Emit } from '../../events/log.ts';
import type { Organization, User } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { MEMBER } from '../../platform/roles.ts';
import { waitingPeriodEffects } from './channel-effects.ts';
import { groupMembersAdded, groupMembersRemoved } from './events.ts';

// The role of a user determines the role groups that the user belongs to. If a role changes, the functions of this file update
// the group ids in users' rows and notify clients. All must run in a transaction that holds the lock of the organization's row.

/** The organization and the time of a change. */
interface RoleChangeContext {
  readonly organization: Organization;
  readonly now: Date;
}

/**
 * Returns the names of the role groups of which a user is a direct member: the group of the user's role and, if the user is a
 * full member, `role:fullmembers`.
 */
function directRoleGroups(user: User, { organization, now }: RoleChangeContext): SystemGroupName[] {
  const { id, role } = user;
  const own = GROUP_OF_ROLE.get(role);
  const isFull = role === MEMBER && isInSystemGroup({ id, role, organization, user }, 'role:fullmembers', now);
  return [...(own === undefined ? [] : [own]), ...(isFull ? (['role:fullmembers'] as const) : [])];
}

/** Returns the `Subject` of a role group, for events about its members. Role groups are never deactivated. */
const subject = (id: number) => ({ id, isDeactivated: false });

/** Adds a new user to the groups of their role, and notifies all users. */
export async function joinRoleGroups(tx: Tx, emit: Emit, user: User, context: RoleChangeContext): Promise<void> {
  await refreshMemberships(tx, user.organizationId, [user.id]);
  const groups = await systemGroups(tx, user.organizationId);
  for (const name of directRoleGroups(user, context)) {
    emit(groupMembersAdded(subject(groups.id(name)), [user.id]), everyone());
  }
}

/**
 * Moves a user whose role or join date has changed between role groups, and notifies all users. Emits no event for a
 * deactivated user, because lists of members do not contain deactivated users.
 */
export async function roleGroupsChanged(
  tx: Tx,
  emit: Emit,
  { before, after }: { readonly before: User; readonly after: User },
  context: RoleChangeContext,
): Promise<void> {
  const { id, organizationId, isActive } = after;
  await refreshMemberships(tx, organizationId, [id]);
  if (!isActive) return;
  const groups = await systemGroups(tx, organizationId);
  const [was, is] = [directRoleGroups(before, context), directRoleGroups(after, context)];
  for (const name of was.filter((group) => !is.includes(group))) {
    emit(groupMembersRemoved(subject(groups.id(name)), [id]), everyone());
  }
  for (const name of is.filter((group) => !was.includes(group))) {
    emit(groupMembersAdded(subject(groups.id(name)), [id]), everyone());
  }
}

/**
 * Emits, to all users, that a reactivated user is a direct member of the user's groups. When the user was deactivated, clients
 * removed the user from all groups.
 */
export async function rejoinGroups(tx: Tx, emit: Emit, user: User, context: RoleChangeContext): Promise<void> {
  const groups = await systemGroups(tx, user.organizationId);
  const rows = await tx.userGroup.findMany({
    where: {
      organizationId: user.organizationId,
      members: { some: { organizationId: user.organizationId, userId: user.id } },
    },
    orderBy: { id: 'asc' },
    select: { id: true, deactivatedAt: true },
  });
  const own = directRoleGroups(user, context).map((name) => subject(groups.id(name)));
  const others = rows.map(({ id, deactivatedAt }) => ({ id, isDeactivated: deactivatedAt !== null }));
  for (const group of [...own, ...others]) emit(groupMembersAdded(group, [user.id]), everyone());
}

/**
 * If the waiting period changed, emits to all users which members become full members or are no longer full members. Also
 * notifies each of these members of the channels that become visible or invisible to the member.
 */
export async function waitingPeriodChanged(
  tx: Tx,
  emit: Emit,
  { before, after, now }: { readonly before: Organization; readonly after: Organization; readonly now: Date },
): Promise<void> {
  if (
    organizationSetting(before, 'waiting_period_threshold') === organizationSetting(after, 'waiting_period_threshold')
  ) {
    return;
  }
  const groups = await systemGroups(tx, after.id);
  const members = await tx.user.findMany({
    where: { organizationId: after.id, role: MEMBER, isActive: true, isSystem: false },
    orderBy: { id: 'asc' },
  });
  const isFull = (user: User, organization: Organization) => directRoleGroups(user, { organization, now }).length > 1;
  const moved = members.filter((user) => isFull(user, before) !== isFull(user, after));
  const lost = moved.filter((user) => isFull(user, before)).map(({ id }) => id);
  const gained = moved.filter((user) => isFull(user, after)).map(({ id }) => id);
  const group = subject(groups.id('role:fullmembers'));
  if (lost.length > 0) emit(groupMembersRemoved(group, lost), everyone());
  if (gained.length > 0) emit(groupMembersAdded(group, gained), everyone());
  await waitingPeriodEffects(tx, emit, { before, after, now }, moved);
}
