import type { Ctx } from '../../access/context.ts';
import { managesGroup } from '../../access/permissions/group-permissions.ts';
import { refreshMemberships } from '../../access/permissions/memberships.ts';
import { type ChannelActor, insufficientPermission } from '../../access/permissions/require.ts';
import { requireMember } from '../../access/roles.ts';
import { asOfNow } from '../../access/sign-in.ts';
import { systemGroups } from '../../access/system-groups.ts';
import type { Emit } from '../../events/log.ts';
import type { Organization, Prisma, UserGroup } from '../../generated/prisma/client.ts';
import { lockOrganization } from '../../people/locks.ts';
import type { Db, Tx } from '../../platform/db/client.ts';
import { ConflictError, type MissingPermission, NotFoundError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { groupChangeEffects } from './channel-effects.ts';
import type { Subject } from './events.ts';

/**
 * Returns the filter for the groups that the viewer can see: all groups of the organization.
 *
 * @throws UnauthorizedPrincipalError if the viewer is a guest.
 */
export function visibleTo(ctx: Ctx): Prisma.UserGroupWhereInput {
  requireMember(ctx);
  return { organizationId: ctx.organizationId };
}

/**
 * Returns a group of the viewer's organization. Role groups and deactivated groups are included.
 *
 * @throws UnauthorizedPrincipalError if the viewer is a guest.
 * @throws NotFoundError if the group does not exist.
 */
export function accessUserGroup(ctx: Ctx, groupId: number): Promise<UserGroup> {
  return findGroup(ctx.work.db, ctx, groupId);
}

/** A group by id, or by name in any case. */
export type UserGroupKey = { readonly id: number } | { readonly name: string };

/**
 * Returns a group of the viewer's organization by its id or name. Role groups and deactivated groups are included.
 *
 * @throws UnauthorizedPrincipalError if the viewer is a guest.
 * @throws NotFoundError if the group does not exist.
 */
export async function accessUserGroupBy(ctx: Ctx, key: UserGroupKey): Promise<UserGroup> {
  if ('id' in key) return accessUserGroup(ctx, key.id);
  const name = key.name.trim().toWellFormed().replaceAll('\0', '\uFFFD');
  const [found] = await ctx.work.db.$queryRaw<{ id: number }[]>`
    SELECT id FROM user_group WHERE realm_id = ${ctx.organizationId} AND lower(name) = lower(${name}::text)`;
  return accessUserGroup(ctx, found?.id ?? 0);
}

async function findGroup(db: Pick<Db, 'userGroup'>, ctx: Ctx, groupId: number): Promise<UserGroup> {
  const where = { AND: [visibleTo(ctx), { id: groupId }] };
  const group = isRowId(groupId) ? await db.userGroup.findFirst({ where }) : null;
  if (group === null)
    throw new NotFoundError('Invalid user group', { type: 'UserGroup', id: groupId, parameter: 'user_group_id' });
  return group;
}

/**
 * Checks that the group is active.
 *
 * @param parameter Name of the parameter that contains the group's id.
 * @throws ConflictError if the group is deactivated.
 */
export function requireActiveGroup(
  { deactivatedAt }: Pick<UserGroup, 'deactivatedAt'>,
  parameter = 'user_group_id',
): void {
  if (deactivatedAt !== null) throw new ConflictError('User group is deactivated.', { parameter });
}

/** The user who changes a group, as read in the transaction of the change. */
export interface Actor extends ChannelActor {
  readonly person: ChannelActor['person'] & { readonly organization: Organization };
}

/**
 * Locks all groups, members, subgroups and roles of the organization until the transaction ends. Each user's row stores the ids
 * of the user's groups. Without the lock, two concurrent changes could create a cycle of groups, or store wrong group ids.
 *
 * @returns The viewer as read after the lock was taken, because a concurrent change may have changed the viewer's rights.
 * @throws UnauthorizedPrincipalError if the viewer is a guest now.
 * @throws UserDeactivatedError if the viewer is deactivated now.
 */
export async function lockGroups(tx: Tx, ctx: Ctx): Promise<Actor> {
  await lockOrganization(tx, ctx.organizationId);
  const now = await asOfNow(tx, ctx);
  requireMember(now);
  return { person: now.viewer, groups: await systemGroups(tx, ctx.organizationId), now: ctx.app.now() };
}

/** A group that is locked for a change, with the user who changes the group. */
export interface HeldGroup {
  readonly actor: Actor;
  readonly group: UserGroup;
}

/**
 * Locks a group until the transaction ends, and returns it.
 *
 * @throws UnauthorizedPrincipalError if the viewer is a guest.
 * @throws NotFoundError if the group does not exist.
 */
export async function lockGroup(tx: Tx, ctx: Ctx, groupId: number): Promise<HeldGroup> {
  const actor = await lockGroups(tx, ctx);
  return { actor, group: await findGroup(tx, ctx, groupId) };
}

/**
 * Locks a group until the transaction ends, and returns it. Checks that the viewer can manage the group.
 *
 * @throws UnauthorizedPrincipalError if the viewer is a guest.
 * @throws NotFoundError if the group does not exist.
 * @throws ForbiddenError if the viewer cannot manage the group. No user can manage a role group.
 */
export async function lockManagedGroup(tx: Tx, ctx: Ctx, groupId: number): Promise<HeldGroup> {
  const held = await lockGroup(tx, ctx, groupId);
  if (!managesGroup(held.actor, held.group)) {
    throw insufficientPermission(
      held.group.isSystem ? ROLE_GROUP : { permission: 'can_manage_group', parameter: 'user_group_id' },
    );
  }
  return held;
}

/** Details of the error for a change of a role group. */
export const ROLE_GROUP: MissingPermission = {
  parameter: 'user_group_id',
  schemaMessage: 'Role groups cannot be changed.',
};

/**
 * Completes a change of group memberships. Updates the group ids that users' rows contain. If the groups of a user changed,
 * notifies the user of the channels that become visible or invisible to them.
 *
 * @param userIds Users whose memberships the change can affect. Absent: all users.
 */
export async function settleMemberships(
  tx: Tx,
  emit: Emit,
  { person: { organization }, now }: Actor,
  userIds?: readonly number[],
): Promise<void> {
  const changed = await refreshMemberships(tx, organization.id, userIds);
  await groupChangeEffects(tx, emit, { organization, now }, changed);
}

/** Returns the id of a group, and whether it is deactivated. The events about the group need both. */
export const subjectOf = ({ id, deactivatedAt }: UserGroup): Subject => ({ id, isDeactivated: deactivatedAt !== null });
