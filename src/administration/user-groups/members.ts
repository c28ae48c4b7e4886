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
import type { AuditEntry } from '../../events/audit.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { User, UserGroup } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ConflictError, type MissingPermission, NotFoundError, ValidationError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { type HeldGroup, lockGroup, ROLE_GROUP, requireActiveGroup, settleMemberships, subjectOf } from './access.ts';
import { groupMembersAdded, groupMembersRemoved, subgroupsAdded, subgroupsRemoved } from './events.ts';
import { notifyMembers } from './notices.ts';
import { readSubgroupIds } from './reads.ts';

/** Returns the entry of the audit log for users or groups that are added to a group or removed from it. */
export const membersChanged = (
  action: 'group_members_added' | 'group_members_removed' | 'group_subgroups_added' | 'group_subgroups_removed',
  { id, name }: Pick<UserGroup, 'id' | 'name'>,
  ids: readonly number[],
): AuditEntry => {
  const property = action.includes('subgroups') ? 'direct_subgroup_ids' : 'members';
  const changes = { [property]: { [action.endsWith('added') ? 'new' : 'old']: ids }, count: { new: ids.length } };
  return { action, objectType: 'user_group', objectId: id, objectName: name, changes };
};

/** Users and groups to add to a group and to remove from it. */
export interface MembersEdit {
  readonly add?: readonly number[] | undefined;
  readonly delete?: readonly number[] | undefined;
  readonly addSubgroups?: readonly number[] | undefined;
  readonly deleteSubgroups?: readonly number[] | undefined;
}

/**
 * Adds users and groups to a group, and removes users and groups from it. If one change is refused, none is made. Users are
 * added and removed first, then groups. Emits events to all users. People who are added or removed also receive a direct
 * message.
 *
 * @throws UnauthorizedPrincipalError if the viewer is a guest.
 * @throws ValidationError if nothing is given.
 * @throws NotFoundError if the group, or a user or group to add or remove, does not exist.
 * @throws ForbiddenError if the viewer lacks permission.
 * @throws ConflictError if a user or group to add is already in the group, or a group to add contains the group or is
 *   deactivated.
 * @throws ConflictError if a user or group to remove is not in the group.
 */
export function updateGroupMembers(ctx: Ctx, groupId: number, edit: MembersEdit): Promise<UserGroup> {
  if (Object.values(edit).every((ids: readonly number[] | undefined) => ids === undefined || ids.length === 0)) {
    throw new ValidationError(
      'Nothing to do. Specify at least one of "add", "delete", "add_subgroups" or "delete_subgroups".',
      {
        schemaMessage: 'Nothing to do. Specify members or subgroups to add or remove.',
      },
    );
  }
  const names = { add: 'add', delete: 'delete', addSubgroups: 'add_subgroups', deleteSubgroups: 'delete_subgroups' };
  return change(ctx, groupId, edit, names);
}

/**
 * Adds subgroups to a group, and removes subgroups from it. If one change is refused, none is made.
 *
 * @throws UnauthorizedPrincipalError if the viewer is a guest.
 * @throws ValidationError if nothing is given.
 * @throws NotFoundError if the group, or a group to add or remove, does not exist.
 * @throws ForbiddenError if the viewer lacks permission.
 * @throws ConflictError if a group to add is already in the group, contains it or is deactivated, or a group to remove is not
 *   in it.
 */
export function updateSubgroups(
  ctx: Ctx,
  groupId: number,
  edit: Pick<MembersEdit, 'add' | 'delete'>,
): Promise<UserGroup> {
  const { add: addSubgroups = [], delete: deleteSubgroups = [] } = edit;
  if (addSubgroups.length + deleteSubgroups.length === 0) {
    throw new ValidationError('Nothing to do. Specify at least one of "add" or "delete".');
  }
  const names = { add: '', delete: '', addSubgroups: 'add', deleteSubgroups: 'delete' };
  return change(ctx, groupId, { addSubgroups, deleteSubgroups }, names);
}

