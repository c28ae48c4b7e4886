import type { Ctx, Scope } from '../../access/context.ts';
import { runOutsideTransaction } from '../../access/idempotency.ts';
import { administersOrganization, requireAdministrator } from '../../access/roles.ts';
import { asOfNow } from '../../access/sign-in.ts';
import { userSetting, VISIBLE_TO_EVERYONE } from '../../access/user-settings.ts';
import { subscribeToDefaultChannels } from '../../channels/subscriptions/subscriptions.ts';
import { everyone, users } from '../../events/audience.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { Realm, User } from '../../generated/prisma/client.ts';
import { emailHiddenOrShown, stubLoggedIn, userAdded, userRenamed, userRoleChanged } from '../../people/events.ts';
import { requireFullName } from '../../people/full-name.ts';
import { lockRealm } from '../../people/locks.ts';
import { setProfileValues } from '../../people/profile-fields/values.ts';
import type { ValueEntry } from '../../people/profile-fields/wire.ts';
import { userStatusSet } from '../../people/status/events.ts';
import { accessUserByEmail } from '../../people/users.ts';
import { visibleEmail } from '../../people/wire.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError, UnauthorizedPrincipalError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { isOwner, OWNER, ROLES } from '../../platform/roles.ts';
import { botsAfterRoleChange, introduceBot } from '../bots/owners.ts';
import { requireAllowedAddress } from '../domains/service.ts';
import { giveAddress, refusingTakenNewEmail, requireNewEmail } from '../email-changes/address-change.ts';
import { joinRoleGroups, roleGroupsChanged } from '../user-groups/role-groups.ts';
import { roleChangeEffects } from './channel-effects.ts';
import {
  checkNewUser,
  insertUser,
  type MadeUser,
  type NewUser,
  refusingTakenAddress,
  requireUniqueName,
} from './new-user.ts';

/**
 * Makes a member of the viewer's organisation, who is subscribed to the default channels.
 *
 * @param input `password` has 8 to 100 characters.
 * @throws UnauthorizedPrincipalError unless the viewer is an administrator.
 * @throws BadRequestError without the right to create users, or when address, name or password are not taken.
 */
export async function createUser(
  ctx: Ctx,
  { email, fullName, password }: { email: string; fullName: string; password: string },
): Promise<User> {
  requireMayCreateUsers(ctx);
  const row = await runOutsideTransaction(ctx.app, 'user', () =>
    checkNewUser(ctx.app, { email, fullName, password, isImportedStub: true }, ctx.caller),
  );
  await requireAllowedAddress(ctx.app.db, ctx.viewer.realm, row.email);
  return refusingTakenAddress(() =>
    transact(ctx, async (tx, emit) => {
      await lockRealm(tx, ctx.realmId);
      // The password took its time.
      requireMayCreateUsers(await asOfNow(tx, ctx));
      return (await introduceUser(tx, emit, ctx, ctx.viewer.realm, row)).user;
    }),
  );
}

/** Whether the viewer may create users: an administrator to whom the server's operator gave the right. */
export const mayCreateUsers = (ctx: Ctx): boolean => administersOrganization(ctx) && ctx.viewer.user.canCreateUsers;

function requireMayCreateUsers(ctx: Ctx): void {
  requireAdministrator(ctx);
  if (!mayCreateUsers(ctx)) throw new BadRequestError('User not authorized to create users');
}

/**
 * Makes a user as the server's operator: of any role, and without anybody's leave.
 *
 * @returns The user and their key, which no later call returns.
 * @throws BadRequestError when address, name, role or password are not taken.
 */
export async function addUser(scope: Scope, realm: Realm, input: NewUser): Promise<MadeUser> {
  const row = await checkNewUser(scope.app, input);
  return refusingTakenAddress(() => transact(scope, (tx, emit) => introduceUser(tx, emit, scope, realm, row)));
}

