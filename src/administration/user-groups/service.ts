import { usersChargedWith } from '../../access/charged-users.ts';
import type { Ctx } from '../../access/context.ts';
import {
  changedGroupSettings,
  type GroupSettingEdits,
  type GroupSettingValues,
  readGroupSettings,
} from '../../access/permission-values.ts';
import {
  GROUP_PERMISSIONS,
  type GroupPermissionName,
  groupPermission,
  toStoredPermissions,
} from '../../access/permissions/group-permissions.ts';
import { type ChannelActor, insufficientPermission, mayInOrganization } from '../../access/permissions/require.ts';
import type { WireUserGroup } from '../../access/permissions/wire.ts';
import { requireMember } from '../../access/roles.ts';
import { systemGroups, toWireGroupSetting } from '../../access/system-groups.ts';
import { everyone } from '../../events/audience.ts';
import { transact } from '../../events/log.ts';
import type { UserGroup } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ConflictError, ValidationError } from '../../platform/errors.ts';
import { requireReadable } from '../../platform/names.ts';
import { isAdministrator } from '../../platform/roles.ts';
import { refuseNullBytes, requireText } from '../../platform/text.ts';
import { requireWithin } from '../../platform/totals.ts';
import { type HeldGroup, lockGroups, lockManagedGroup, settleMemberships, subjectOf, visibleTo } from './access.ts';
import { toSnapshot, userGroupAdded, userGroupUpdated, type WireGroupChanges } from './events.ts';
import { requireNewSubgroups, requireUsers, writeMembers, writeSubgroups } from './members.ts';
import { notifyMembers } from './notices.ts';
import { isGroupNameTaken } from './queries.ts';
import { toWireGroups } from './reads.ts';

/**
 * Maximum lengths of the name and the description of a group, in code points. Longer texts are refused with `ValidationError`.
 */
const MAX_NAME_LENGTH = 100;
const MAX_DESCRIPTION_LENGTH = 1024;

/** Prefixes that are not allowed in group names, because mentions of other objects begin with them. */
const RESERVED_PREFIXES = ['@', 'role:', 'user:', 'stream:', 'channel:'];

/** Properties of a new group. */
export interface NewUserGroup {
  /** Name of 1 to 100 code points; unique in the organization, ignoring case. */
  readonly name: string;
  /** Description of at most `MAX_DESCRIPTION_LENGTH` code points. */
  readonly description: string;
  readonly memberIds: readonly number[];
  readonly subgroupIds: readonly number[];
  readonly permissions: GroupSettingValues<GroupPermissionName>;
}

/**
 * Returns the organization's groups, role groups included, ascending by id.
 *
 * @throws UnauthorizedPrincipalError if the viewer is a guest.
 */
export async function listUserGroups(
  ctx: Ctx,
  { includeDeactivated }: { readonly includeDeactivated: boolean },
): Promise<WireUserGroup[]> {
  const where = { AND: [visibleTo(ctx), includeDeactivated ? {} : { deactivatedAt: null }] };
  const { app, work, viewer } = ctx;
  const groups = await systemGroups(work.db, ctx.organizationId);
  const rows = await work.db.userGroup.findMany({ where, orderBy: { id: 'asc' } });
  return toWireGroups(work.db, groups, { organization: viewer.organization, now: app.now() }, rows);
}

/** Returns whether the user can create groups. */
export const mayCreateGroups = (actor: ChannelActor): boolean => mayInOrganization(actor, 'can_create_groups');

/**
 * Creates a group, and notifies all users.
 *
 * @throws UnauthorizedPrincipalError if the viewer is a guest.
 * @throws ForbiddenError if the viewer is not allowed to create groups.
 * @throws ValidationError if the name, the description or a permission is invalid.
 * @throws NotFoundError if a user or group does not exist.
 * @throws ConflictError if the name is in use or a group is deactivated.
 * @throws TotalReachedError if there would be more than 2,500 groups, deactivated ones included.
 * @throws TotalReachedError if the viewer is not an administrator, and the viewer and their bots would have created more than
 *   200 groups in total.
 */
