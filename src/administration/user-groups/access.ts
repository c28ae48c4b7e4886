import type { Ctx } from '../../access/context.ts';
import { managesGroup } from '../../access/permissions/group-permissions.ts';
import { refreshMemberships } from '../../access/permissions/memberships.ts';
import { type ChannelActor, insufficientPermission } from '../../access/permissions/require.ts';
import { requireMember } from '../../access/roles.ts';
import { asOfNow } from '../../access/sign-in.ts';
import { systemGroups } from '../../access/system-groups.ts';
import type { Emit } from '../../events/log.ts';
import type { Prisma, Realm, UserGroup } from '../../generated/prisma/client.ts';
import { lockRealm } from '../../people/locks.ts';
import type { Db, Tx } from '../../platform/db/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { groupChangeEffects } from './channel-effects.ts';
import type { Subject } from './events.ts';

/**
 * Returns the filter for the groups that the viewer can see: all of the organization.
 *
 * @throws UnauthorizedPrincipalError if the viewer is a guest.
 */
export function visibleTo(ctx: Ctx): Prisma.UserGroupWhereInput {
  requireMember(ctx);
  return { realmId: ctx.realmId };
}

/**
 * Returns a group of the viewer's organization. Role groups and deactivated groups are included.
 *
 * @throws UnauthorizedPrincipalError if the viewer is a guest.
 * @throws BadRequestError if the group does not exist.
 */
export function accessUserGroup(ctx: Ctx, groupId: number): Promise<UserGroup> {
  return findGroup(ctx.app.db, ctx, groupId);
}

async function findGroup(db: Pick<Db, 'userGroup'>, ctx: Ctx, groupId: number): Promise<UserGroup> {
  const where = { AND: [visibleTo(ctx), { id: groupId }] };
  const group = isRowId(groupId) ? await db.userGroup.findFirst({ where }) : null;
  if (group === null) throw new BadRequestError('Invalid user group');
  return group;
}

/** Checks that the group is active. @throws BadRequestError if the group is deactivated. */
export function requireActiveGroup({ deactivatedAt }: Pick<UserGroup, 'deactivatedAt'>): void {
  if (deactivatedAt !== null) throw new BadRequestError('User group is deactivated.');
}

/** The user who changes groups, as read in the transaction of the change. */
export interface Actor extends ChannelActor {
  readonly person: ChannelActor['person'] & { readonly realm: Realm };
}

/**
 * Locks all groups, members, subgroups and roles of the organization until the transaction ends. Without the lock, two
 * concurrent changes could create a cycle of groups, or leave wrong group ids in users' rows.
 *
 * @returns The viewer as of the lock, because a concurrent change may have changed their rights.
 * @throws UnauthorizedPrincipalError if the viewer is a guest now.
 * @throws UserDeactivatedError if the viewer is deactivated now.
 */
export async function lockGroups(tx: Tx, ctx: Ctx): Promise<Actor> {
  await lockRealm(tx, ctx.realmId);
  const now = await asOfNow(tx, ctx);
  requireMember(now);
  return { person: now.viewer, groups: await systemGroups(tx, ctx.realmId), now: ctx.app.now() };
}

/** A group that is locked for a change, with the user who changes it. */
export interface HeldGroup {
  readonly actor: Actor;
  readonly group: UserGroup;
}

/**
 * Locks a group until the transaction ends, and returns it.
 *
 * @throws UnauthorizedPrincipalError if the viewer is a guest.
 * @throws BadRequestError if the group does not exist.
 */
export async function lockGroup(tx: Tx, ctx: Ctx, groupId: number): Promise<HeldGroup> {
  const actor = await lockGroups(tx, ctx);
  return { actor, group: await findGroup(tx, ctx, groupId) };
}

/**
 * Locks a group like `lockGroup`, for a viewer who can change all of it.
 *
 * @throws The errors of `lockGroup`.
 * @throws BadRequestError if the viewer cannot manage the group. No user can manage a role group.
 */
export async function lockManagedGroup(tx: Tx, ctx: Ctx, groupId: number): Promise<HeldGroup> {
  const held = await lockGroup(tx, ctx, groupId);
  if (!managesGroup(held.actor, held.group)) throw insufficientPermission();
  return held;
}

/**
 * Completes a change of group memberships: updates the group ids in users' rows, and which channels these users can see.
 *
 * @param userIds Users whom the change can affect. Absent: all.
 */
export async function settleMemberships(
  tx: Tx,
  emit: Emit,
  { person: { realm }, now }: Actor,
  userIds?: readonly number[],
): Promise<void> {
  const changed = await refreshMemberships(tx, realm.id, userIds);
  await groupChangeEffects(tx, emit, { realm, now }, changed);
}

/** Returns the state of a group that its events need. */
export const subjectOf = ({ id, deactivatedAt }: UserGroup): Subject => ({ id, isDeactivated: deactivatedAt !== null });