/** Puts a new user into the organisation, as it is now, as part of a change, and tells everybody. */
export async function introduceUser(
  tx: Tx,
  emit: Emit,
  { app }: Scope,
  { id: realmId }: Pick<Realm, 'id'>,
  row: Awaited<ReturnType<typeof checkNewUser>>,
): Promise<MadeUser> {
  await lockRealm(tx, realmId);
  const realm = await tx.realm.findUniqueOrThrow({ where: { id: realmId } });
  const made = await insertUser(tx, app, realm, row);
  emit(userAdded(made.user), everyone());
  await joinRoleGroups(tx, emit, made.user, { realm, now: app.now() });
  // Settings that they begin with may have them away.
  if (!userSetting(made.user, 'presence_enabled')) emit(userStatusSet(made.user.id, { away: true }), everyone());
  if (made.user.botType !== null) await introduceBot(tx, emit, made.user);
  await subscribeToDefaultChannels(tx, emit, { realmId: realm.id, user: made.user });
  return made;
}

/** @throws BadRequestError for a number that is no role. */
export function requireRole(role: number): void {
  if (!ROLES.some((known) => known === role)) throw new BadRequestError('Invalid role');
}

/** What may be changed of another user. */
export interface UserEdit {
  /** A blank name is no change. */
  readonly fullName?: string;
  /** One of `ROLES`. */
  readonly role?: number;
  /** Takes a right of the viewer's that the server's operator gives. */
  readonly newEmail?: string;
  /** Of a person alone. */
  readonly profileData?: readonly ValueEntry[];
}

/**
 * Changes a user's name, role and address, and what a person has in their profile. What is equal already is no change and
 * makes no event.
 *
 * @param who Id or address.
 * @returns The user as they are after it.
 * @throws UnauthorizedPrincipalError unless the viewer is an administrator; unless the viewer is an owner, when the
 *   user is to be one, or is one and is given another role or address.
 * @throws BadRequestError when there is no such user, when name, role, address or profile are not taken, when the viewer may
 *   not give addresses, when a bot is given a profile, or when the user is the only owner and would not be one any more.
 */
export async function updateUser(ctx: Ctx, who: number | string, edit: UserEdit): Promise<User> {
  requireAdministrator(ctx);
  const fullName =
    edit.fullName === undefined || edit.fullName.trim() === '' ? undefined : requireFullName(edit.fullName);
  const newEmail = edit.newEmail === undefined ? undefined : requireNewEmail(ctx, edit.newEmail);
  const { role } = edit;
  if (role !== undefined) requireRole(role);
  const userId = typeof who === 'string' ? (await accessUserByEmail(ctx, who)).id : who;
  const change = () =>
    transact(ctx, async (tx, emit) => {
      await lockRealm(tx, ctx.realmId);
      const now = await asOfNow(tx, ctx);
      requireAdministrator(now);
      const where = { realmId: ctx.realmId, id: userId, isSystem: false };
      const user = isRowId(userId) ? await tx.user.findFirst({ where }) : null;
      if (user === null) throw new BadRequestError('No such user');
      if (role !== undefined && role !== user.role) await requireRoleChange(tx, now, user, role);
      if (edit.profileData !== undefined && user.botType !== null)
        throw new BadRequestError('A bot has no profile data');
      if (fullName !== undefined && fullName !== user.fullName) await rename(tx, emit, now, user, fullName);
      if (newEmail !== undefined && isOwner(user.role) && !isOwner(now.viewer.role)) {
        // Whose address it is may sign in by it.
        throw new UnauthorizedPrincipalError('an organization owner');
      }
      if (newEmail !== undefined) await giveAddress(tx, emit, user, newEmail);
      if (role !== undefined && role !== user.role) await changeRole(tx, emit, now, user, role);
      await setProfileValues(tx, emit, user, edit.profileData ?? [], { changesAll: true });
      return { ...user, fullName: fullName ?? user.fullName, role: role ?? user.role, email: newEmail ?? user.email };
    });
  return refusingTakenNewEmail(change);
}