export function createUserGroup(ctx: Ctx, input: NewUserGroup): Promise<UserGroup> {
  requireMember(ctx);
  const name = requireGroupName(input.name);
  const description = requireText('description', input.description, { max: MAX_DESCRIPTION_LENGTH });
  return transact(ctx, async (tx, emit) => {
    const actor = await lockGroups(tx, ctx);
    if (!mayCreateGroups(actor)) throw insufficientPermission({ permission: 'can_create_groups' });
    const { person, groups, now } = actor;
    const { organization } = person;
    await requireFreeName(tx, organization.id, name);
    await requireRoom(tx, person);
    const members = await requireUsers(tx, organization.id, input.memberIds);
    const subgroupIds = await requireNewSubgroups(tx, groups, organization.id, {
      target: null,
      ids: input.subgroupIds,
      parameterOf: (id) => `subgroups[${input.subgroupIds.indexOf(id)}]`,
    });
    const settings = await readGroupSettings(tx, organization.id, GROUP_PERMISSIONS, input.permissions);
    const blank = { permissions: {}, creatorId: person.id, isSystem: false };
    const group = await tx.userGroup.create({
      data: {
        organizationId: organization.id,
        name,
        description,
        creatorId: person.id,
        createdAt: now,
        permissions: toStoredPermissions(groups, blank, settings),
      },
    });
    await writeMembers(tx, group, members);
    await writeSubgroups(tx, group, subgroupIds);
    const [wire] = await toWireGroups(tx, groups, { organization, now }, [group]);
    if (wire !== undefined) emit(userGroupAdded(wire, toSnapshot(groups, group)), everyone());
    await settleMemberships(tx, emit, actor, subgroupIds.length > 0 ? undefined : input.memberIds);
    await notifyMembers(tx, emit, ctx, { actor, group }, members, 'added');
    return group;
  });
}

/**
 * Checks the limits on the number of groups. Role groups do not count towards these limits. The caller must hold the lock of
 * the organization's row.
 *
 * @throws TotalReachedError if there would be more than 2,500 groups.
 * @throws TotalReachedError if the person is not an administrator, and the person and their bots would have created more than
 *   200 groups in total.
 */
async function requireRoom(tx: Tx, { id, role, organization }: HeldGroup['actor']['person']): Promise<void> {
  const where = { organizationId: organization.id, isSystem: false };
  requireWithin('user_groups', 1 + (await tx.userGroup.count({ where })));
  if (isAdministrator(role)) return;
  const creators = await usersChargedWith(tx, { organizationId: organization.id, id });
  const own = await tx.userGroup.count({ where: { ...where, creatorId: { in: creators } } });
  requireWithin('user_groups_per_user', 1 + own);
}

/** Fields of a group to change. Absent fields stay unchanged. */
export interface UserGroupEdit {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  /** False reactivates the group. True has no effect. */
  readonly isDeactivated?: boolean | undefined;
  readonly permissions?: GroupSettingEdits<GroupPermissionName> | undefined;
}

/**
 * Updates a group, which may be deactivated, and sends the changed fields to all users. Values that are equal to the current
 * ones are ignored.
 *
 * @returns The group after the change.
 * @throws UnauthorizedPrincipalError if the viewer is a guest.
 * @throws HoldersMismatchError if a permission differs from the value that the client expects.
 * @throws ValidationError if nothing is given or a value is invalid.
 * @throws NotFoundError if the group, or a user or group that a permission names, does not exist.
 * @throws ForbiddenError if the viewer does not manage the group.
 * @throws ConflictError if the name is in use.
 */
