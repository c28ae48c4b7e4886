import type { Ctx, Scope } from '../../access/context.ts';
import { runOutsideTransaction } from '../../access/idempotency.ts';
import { administersOrganization, requireAdministrator } from '../../access/roles.ts';
import { asOfNow } from '../../access/sign-in.ts';
import { userSetting, VISIBLE_TO_EVERYONE } from '../../access/user-settings.ts';
import { subscribeToDefaultChannels } from '../../channels/subscribe.ts';
import { everyone, users } from '../../events/audience.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { Realm, User } from '../../generated/prisma/client.ts';
import { emailHiddenOrShown, userAdded, userRenamed, userRoleChanged } from '../../people/events.ts';
import { requireFullName, requireReadableName } from '../../people/full-name.ts';
import { lockRealm } from '../../people/locks.ts';
import { setProfileValues } from '../../people/profile-fields/values.ts';
import { userStatusSet } from '../../people/status-events.ts';
import { accessUserByEmail } from '../../people/users.ts';
import { visibleEmail } from '../../people/wire.ts';
import type { ValueEntry } from '../../people/wire-profile-fields.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError, UnauthorizedPrincipalError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { isOwner, OWNER, ROLES } from '../../platform/roles.ts';
import { botsAfterRoleChange, introduceBot } from '../bot-owners.ts';
import { requireAllowedAddress } from '../domains/service.ts';
import { giveAddress, refusingTakenNewEmail, requireNewEmail } from '../email-changes/address-change.ts';
import {
  checkNewUser,
  insertUser,
  type MadeUser,
  type NewUser,
  refusingTakenAddress,
  requireUniqueName,
} from '../new-user.ts';
import { requireProof } from '../sign-in/proof.ts';
import { joinRoleGroups, roleGroupsChanged } from '../user-groups/role-groups.ts';
import { roleChangeEffects } from './channel-effects.ts';

/** A member to be created by an administrator. */
interface NewMember {
  readonly email: string;
  readonly fullName: string;
  /** Initial password of 8 to 100 characters. */
  readonly password: string;
  /** The viewer's own password, as proof of identity. */
  readonly currentPassword?: string | undefined;
}

/**
 * Creates a member of the viewer's organization, and subscribes them to the default channels.
 *
 * @throws UnauthorizedPrincipalError unless the viewer is an administrator.
 * @throws BadRequestError if the viewer is not allowed to create users, or address, name or password is invalid.
 * @throws PasswordRequiredError and the other errors of `requireProof`.
 */
export async function createUser(ctx: Ctx, { email, fullName, password, currentPassword }: NewMember): Promise<User> {
  requireMayCreateUsers(ctx);
  await requireProof(ctx, currentPassword);
  const row = await runOutsideTransaction(ctx.app, 'user', () =>
    checkNewUser(ctx.app, ctx.viewer.realm, { email, fullName, password, isImportedStub: true }, ctx.caller),
  );
  await requireAllowedAddress(ctx.app.db, ctx.viewer.realm, row.email);
  return refusingTakenAddress(() =>
    transact(ctx, async (tx, emit) => {
      await lockRealm(tx, ctx.realmId);
      // Checked again, because hashing the password took time.
      requireMayCreateUsers(await asOfNow(tx, ctx));
      return (await introduceUser(tx, emit, ctx, ctx.viewer.realm, row)).user;
    }),
  );
}

/** Returns whether the viewer can create users: an administrator to whom the server's operator gave this right. */
export const mayCreateUsers = (ctx: Ctx): boolean => administersOrganization(ctx) && ctx.viewer.user.canCreateUsers;

function requireMayCreateUsers(ctx: Ctx): void {
  requireAdministrator(ctx);
  if (!mayCreateUsers(ctx)) throw new BadRequestError('User not authorized to create users');
}

/**
 * Creates a user on behalf of the server's operator, with any role and without a permission check.
 *
 * @returns The user and their API key, which no later call returns.
 * @throws BadRequestError if address, name, role or password is invalid.
 */
export async function addUser(scope: Scope, realm: Realm, input: NewUser): Promise<MadeUser> {
  const row = await checkNewUser(scope.app, realm, input);
  return refusingTakenAddress(() => transact(scope, (tx, emit) => introduceUser(tx, emit, scope, realm, row)));
}

