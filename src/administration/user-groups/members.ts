import type { Ctx } from '../../access/context.ts';
import {
  type Governed,
  type GroupPermissionName,
  holdsInGroup,
  managesGroup,
} from '../../access/permissions/group-permissions.ts';
import { type ChannelActor, insufficientPermission } from '../../access/permissions/require.ts';
import { requireMember } from '../../access/roles.ts';
import type { SystemGroups } from '../../access/system-groups.ts';
import { everyone } from '../../events/audience.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { User, UserGroup } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { type HeldGroup, lockGroup, requireActiveGroup, settleMemberships, subjectOf } from './access.ts';
import { groupMembersAdded, groupMembersRemoved, subgroupsAdded, subgroupsRemoved } from './events.ts';
import { notifyMembers } from './notices.ts';
import { readSubgroupIds } from './reads.ts';

/** Users and groups to add to a group and to remove from it. */
export interface MembersEdit {
  readonly add?: readonly number[] | undefined;
  readonly delete?: readonly number[] | undefined;
  readonly addSubgroups?: readonly number[] | undefined;
  readonly deleteSubgroups?: readonly number[] | undefined;
}

/**
 * Adds users and groups to a group, and removes users and groups from it. If one change is refused, none is made. Users are
 * added and removed first, then groups. Notifies all users, and the affected people by direct message.
 *
 * @throws UnauthorizedPrincipalError if the viewer is a guest.
 * @throws BadRequestError if nothing is given, the group does not exist, or the viewer lacks permission.
 * @throws BadRequestError if a user or group does not exist, if one to add is already in the group or would close a cycle, or
 * if one to remove is not in the group.
 */
export function updateGroupMembers(ctx: Ctx, groupId: number, edit: MembersEdit): Promise<UserGroup> {
  if (Object.values(edit).every((ids: readonly number[] | undefined) => ids === undefined || ids.length === 0)) {
    throw new BadRequestError(
      'Nothing to do. Specify at least one of "add", "delete", "add_subgroups" or "delete_subgroups".',
    );
  }
  return change(ctx, groupId, edit);
}

/**
 * Adds subgroups to a group, and removes subgroups from it. If one change is refused, none is made.
 *
 * @throws The errors of `updateGroupMembers`.
 */
export function updateSubgroups(
  ctx: Ctx,
  groupId: number,
  edit: Pick<MembersEdit, 'add' | 'delete'>,
): Promise<UserGroup> {
  const { add: addSubgroups = [], delete: deleteSubgroups = [] } = edit;
  if (addSubgroups.length + deleteSubgroups.length === 0) {
    throw new BadRequestError('Nothing to do. Specify at least one of "add" or "delete".');
  }
  return change(ctx, groupId, { addSubgroups, deleteSubgroups });
}

async function change(ctx: Ctx, groupId: number, edit: MembersEdit): Promise<UserGroup> {
  requireMember(ctx);
  const [add, remove, addSubgroups, removeSubgroups] = [
    ...[edit.add, edit.delete, edit.addSubgroups, edit.deleteSubgroups],
  ].map((ids) => [...new Set(ids)]) as [number[], number[], number[], number[]];
  return transact(ctx, async (tx, emit) => {
    const held = await lockGroup(tx, ctx, groupId);
    requirePermission(held, { add, remove, addSubgroups, removeSubgroups });
    const added = await addMembers(tx, emit, held, add);
    const removed = await removeMembers(tx, emit, held, remove);
    await addGroups(tx, emit, held, addSubgroups);
    await removeGroups(tx, emit, held, removeSubgroups);
    const isAboutGroups = addSubgroups.length + removeSubgroups.length > 0;
    await settleMemberships(tx, emit, held.actor, isAboutGroups ? undefined : [...add, ...remove]);
    await notifyMembers(tx, emit, ctx, held, added, 'added');
    await notifyMembers(tx, emit, ctx, held, removed, 'removed');
    return held.group;
  });
}

type MemberEdit = Readonly<Record<'add' | 'remove' | 'addSubgroups' | 'removeSubgroups', readonly number[]>>;

function requirePermission(held: HeldGroup, edit: MemberEdit): void {
  if (!mayChangeMembers(held, edit)) throw insufficientPermission();
}

/** Returns whether a user, who must not be a guest, can make the change. Ignores which users are members now. */
export function mayChangeMembers(
  { actor, group }: { readonly actor: ChannelActor; readonly group: Governed },
  { add = [], remove = [], addSubgroups = [], removeSubgroups = [] }: Partial<MemberEdit>,
): boolean {
  if (group.isSystem) return false;
  if (managesGroup(actor, group)) return true;
  const holds = (name: GroupPermissionName) => holdsInGroup(actor, group, name);
  const isOnlySelf = (ids: readonly number[]) => ids.every((id) => id === actor.person.id);
  const mayAdd = holds('can_add_members_group');
  return (
    (add.length === 0 || mayAdd || (isOnlySelf(add) && holds('can_join_group'))) &&
    (remove.length === 0 || holds('can_remove_members_group') || (isOnlySelf(remove) && holds('can_leave_group'))) &&
    (addSubgroups.length === 0 || mayAdd) &&
    removeSubgroups.length === 0
  );
}

async function addMembers(tx: Tx, emit: Emit, { group }: HeldGroup, ids: readonly number[]): Promise<User[]> {
  if (ids.length === 0) return [];
  const users = await requireUsers(tx, group.realmId, ids);
  const known = await directMemberIds(tx, group, ids);
  const again = ids.find((id) => known.has(id));
  if (again !== undefined) throw new BadRequestError(`User ${again} is already a member of this group`);
  await writeMembers(tx, group, users);
  emit(groupMembersAdded(subjectOf(group), ids), everyone());
  return users;
}