/**
 * Gives a user another name, inside a change that holds the organisation's row, and tells everyone.
 *
 * @throws BadRequestError when the organisation wants unique names and another active user has this one.
 */
export async function rename(tx: Tx, emit: Emit, { viewer }: Ctx, { id }: User, fullName: string): Promise<void> {
  await requireUniqueName(tx, viewer.realm, fullName, id);
  await tx.user.update({ where: { realmId_id: { realmId: viewer.realm.id, id } }, data: { fullName } });
  emit(userRenamed(id, fullName), everyone());
}

/**
 * @throws UnauthorizedPrincipalError when the owner role is given or taken and the viewer is no owner.
 * @throws BadRequestError when the organisation would have no owner any more.
 */
export async function requireRoleChange(tx: Tx, { viewer }: Ctx, user: User, newRole: number): Promise<void> {
  if (!isOwner(user.role) && !isOwner(newRole)) return;
  if (!isOwner(viewer.role)) throw new UnauthorizedPrincipalError('an organization owner');
  if (!isOwner(user.role) || !user.isActive || user.botType !== null) return;
  const others = await tx.user.count({
    where: { realmId: user.realmId, role: OWNER, isActive: true, botType: null, id: { not: user.id } },
  });
  if (others === 0) {
    throw new BadRequestError('The owner permission cannot be removed from the only organization owner.');
  }
}

/** Gives a user another role, inside a change that holds the organisation's row, and tells everybody what it means. */
export async function changeRole(tx: Tx, emit: Emit, { app, viewer }: Ctx, user: User, newRole: number): Promise<void> {
  const { id, realmId, role: oldRole } = user;
  const now = app.now();
  const after = await tx.user.update({ where: { realmId_id: { realmId, id } }, data: { role: newRole } });
  emit(userRoleChanged(id, { oldRole, newRole }), everyone(), (eventId) =>
    tx.roleChange.create({ data: { realmId, userId: id, eventId, oldRole, newRole } }),
  );
  await roleGroupsChanged(tx, emit, { before: user, after }, { realm: viewer.realm, now });
  await botsAfterRoleChange(tx, emit, user, { oldRole, newRole });
  await roleChangeEffects(tx, emit, { realmId, userId: id, oldRole, newRole, oldGroups: user, now });
  await showAddresses(tx, emit, user, { oldRole, newRole });
}

/** Tells a user whose role changes whose addresses come into their sight, or leave it. */
async function showAddresses(
  tx: Tx,
  emit: Emit,
  { id, realmId }: User,
  roles: { oldRole: number; newRole: number },
): Promise<void> {
  const settings = { path: ['email_address_visibility'], gt: VISIBLE_TO_EVERYONE };
  const hiding = await tx.user.findMany({ where: { realmId, botType: null, settings }, orderBy: { id: 'asc' } });
  for (const user of hiding) {
    const [before, after] = [roles.oldRole, roles.newRole].map((role) => visibleEmail(user, { id, role }));
    if (before === after) continue;
    for (const event of emailHiddenOrShown(user, roles)) emit(event, users([id]));
  }
}

/** Ends the state of a stub, imported or made over the API: they joined when they first signed in. */
export async function recordFirstLogin(scope: Scope, userId: number): Promise<void> {
  const joinedAt = scope.app.now();
  await transact(scope, async (tx, emit) => {
    await lockRealm(tx, scope.realmId);
    const before = await tx.user.findFirst({
      where: { realmId: scope.realmId, id: userId, isImportedStub: true },
      include: { realm: true },
    });
    if (before === null) return;
    const data = { isImportedStub: false, isPlaceholder: false, joinedAt };
    const after = await tx.user.update({ where: { realmId_id: { realmId: scope.realmId, id: userId } }, data });
    for (const event of stubLoggedIn(userId, joinedAt)) emit(event, everyone());
    await roleGroupsChanged(tx, emit, { before, after }, { realm: before.realm, now: joinedAt });
  });
}