export async function updateUserGroup(ctx: Ctx, groupId: number, edit: UserGroupEdit): Promise<UserGroup> {
  requireMember(ctx);
  const { permissions = {} } = edit;
  if (isEmpty(edit)) throw new ValidationError('No new data supplied');
  return transact(ctx, async (tx, emit) => {
    const held = await lockManagedGroup(tx, ctx, groupId);
    const { actor, group } = held;
    const { groups, now, person } = actor;
    const texts = await changedTexts(tx, group, edit);
    const settings = await changedGroupSettings(tx, group.organizationId, GROUP_PERMISSIONS, permissions, (name) =>
      groupPermission(groups, group, name),
    );
    const comesBack = edit.isDeactivated === false && group.deactivatedAt !== null;
    const holders = Object.entries(settings).map(([name, setting]) => [name, toWireGroupSetting(groups, setting)]);
    const changes: WireGroupChanges = {
      ...(comesBack && { deactivated: false }),
      ...texts,
      ...Object.fromEntries(holders),
    };
    if (Object.keys(changes).length === 0) return group;
    const after = await tx.userGroup.update({
      where: { organizationId_id: { organizationId: group.organizationId, id: group.id } },
      data: {
        ...texts,
        ...(comesBack && { deactivatedAt: null }),
        permissions: toStoredPermissions(groups, group, settings),
      },
    });
    const facts = toSnapshot(groups, after);
    emit(userGroupUpdated(subjectOf(group), changes, facts, toSnapshot(groups, group)), everyone());
    if (comesBack) {
      const [wire] = await toWireGroups(tx, groups, { organization: person.organization, now }, [after]);
      if (wire !== undefined) emit(userGroupAdded(wire, facts, { comesBack }), everyone());
    }
    return after;
  });
}

const isEmpty = ({ name, description, isDeactivated, permissions = {} }: UserGroupEdit): boolean =>
  name === undefined &&
  description === undefined &&
  isDeactivated === undefined &&
  Object.values(permissions).every((given) => given === undefined);

async function changedTexts(
  tx: Tx,
  group: HeldGroup['group'],
  edit: UserGroupEdit,
): Promise<Pick<WireGroupChanges, 'name' | 'description'>> {
  const name = edit.name === undefined ? group.name : requireGroupName(edit.name);
  const description =
    edit.description === undefined
      ? group.description
      : requireText('description', edit.description, { max: MAX_DESCRIPTION_LENGTH });
  if (name !== group.name) await requireFreeName(tx, group.organizationId, name, group.id);
  return {
    ...(name !== group.name && { name }),
    ...(description !== group.description && { description }),
  };
}

/**
 * Validates a group name and returns it without surrounding white space.
 *
 * @throws ValidationError if the name is blank, too long, or begins with one of `RESERVED_PREFIXES`.
 */
function requireGroupName(given: string): string {
  refuseNullBytes('name', given);
  const name = given.trim().toWellFormed();
  if (name === '') throw new ValidationError("User group name can't be empty!", { parameter: 'name', minimum: 1 });
  if ([...name].length > MAX_NAME_LENGTH) {
    throw new ValidationError(`User group name cannot exceed ${MAX_NAME_LENGTH} characters.`, {
      parameter: 'name',
      maximum: MAX_NAME_LENGTH,
    });
  }
  const prefix = RESERVED_PREFIXES.find((reserved) => name.startsWith(reserved));
  if (prefix !== undefined) {
    throw new ValidationError(`User group name cannot start with '${prefix}'.`, { parameter: 'name', value: name });
  }
  return name;
}

/**
 * Checks that a new name has only readable characters and is not in use. The organization's row is locked, so no concurrent
 * change can use the name.
 *
 * @throws ValidationError if the name contains a character that `requireReadable` refuses.
 * @throws ConflictError if the name is in use.
 */
async function requireFreeName(tx: Tx, organizationId: number, name: string, exceptId = 0): Promise<void> {
  requireReadable('user group name', name);
  if (await isGroupNameTaken(tx, organizationId, name, exceptId)) {
    throw new ConflictError(`User group '${name}' already exists.`, { parameter: 'name' });
  }
}
