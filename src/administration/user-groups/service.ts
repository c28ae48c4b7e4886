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
import { type ChannelActor, insufficientPermission, mayInRealm } from '../../access/permissions/require.ts';
import type { WireUserGroup } from '../../access/permissions/wire.ts';
import { requireMember } from '../../access/roles.ts';
import { systemGroups, toWireGroupSetting } from '../../access/system-groups.ts';
import { everyone } from '../../events/audience.ts';
import { transact } from '../../events/log.ts';
import type { UserGroup } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
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

/** Longest name and description, in code points. */
const MAX_NAME_LENGTH = 100;
const MAX_DESCRIPTION_LENGTH = 1024;

/** Prefixes with which mentions of other objects begin. */
const RESERVED_PREFIXES = ['@', 'role:', 'user:', 'stream:', 'channel:'];

/** Properties of a new group. */
export interface NewUserGroup {
  /** Name of 1 to 100 code points; unique in the organization, ignoring case. */
  readonly name: string;
  /** Description of at most 1,024 code points. */
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
  const { app, viewer } = ctx;
  const groups = await systemGroups(app.db, ctx.realmId);
  const rows = await app.db.userGroup.findMany({ where, orderBy: { id: 'asc' } });
  return toWireGroups(app.db, groups, { realm: viewer.realm, now: app.now() }, rows);
}

/** Returns whether the user can create groups. */
export const mayCreateGroups = (actor: ChannelActor): boolean => mayInRealm(actor, 'can_create_groups');

/**
 * Creates a group, and notifies all users.
 *
 * @throws UnauthorizedPrincipalError if the viewer is a guest.
 * @throws BadRequestError if the viewer is not allowed to create groups.
 * @throws BadRequestError if the name, the description, a user, a group or a permission is invalid.
 * @throws TotalReachedError if there would be more than 2,500 groups, deactivated ones included.
 * @throws TotalReachedError if the viewer is not an administrator and would have created more than 200 groups.
 */
export function createUserGroup(ctx: Ctx, input: NewUserGroup): Promise<UserGroup> {
  requireMember(ctx);
  const name = requireGroupName(input.name);
  const description = requireText('description', input.description, { max: MAX_DESCRIPTION_LENGTH });
  return transact(ctx, async (tx, emit) => {
    const actor = await lockGroups(tx, ctx);
    if (!mayCreateGroups(actor)) throw insufficientPermission();
    const { person, groups, now } = actor;
    const { realm } = person;
    await requireFreeName(tx, realm.id, name);
    await requireRoom(tx, person);
    const members = await requireUsers(tx, realm.id, input.memberIds);
    const subgroupIds = await requireNewSubgroups(tx, groups, realm.id, null, input.subgroupIds);
    const settings = await readGroupSettings(tx, realm.id, GROUP_PERMISSIONS, input.permissions);
    const blank = { permissions: {}, creatorId: person.id, isSystem: false };
    const group = await tx.userGroup.create({
      data: {
        realmId: realm.id,
        name,
        description,
        creatorId: person.id,
        createdAt: now,
        permissions: toStoredPermissions(groups, blank, settings),
      },
    });
    await writeMembers(tx, group, members);
    await writeSubgroups(tx, group, subgroupIds);
    const [wire] = await toWireGroups(tx, groups, { realm, now }, [group]);
    if (wire !== undefined) emit(userGroupAdded(wire, toSnapshot(groups, group)), everyone());
    await settleMemberships(tx, emit, actor, subgroupIds.length > 0 ? undefined : input.memberIds);
    await notifyMembers(tx, emit, ctx, { actor, group }, members, 'added');
    return group;
  });
}

/**
 * Checks the limits on the number of groups. Role groups do not count towards them. The caller must hold the lock of the
 * organization's row.
 *
 * @throws TotalReachedError if there would be too many groups.
 */
async function requireRoom(tx: Tx, { id, role, realm }: HeldGroup['actor']['person']): Promise<void> {
  const where = { realmId: realm.id, isSystem: false };
  requireWithin('user_groups', 1 + (await tx.userGroup.count({ where })));
  if (isAdministrator(role)) return;
  requireWithin('user_groups_per_user', 1 + (await tx.userGroup.count({ where: { ...where, creatorId: id } })));
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
 * Updates a group, deactivated or not, and sends the changed fields to all users. Values that would change nothing are ignored.
 *
 * @returns The group after the change.
 * @throws UnauthorizedPrincipalError if the viewer is a guest.
 * @throws ExpectationMismatchError if a permission differs from the value that the client expects.
 * @throws BadRequestError if nothing is given, the group does not exist, or the viewer does not manage it.
 * @throws BadRequestError if a value is invalid.
 */
export async function updateUserGroup(ctx: Ctx, groupId: number, edit: UserGroupEdit): Promise<UserGroup> {
  requireMember(ctx);
  const { permissions = {} } = edit;
  if (isEmpty(edit)) throw new BadRequestError('No new data supplied');
  return transact(ctx, async (tx, emit) => {
    const held = await lockManagedGroup(tx, ctx, groupId);
    const { actor, group } = held;
    const { groups, now, person } = actor;
    const texts = await changedTexts(tx, group, edit);
    const settings = await changedGroupSettings(tx, group.realmId, GROUP_PERMISSIONS, permissions, (name) =>
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
      where: { realmId_id: { realmId: group.realmId, id: group.id } },
      data: {
        ...texts,
        ...(comesBack && { deactivatedAt: null }),
        permissions: toStoredPermissions(groups, group, settings),
      },
    });
    const facts = toSnapshot(groups, after);
    emit(userGroupUpdated(subjectOf(group), changes, facts), everyone());
    if (comesBack) {
      const [wire] = await toWireGroups(tx, groups, { realm: person.realm, now }, [after]);
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
  if (name !== group.name) await requireFreeName(tx, group.realmId, name, group.id);
  return {
    ...(name !== group.name && { name }),
    ...(description !== group.description && { description }),
  };
}

/**
 * Validates a group name and returns it without surrounding white space.
 *
 * @throws BadRequestError if the name is blank, too long, or begins like a mention of another object.
 */
function requireGroupName(given: string): string {
  refuseNullBytes('name', given);
  const name = given.trim().toWellFormed();
  if (name === '') throw new BadRequestError("User group name can't be empty!");
  if ([...name].length > MAX_NAME_LENGTH) {
    throw new BadRequestError(`User group name cannot exceed ${MAX_NAME_LENGTH} characters.`);
  }
  const prefix = RESERVED_PREFIXES.find((reserved) => name.startsWith(reserved));
  if (prefix !== undefined) throw new BadRequestError(`User group name cannot start with '${prefix}'.`);
  return name;
}

/**
 * Checks that a new name is readable and not in use. The organization's row is locked, so no concurrent change can use the
 * name.
 */
async function requireFreeName(tx: Tx, realmId: number, name: string, exceptId = 0): Promise<void> {
  requireReadable('user group name', name);
  if (await isGroupNameTaken(tx, realmId, name, exceptId)) {
    throw new BadRequestError(`User group '${name}' already exists.`);
  }
}