/** Names of the parameters that contain the ids of a `MembersEdit`. */
type ParameterNames = Readonly<Record<keyof MembersEdit, string>>;

async function change(ctx: Ctx, groupId: number, edit: MembersEdit, names: ParameterNames): Promise<UserGroup> {
  requireMember(ctx);
  // Returns the name of the parameter with a user's or group's id, with the index of the id.
  const parameterIn = (list: keyof MembersEdit) => (id: number) => `${names[list]}[${edit[list]?.indexOf(id)}]`;
  const [add, remove, addSubgroups, removeSubgroups] = [
    ...[edit.add, edit.delete, edit.addSubgroups, edit.deleteSubgroups],
  ].map((ids) => [...new Set(ids)]) as [number[], number[], number[], number[]];
  return transact(ctx, async (tx, emit) => {
    const held = await lockGroup(tx, ctx, groupId);
    const missing = missingFor(held, { add, remove, addSubgroups, removeSubgroups }, names);
    if (missing !== undefined) throw insufficientPermission(missing);
    const added = await addMembers(tx, emit, held, add, parameterIn('add'));
    const removed = await removeMembers(tx, emit, held, remove, parameterIn('delete'));
    await addGroups(tx, emit, held, addSubgroups, parameterIn('addSubgroups'));
    await removeGroups(tx, emit, held, removeSubgroups, parameterIn('deleteSubgroups'));
    const isAboutGroups = addSubgroups.length + removeSubgroups.length > 0;
    await settleMemberships(tx, emit, held.actor, isAboutGroups ? undefined : [...add, ...remove]);
    await notifyMembers(tx, emit, ctx, held, added, 'added');
    await notifyMembers(tx, emit, ctx, held, removed, 'removed');
    return held.group;
  });
}

type MemberEdit = Readonly<Record<'add' | 'remove' | 'addSubgroups' | 'removeSubgroups', readonly number[]>>;

/** A group, and a user who must not be a guest. */
interface ActorAndGroup {
  readonly actor: ChannelActor;
  readonly group: Governed;
}

/** Returns whether the user can make this change of members. Does not check which users are members now. */
export const mayChangeMembers = (held: ActorAndGroup, edit: Partial<MemberEdit>): boolean =>
  missingFor(held, edit) === undefined;

/**
 * Returns the permission that the user lacks for this change of members, or undefined.
 *
 * @param names Names of the parameters of the change. Absent if the result is not thrown.
 */
function missingFor(
  { actor, group }: ActorAndGroup,
  { add = [], remove = [], addSubgroups = [], removeSubgroups = [] }: Partial<MemberEdit>,
  names?: ParameterNames,
): MissingPermission | undefined {
  if (group.isSystem) return ROLE_GROUP;
  if (managesGroup(actor, group)) return undefined;
  const isOnlySelf = (ids: readonly number[]) => ids.every((id) => id === actor.person.id);
  // If only the viewer is added or removed, the permission to join or leave is enough.
  const toAdd = ['can_add_members_group', ...(isOnlySelf(add) ? (['can_join_group'] as const) : [])] as const;
  const toRemove = ['can_remove_members_group', ...(isOnlySelf(remove) ? (['can_leave_group'] as const) : [])] as const;
  const rules: readonly (readonly [keyof MembersEdit, readonly number[], readonly GroupPermissionName[]])[] = [
    ['add', add, toAdd],
    ['delete', remove, toRemove],
    ['addSubgroups', addSubgroups, ['can_add_members_group']],
    ['deleteSubgroups', removeSubgroups, ['can_manage_group']],
  ];
  const refused = rules.find(
    ([, ids, permissions]) => ids.length > 0 && !permissions.some((name) => holdsInGroup(actor, group, name)),
  );
  if (refused === undefined) return undefined;
  const [list, , permissions] = refused;
  return { permission: permissions.at(-1), parameter: names?.[list] };
}

/** Returns the name of the parameter that contains an id, with the index of the id. */
type ParameterOf = (id: number) => string;