/** Adds a new user to the organization within a transaction, and notifies all users. Locks and reads the organization. */
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
  // If the default settings disable presence, the status of the new user is away.
  if (!userSetting(made.user, 'presence_enabled')) emit(userStatusSet(made.user.id, { away: true }), everyone());
  if (made.user.botType !== null) await introduceBot(tx, emit, made.user);
  await subscribeToDefaultChannels(tx, emit, { realmId: realm.id, user: made.user });
  return made;
}

/** Checks that a number is one of `ROLES`. @throws BadRequestError if it is not. */
export function requireRole(role: number): void {
  if (!ROLES.some((known) => known === role)) throw new BadRequestError('Invalid role');
}

/** Fields of another user to change. Absent fields stay unchanged. */
export interface UserEdit {
  /** Full name. A blank name is ignored. */
  readonly fullName?: string;
  /** New role, one of `ROLES`. */
  readonly role?: number;
  /** New email address. Requires a right of the viewer that the server's operator gives. */
  readonly newEmail?: string;
  /** The viewer's own password. Required to change `newEmail` in a session whose sign-in was more than ten minutes ago. */
  readonly currentPassword?: string;
  /** Values of profile fields. Only for a person, not for a bot. */
  readonly profileData?: readonly ValueEntry[];
}

/**
 * Updates a user's name, role, email address and profile data. No event is sent for values that do not change.
 *
 * @param who Id or email address of the user.
 * @returns The user after the change.
 * @throws UnauthorizedPrincipalError unless the viewer is an administrator.
 * @throws UnauthorizedPrincipalError unless the viewer is an owner, if the user becomes an owner, or is an owner and gets
 * another role or address.
 * @throws BadRequestError if the user does not exist, or name, role, address or profile data is invalid.
 * @throws BadRequestError if the viewer is not allowed to change addresses, or profile data is given for a bot.
 * @throws BadRequestError if the user is the only owner and would lose the role.
 */
export async function updateUser(ctx: Ctx, who: number | string, edit: UserEdit): Promise<User> {
  requireAdministrator(ctx);
  const fullName =
    edit.fullName === undefined || edit.fullName.trim() === '' ? undefined : requireFullName(edit.fullName);
  const newEmail = edit.newEmail === undefined ? undefined : requireNewEmail(ctx, edit.newEmail);
  if (newEmail !== undefined) await requireProof(ctx, edit.currentPassword);
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
        // Only owners can change the email address of an owner, because a person with the new address could sign in as that
        // owner.
        throw new UnauthorizedPrincipalError('an organization owner');
      }
      if (newEmail !== undefined) await giveAddress(tx, emit, user, { realm: now.viewer.realm, newEmail });
      if (role !== undefined && role !== user.role) await changeRole(tx, emit, now, user, role);
      await setProfileValues(tx, emit, user, edit.profileData ?? [], { changesAll: true });
      return { ...user, fullName: fullName ?? user.fullName, role: role ?? user.role, email: newEmail ?? user.email };
    });
  return refusingTakenNewEmail(change);
}

/**
 * Renames a user, and notifies all users. The transaction must hold the lock of the organization's row.
 *
 * @throws BadRequestError if the name is not readable.
 * @throws BadRequestError if the organization requires unique names and another active user has the name.
 */
export async function rename(tx: Tx, emit: Emit, { viewer }: Ctx, { id }: User, fullName: string): Promise<void> {
  requireReadableName(fullName);
  await requireUniqueName(tx, viewer.realm, fullName, id);
  await tx.user.update({ where: { realmId_id: { realmId: viewer.realm.id, id } }, data: { fullName } });
  emit(userRenamed(id, fullName), everyone());
}

/**
 * Checks that the viewer can change a user's role.
 *
 * @throws UnauthorizedPrincipalError if the owner role is given or removed and the viewer is not an owner.
 * @throws BadRequestError if the organization would have no owner.
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

/**
 * Changes a user's role, and notifies all users of the consequences. The transaction must hold the lock of the
 * organization's row.
 */
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

/** Notifies a user whose role changed of the email addresses that become visible or invisible to them. */
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
