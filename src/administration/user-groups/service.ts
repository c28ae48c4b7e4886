import type { Ctx } from '../../access/context.ts';
import {
  GROUP_PERMISSIONS,
  type GroupPermissionName,
  groupPermission,
  toStoredPermissions,
} from '../../access/permissions/group-permissions.ts';
import {
  changedGroupSettings,
  type GroupSettingEdits,
  type GroupSettingValues,
  readGroupSettings,
} from '../../access/permissions/permission-values.ts';
import { type ChannelActor, insufficientPermission, mayInRealm } from '../../access/permissions/require.ts';
import { systemGroups, toWireGroupSetting } from '../../access/permissions/system-groups.ts';
import type { WireUserGroup } from '../../access/permissions/wire.ts';
import { requireMember } from '../../access/roles.ts';
import { everyone } from '../../events/audience.ts';
import { transact } from '../../events/log.ts';
import type { UserGroup } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { isAdministrator } from '../../platform/roles.ts';
import { refuseNullBytes, requireText } from '../../platform/text.ts';
import { requireWithin } from '../../platform/totals.ts';
import { type HeldGroup, lockGroups, lockManagedGroup, settleMemberships, subjectOf, visibleTo } from './access.ts';
import { toFacts, userGroupAdded, userGroupUpdated, type WireGroupChanges } from './events.ts';
import { requireNewSubgroups, requireUsers, writeMembers, writeSubgroups } from './members.ts';
import { tellMembers } from './notices.ts';
import { isGroupNameTaken } from './queries.ts';
import { toWireGroups } from './reads.ts';

/** In code points. */
const MAX_NAME_LENGTH = 100;
const MAX_DESCRIPTION_LENGTH = 1024;

/** What mentions of other things begin with. */
const RESERVED_PREFIXES = ['@', 'role:', 'user:', 'stream:', 'channel:'];

/** What a group is made of. */
export interface NewUserGroup {
  /** 1 to 100 code points, unique in the organisation in whatever case. */
  readonly name: string;
  /** At most 1,024 code points. */
  readonly description: string;
  readonly memberIds: readonly number[];
  readonly subgroupIds: readonly number[];
  readonly permissions: GroupSettingValues<GroupPermissionName>;
}

/**
 * The organisation's groups by id, role groups among them.
 *
 * @throws UnauthorizedPrincipalError when the viewer is a guest.
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

/** Whether the person may make groups. */
export const mayCreateGroups = (actor: ChannelActor): boolean => mayInRealm(actor, 'can_create_groups');

/**
 * Makes a group, and tells everyone.
 *
 * @throws UnauthorizedPrincipalError when the viewer is a guest.
 * @throws BadRequestError when the viewer may not make groups, when name or description are not taken, or a user, group
 *   or permission is not.
 * @throws TotalReachedError when there would be more than 2,500, deactivated ones included, or more than 200 that a
 *   viewer who is no administrator has made.
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
    if (wire !== undefined) emit(userGroupAdded(wire, toFacts(groups, group)), everyone());
    await settleMemberships(tx, emit, actor, subgroupIds.length > 0 ? undefined : input.memberIds);
    await tellMembers(tx, emit, ctx, { actor, group }, members, 'added');
    return group;
  });
}

/** Role groups count no more than those of other organisations. The organisation's row is held. */
async function requireRoom(tx: Tx, { id, role, realm }: HeldGroup['actor']['person']): Promise<void> {
  const where = { realmId: realm.id, isSystem: false };
  requireWithin('user_groups', 1 + (await tx.userGroup.count({ where })));
  if (isAdministrator(role)) return;
  requireWithin('user_groups_per_user', 1 + (await tx.userGroup.count({ where: { ...where, creatorId: id } })));
}

/** What is to change; absent fields stay. */
export interface UserGroupEdit {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  /** False brings the group back; true means nothing. */
  readonly isDeactivated?: boolean | undefined;
  readonly permissions?: GroupSettingEdits<GroupPermissionName> | undefined;
}

/**
 * Changes a group, deactivated or not, and tells everyone what changed. What is equal already is no change.
 *
 * @returns The group as it is after it.
 * @throws UnauthorizedPrincipalError when the viewer is a guest.
 * @throws ExpectationMismatchError when a permission is not what the client believes.
 * @throws BadRequestError when nothing is given, when there is no such group or the viewer does not manage it, or when a
 *   value is not taken.
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
    const facts = toFacts(groups, after);
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

/** @throws BadRequestError when the name is blank, too long, or could be taken for that of something else. */
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

/** The organisation's row is held, so nobody else takes the name meanwhile. */
async function requireFreeName(tx: Tx, realmId: number, name: string, exceptId = 0): Promise<void> {
  if (await isGroupNameTaken(tx, realmId, name, exceptId)) {
    throw new BadRequestError(`User group '${name}' already exists.`);
  }
}
