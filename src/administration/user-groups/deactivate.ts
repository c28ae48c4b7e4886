import type { Ctx } from '../../access/context.ts';
import { requireMember } from '../../access/roles.ts';
import { everyone } from '../../events/audience.ts';
import { transact } from '../../events/log.ts';
import type { UserGroup } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { lockManagedGroup, requireActiveGroup, subjectOf } from './access.ts';
import { CannotDeactivateGroupInUseError, type GroupObjection } from './errors.ts';
import { toSnapshot, userGroupRemoved, userGroupUpdated } from './events.ts';
import { channelsNamingGroup, groupsNamingGroup, organizationNamingGroup } from './queries.ts';

/**
 * Deactivates a group that is not in use, and notifies all users.
 *
 * @throws UnauthorizedPrincipalError if the viewer is a guest.
 * @throws CannotDeactivateGroupInUseError if the group is a subgroup of an active group, or holds any permission. Permissions
 *   on archived and deactivated objects count, because these objects would use the group again after they are restored.
 * @throws NotFoundError if the group does not exist.
 * @throws ForbiddenError if the viewer does not manage the group.
 * @throws ConflictError if the group is deactivated.
 */
export async function deactivateUserGroup(ctx: Ctx, groupId: number): Promise<UserGroup> {
  requireMember(ctx);
  return transact(ctx, async (tx, emit) => {
    const { actor, group } = await lockManagedGroup(tx, ctx, groupId);
    requireActiveGroup(group);
    const objections = await objectionsTo(tx, group);
    if (objections.length > 0) throw new CannotDeactivateGroupInUseError(objections);
    const after = await tx.userGroup.update({
      where: { organizationId_id: { organizationId: group.organizationId, id: group.id } },
      data: { deactivatedAt: actor.now },
    });
    const [was, is] = [toSnapshot(actor.groups, group), toSnapshot(actor.groups, after)];
    emit(userGroupUpdated(subjectOf(group), { deactivated: true }, is, was), everyone());
    emit(userGroupRemoved(group.id), everyone());
    return after;
  });
}

/**
 * Returns the objects that use the group. The organization's row is locked, so no concurrent change can give the group a
 * permission.
 */
async function objectionsTo(tx: Tx, { id, organizationId }: UserGroup): Promise<GroupObjection[]> {
  const supergroups = await tx.userGroupSubgroup.findMany({
    where: { organizationId, subgroupId: id, group: { deactivatedAt: null } },
    orderBy: { groupId: 'asc' },
  });
  const channels = await channelsNamingGroup(tx, organizationId, id);
  const groups = await groupsNamingGroup(tx, organizationId, id);
  const organizations = await organizationNamingGroup(tx, organizationId, id);
  return [
    ...(supergroups.length === 0
      ? []
      : [{ type: 'subgroup' as const, supergroup_ids: supergroups.map(({ groupId }) => groupId) }]),
    ...channels.map(({ id: channelId, settings }) => ({ type: 'channel' as const, channel_id: channelId, settings })),
    ...groups.map(({ id: userGroupId, settings }) => ({
      type: 'user_group' as const,
      group_id: userGroupId,
      settings,
    })),
    ...organizations.map(({ settings }) => ({ type: 'realm' as const, settings })),
  ];
}
