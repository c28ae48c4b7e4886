import type { Ctx } from '../../access/context.ts';
import { managesGroup } from '../../access/permissions/group-permissions.ts';
import { refreshMemberships } from '../../access/permissions/memberships.ts';
import { type ChannelActor, insufficientPermission } from '../../access/permissions/require.ts';
import { systemGroups } from '../../access/permissions/system-groups.ts';
import { requireMember } from '../../access/roles.ts';
import { asOfNow } from '../../access/sign-in.ts';
import type { Emit } from '../../events/log.ts';
import type { Prisma, Realm, UserGroup } from '../../generated/prisma/client.ts';
import { lockRealm } from '../../people/locks.ts';
import type { Db, Tx } from '../../platform/db/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { groupChangeEffects } from './channel-effects.ts';
import type { Subject } from './events.ts';

/** The groups of the viewer's organisation: to all but guests. */
export function visibleTo(ctx: Ctx): Prisma.UserGroupWhereInput {
  requireMember(ctx);
  return { realmId: ctx.realmId };
}

/**
 * One group of the viewer's organisation, a role group or another, deactivated or not.
 *
 * @throws UnauthorizedPrincipalError when the viewer is a guest.
 * @throws BadRequestError when there is none.
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

/** @throws BadRequestError when the group is deactivated. */
export function requireActiveGroup({ deactivatedAt }: Pick<UserGroup, 'deactivatedAt'>): void {
  if (deactivatedAt !== null) throw new BadRequestError('User group is deactivated.');
}

/** Who changes groups, as of the change. */
export interface Actor extends ChannelActor {
  readonly person: ChannelActor['person'] & { readonly realm: Realm };
}

/**
 * Keeps all groups, members, subgroups and roles of the organisation as they are until the change is over, but for this
 * change: otherwise two changes together could make a circle of groups, and what users' rows say of their groups could
 * be wrong.
 *
 * @returns The viewer as they are by then: what they hold may be what changed.
 * @throws UnauthorizedPrincipalError when the viewer is a guest by then.
 * @throws UserDeactivatedError when they are deactivated by then.
 */
export async function lockGroups(tx: Tx, ctx: Ctx): Promise<Actor> {
  await lockRealm(tx, ctx.realmId);
  const now = await asOfNow(tx, ctx);
  requireMember(now);
  return { person: now.viewer, groups: await systemGroups(tx, ctx.realmId), now: ctx.app.now() };
}

/** A group that is locked for a change, and who changes it. */
export interface HeldGroup {
  readonly actor: Actor;
  readonly group: UserGroup;
}

/**
 * A group, kept as it is until the change is over.
 *
 * @throws UnauthorizedPrincipalError when the viewer is a guest.
 * @throws BadRequestError when there is none.
 */
export async function lockGroup(tx: Tx, ctx: Ctx, groupId: number): Promise<HeldGroup> {
  const actor = await lockGroups(tx, ctx);
  return { actor, group: await findGroup(tx, ctx, groupId) };
}

/**
 * As `lockGroup`, for who may change everything about the group.
 *
 * @throws BadRequestError when the viewer may not; of a role group, nobody may.
 */
export async function lockManagedGroup(tx: Tx, ctx: Ctx, groupId: number): Promise<HeldGroup> {
  const held = await lockGroup(tx, ctx, groupId);
  if (!managesGroup(held.actor, held.group)) throw insufficientPermission();
  return held;
}

/**
 * Ends a change of who is in which groups: what users' rows say of it follows, and so does which channels they see.
 *
 * @param userIds Whom the change can concern; everybody, when absent.
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

/** What an event says of the group. */
export const subjectOf = ({ id, deactivatedAt }: UserGroup): Subject => ({ id, isDeactivated: deactivatedAt !== null });