async function addMembers(
  tx: Tx,
  emit: Emit,
  { group }: HeldGroup,
  ids: readonly number[],
  parameterOf: ParameterOf,
): Promise<User[]> {
  if (ids.length === 0) return [];
  const users = await requireUsers(tx, group.organizationId, ids);
  const known = await directMemberIds(tx, group, ids);
  const again = ids.find((id) => known.has(id));
  if (again !== undefined) {
    throw new ConflictError(`User ${again} is already a member of this group`, {
      parameter: parameterOf(again),
      schemaMessage: 'The user is already a direct member of the group.',
    });
  }
  await writeMembers(tx, group, users);
  emit(groupMembersAdded(subjectOf(group), ids), everyone());
  emit.audit(membersChanged('group_members_added', group, ids));
  return users;
}

async function removeMembers(
  tx: Tx,
  emit: Emit,
  { group }: HeldGroup,
  ids: readonly number[],
  parameterOf: ParameterOf,
): Promise<User[]> {
  if (ids.length === 0) return [];
  const users = await requireUsers(tx, group.organizationId, ids);
  const known = await directMemberIds(tx, group, ids);
  const stranger = ids.find((id) => !known.has(id));
  if (stranger !== undefined) {
    throw new ConflictError(`There is no member '${stranger}' in this user group`, {
      parameter: parameterOf(stranger),
      schemaMessage: 'The user is not a direct member of the group.',
    });
  }
  await tx.userGroupMember.deleteMany({
    where: { organizationId: group.organizationId, groupId: group.id, userId: { in: [...ids] } },
  });
  emit(groupMembersRemoved(subjectOf(group), ids), everyone());
  emit.audit(membersChanged('group_members_removed', group, ids));
  return users;
}

async function directMemberIds(
  tx: Tx,
  { organizationId, id }: UserGroup,
  userIds: readonly number[],
): Promise<Set<number>> {
  const rows = await tx.userGroupMember.findMany({
    where: { organizationId, groupId: id, userId: { in: [...userIds] } },
  });
  return new Set(rows.map(({ userId }) => userId));
}

async function addGroups(
  tx: Tx,
  emit: Emit,
  { actor, group }: HeldGroup,
  ids: readonly number[],
  parameterOf: ParameterOf,
): Promise<void> {
  if (ids.length === 0) return;
  const added = await requireNewSubgroups(tx, actor.groups, group.organizationId, { target: group, ids, parameterOf });
  await writeSubgroups(tx, group, added);
  emit(subgroupsAdded(subjectOf(group), added), everyone());
  emit.audit(membersChanged('group_subgroups_added', group, added));
}

async function removeGroups(
  tx: Tx,
  emit: Emit,
  { group }: HeldGroup,
  ids: readonly number[],
  parameterOf: ParameterOf,
): Promise<void> {
  if (ids.length === 0) return;
  const known = await directSubgroupIds(tx, group);
  const stranger = ids.find((id) => !known.has(id));
  if (stranger !== undefined) {
    const message = `User group ${stranger} is not a subgroup of this group.`;
    const where = { organizationId: group.organizationId, id: stranger };
    if (!isRowId(stranger) || (await tx.userGroup.count({ where })) === 0) {
      throw new NotFoundError(message, { type: 'UserGroup', id: stranger });
    }
    throw new ConflictError(message, {
      parameter: parameterOf(stranger),
      schemaMessage: 'The group to remove is not a direct subgroup of the group.',
    });
  }
  await tx.userGroupSubgroup.deleteMany({
    where: { organizationId: group.organizationId, groupId: group.id, subgroupId: { in: [...ids] } },
  });
  emit(subgroupsRemoved(subjectOf(group), ids), everyone());
  emit.audit(membersChanged('group_subgroups_removed', group, ids));
}

async function directSubgroupIds(tx: Tx, { organizationId, id }: UserGroup): Promise<Set<number>> {
  const rows = await tx.userGroupSubgroup.findMany({ where: { organizationId, groupId: id } });
  return new Set(rows.map(({ subgroupId }) => subgroupId));
}