async function removeMembers(tx: Tx, emit: Emit, { group }: HeldGroup, ids: readonly number[]): Promise<User[]> {
  if (ids.length === 0) return [];
  const users = await requireUsers(tx, group.realmId, ids);
  const known = await directMemberIds(tx, group, ids);
  const stranger = ids.find((id) => !known.has(id));
  if (stranger !== undefined) throw new BadRequestError(`There is no member '${stranger}' in this user group`);
  await tx.userGroupMember.deleteMany({
    where: { realmId: group.realmId, groupId: group.id, userId: { in: [...ids] } },
  });
  emit(groupMembersRemoved(subjectOf(group), ids), everyone());
  return users;
}

async function directMemberIds(tx: Tx, { realmId, id }: UserGroup, userIds: readonly number[]): Promise<Set<number>> {
  const rows = await tx.userGroupMember.findMany({ where: { realmId, groupId: id, userId: { in: [...userIds] } } });
  return new Set(rows.map(({ userId }) => userId));
}

async function addGroups(tx: Tx, emit: Emit, { actor, group }: HeldGroup, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  const added = await requireNewSubgroups(tx, actor.groups, group.realmId, group, ids);
  await writeSubgroups(tx, group, added);
  emit(subgroupsAdded(subjectOf(group), added), everyone());
}

async function removeGroups(tx: Tx, emit: Emit, { group }: HeldGroup, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  const known = await directSubgroupIds(tx, group);
  const stranger = ids.find((id) => !known.has(id));
  if (stranger !== undefined) throw new BadRequestError(`User group ${stranger} is not a subgroup of this group.`);
  await tx.userGroupSubgroup.deleteMany({
    where: { realmId: group.realmId, groupId: group.id, subgroupId: { in: [...ids] } },
  });
  emit(subgroupsRemoved(subjectOf(group), ids), everyone());
}

async function directSubgroupIds(tx: Tx, { realmId, id }: UserGroup): Promise<Set<number>> {
  const rows = await tx.userGroupSubgroup.findMany({ where: { realmId, groupId: id } });
  return new Set(rows.map(({ subgroupId }) => subgroupId));
}

/**
 * Returns the users to add to a group or to remove from it, each once, ascending by id.
 *
 * @throws BadRequestError if a user does not exist or is deactivated.
 */
export async function requireUsers(tx: Tx, realmId: number, ids: readonly number[]): Promise<User[]> {
  const distinct = [...new Set(ids)];
  if (distinct.length === 0) return [];
  const where = { realmId, id: { in: distinct.filter(isRowId) }, isActive: true, isSystem: false };
  // Sorted here, because Prisma splits a list of more ids than a query has parameters only if the query has no `orderBy`.
  const users = (await tx.user.findMany({ where })).sort((a, b) => a.id - b.id);
  const known = new Set(users.map(({ id }) => id));
  const bad = distinct.find((id) => !known.has(id));
  if (bad !== undefined) throw new BadRequestError(`Invalid user ID: ${bad}`);
  return users;
}

/**
 * Returns the groups to add to a group, each once, in the order given.
 *
 * @param target Null for a group that is about to be created.
 * @throws BadRequestError if a group does not exist, is deactivated, is already a subgroup, or contains the target.
 */
export async function requireNewSubgroups(
  tx: Tx,
  groups: SystemGroups,
  realmId: number,
  target: UserGroup | null,
  ids: readonly number[],
): Promise<number[]> {
  const distinct = [...new Set(ids)];
  if (distinct.length === 0) return [];
  const rows = await tx.userGroup.findMany({ where: { realmId, id: { in: distinct.filter(isRowId) } } });
  const byId = new Map(rows.map((row) => [row.id, row]));
  for (const id of distinct) {
    const group = byId.get(id);
    if (group === undefined) throw new BadRequestError(`Invalid user group ID: ${id}`);
    requireActiveGroup(group);
  }
  if (target !== null) await requireFit(tx, groups, target, distinct);
  return distinct;
}

async function requireFit(tx: Tx, groups: SystemGroups, target: UserGroup, ids: readonly number[]): Promise<void> {
  const known = await directSubgroupIds(tx, target);
  const again = ids.find((id) => known.has(id));
  if (again !== undefined) throw new BadRequestError(`User group ${again} is already a subgroup of this group.`);
  const within = await readSubgroupIds(tx, groups, ids, { direct: false });
  if (ids.some((id) => id === target.id || within(id).includes(target.id))) {
    throw new BadRequestError(`User group ${target.id} is already a subgroup of one of the passed subgroups.`);
  }
}

/** Writes members of a group. The transaction must also call `settleMemberships`. */
export async function writeMembers(tx: Tx, { id, realmId }: UserGroup, users: readonly Pick<User, 'id'>[]) {
  if (users.length === 0) return;
  await tx.userGroupMember.createMany({ data: users.map((user) => ({ realmId, groupId: id, userId: user.id })) });
}

/** Writes subgroups of a group. The transaction must also call `settleMemberships`. */
export async function writeSubgroups(tx: Tx, { id, realmId }: UserGroup, subgroupIds: readonly number[]) {
  if (subgroupIds.length === 0) return;
  const data = subgroupIds.map((subgroupId) => ({ realmId, groupId: id, subgroupId }));
  await tx.userGroupSubgroup.createMany({ data });
}