/**
 * Returns the users to add to a group or to remove from it, each once, ascending by id.
 *
 * @throws NotFoundError if a user does not exist or is deactivated.
 */
export async function requireUsers(tx: Tx, organizationId: number, ids: readonly number[]): Promise<User[]> {
  const distinct = [...new Set(ids)];
  if (distinct.length === 0) return [];
  const where = { organizationId, id: { in: distinct.filter(isRowId) }, isActive: true, isSystem: false };
  // The users are sorted here, because Prisma splits a list of more ids than a query has parameters only if the query has no
  // `orderBy`.
  const users = (await tx.user.findMany({ where })).sort((a, b) => a.id - b.id);
  const known = new Set(users.map(({ id }) => id));
  const bad = distinct.find((id) => !known.has(id));
  if (bad !== undefined) throw new NotFoundError(`Invalid user ID: ${bad}`, { type: 'User', id: bad });
  return users;
}

/** Groups to add to a group. */
interface SubgroupAddition {
  readonly target: UserGroup | null;
  readonly ids: readonly number[];
  readonly parameterOf: ParameterOf;
}

/**
 * Returns the groups to add to a group, each once, in the order given.
 *
 * @param addition.target The group to which the groups are added. Null if that group does not exist yet.
 * @throws NotFoundError if a group does not exist.
 * @throws ConflictError if a group is deactivated, or is `target`, contains `target`, or is already a direct subgroup of it.
 */
export async function requireNewSubgroups(
  tx: Tx,
  groups: SystemGroups,
  organizationId: number,
  { target, ids, parameterOf }: SubgroupAddition,
): Promise<number[]> {
  const distinct = [...new Set(ids)];
  if (distinct.length === 0) return [];
  const rows = await tx.userGroup.findMany({ where: { organizationId, id: { in: distinct.filter(isRowId) } } });
  const byId = new Map(rows.map((row) => [row.id, row]));
  for (const id of distinct) {
    const group = byId.get(id);
    if (group === undefined) throw new NotFoundError(`Invalid user group ID: ${id}`, { type: 'UserGroup', id });
    requireActiveGroup(group, parameterOf(id));
  }
  if (target !== null) await requireFit(tx, groups, target, distinct, parameterOf);
  return distinct;
}

async function requireFit(
  tx: Tx,
  groups: SystemGroups,
  target: UserGroup,
  ids: readonly number[],
  parameterOf: ParameterOf,
): Promise<void> {
  const known = await directSubgroupIds(tx, target);
  const again = ids.find((id) => known.has(id));
  if (again !== undefined) {
    throw new ConflictError(`User group ${again} is already a subgroup of this group.`, {
      parameter: parameterOf(again),
      schemaMessage: 'The group to add is already a direct subgroup of the group.',
    });
  }
  const within = await readSubgroupIds(tx, groups, ids, { direct: false });
  const containing = ids.find((id) => id === target.id || within(id).includes(target.id));
  if (containing !== undefined) {
    throw new ConflictError(`User group ${target.id} is already a subgroup of one of the passed subgroups.`, {
      parameter: parameterOf(containing),
      schemaMessage: 'The group to add is the group itself, or contains it.',
    });
  }
}

/** Inserts users as direct members of a group. The transaction must also call `settleMemberships`. */
export async function writeMembers(tx: Tx, { id, organizationId }: UserGroup, users: readonly Pick<User, 'id'>[]) {
  if (users.length === 0) return;
  await tx.userGroupMember.createMany({
    data: users.map((user) => ({ organizationId, groupId: id, userId: user.id })),
  });
}

/** Inserts groups as direct subgroups of a group. The transaction must also call `settleMemberships`. */
export async function writeSubgroups(tx: Tx, { id, organizationId }: UserGroup, subgroupIds: readonly number[]) {
  if (subgroupIds.length === 0) return;
  const data = subgroupIds.map((subgroupId) => ({ organizationId, groupId: id, subgroupId }));
  await tx.userGroupSubgroup.createMany({ data });
}
