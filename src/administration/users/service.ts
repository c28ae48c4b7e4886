import type { Ctx, Scope } from '../../access/context.ts';
import { runOutsideTransaction } from '../../access/idempotency.ts';
import { administersOrganization, requireAdministrator } from '../../access/roles.ts';
import { asOfNow } from '../../access/sign-in.ts';
import { userSetting, VISIBLE_TO_EVERYONE } from '../../access/user-settings.ts';
import { subscribeNewUser } from '../../channels/subscribe.ts';
import { everyone, users } from '../../events/audience.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { Organization, User } from '../../generated/prisma/client.ts';
import { announceUser } from '../../messages/channel-notices.ts';
import { emailHiddenOrShown, userAdded, userRenamed, userRoleChanged } from '../../people/events.ts';
import { requireFullName, requireReadableName } from '../../people/full-name.ts';
import { lockOrganization } from '../../people/locks.ts';
import { setProfileValues } from '../../people/profile-fields/values.ts';
import { userStatusSet } from '../../people/status-events.ts';
import { accessUserByEmail, noSuchUser } from '../../people/users.ts';
import { visibleEmail } from '../../people/wire.ts';
import type { ValueEntry } from '../../people/wire-profile-fields.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ConflictError, ForbiddenError, UnauthorizedPrincipalError, ValidationError } from '../../platform/errors.ts';
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
import { requireFreeSeat } from '../organization-limits.ts';
import { requireProof } from '../sign-in/proof.ts';
import { endSessionsOfUserWithoutFactor } from '../sign-in/required-factor.ts';
import { joinRoleGroups, roleGroupsChanged } from '../user-groups/role-groups.ts';
import { roleChangeEffects } from './channel-effects.ts';

/** A member that an administrator creates. */
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
 * @throws ForbiddenError if the viewer is not allowed to create users.
 * @throws ValidationError if address, name or password is invalid, or the viewer's own password is wrong.
 * @throws ConflictError if the address is in use, or the name is in use and names must be unique.
 * @throws PasswordRequiredError without the viewer's own password, in a session whose sign-in was more than ten minutes ago.
 * @throws RateLimitHitError after 5 wrong passwords of the viewer within 30 minutes.
 */
export async function createUser(ctx: Ctx, { email, fullName, password, currentPassword }: NewMember): Promise<User> {
  requireMayCreateUsers(ctx);
  await requireProof(ctx, currentPassword);
  const row = await runOutsideTransaction(ctx.work, 'user', () =>
    checkNewUser(ctx.app, ctx.viewer.organization, { email, fullName, password, isImportedStub: true }, ctx.caller),
  );
  await requireAllowedAddress(ctx.work.db, ctx.viewer.organization, row.email);
  return refusingTakenAddress(() =>
    transact(ctx, async (tx, emit) => {
      await lockOrganization(tx, ctx.organizationId);
      // The permission is checked again, because the viewer's rights can have changed while the password was hashed.
      requireMayCreateUsers(await asOfNow(tx, ctx));
      return (await introduceUser(tx, emit, ctx, ctx.viewer.organization, row)).user;
    }),
  );
}

/** Returns whether the viewer can create users. True for an administrator to whom the server's operator gave this right. */
export const mayCreateUsers = (ctx: Ctx): boolean => administersOrganization(ctx) && ctx.viewer.user.canCreateUsers;

function requireMayCreateUsers(ctx: Ctx): void {
  requireAdministrator(ctx);
  if (!mayCreateUsers(ctx)) throw new ForbiddenError('User not authorized to create users');
}

/**
 * Creates a user on behalf of the server's operator, with any role and without a permission check.
 *
 * @returns The user and their API key.
 * @throws ValidationError if address, name, role or password is invalid.
 * @throws ConflictError if the address is in use, or the name is in use and names must be unique.
 */
export async function addUser(scope: Scope, organization: Organization, input: NewUser): Promise<MadeUser> {
  const row = await checkNewUser(scope.app, organization, input);
  return refusingTakenAddress(() => transact(scope, (tx, emit) => introduceUser(tx, emit, scope, organization, row)));
}

/**
 * Adds a new user to the organization within a transaction, and notifies all users. Locks the organization's row.
 *
 * @param channelIds Channels to which the user is subscribed. Default: the default channels, but none for guests.
 * @throws TotalReachedError if the user is a person, and the organization has as many active people as its limit permits.
 */
export async function introduceUser(
  tx: Tx,
  emit: Emit,
  { app }: Scope,
  { id: organizationId }: Pick<Organization, 'id'>,
  row: Awaited<ReturnType<typeof checkNewUser>>,
  channelIds?: readonly number[],
): Promise<MadeUser> {
  await lockOrganization(tx, organizationId);
  const organization = await tx.organization.findUniqueOrThrow({ where: { id: organizationId } });
  if (row.botType == null) await requireFreeSeat(tx, organization);
  const made = await insertUser(tx, app, organization, row);
  emit(userAdded(made.user), everyone());
  await joinRoleGroups(tx, emit, made.user, { organization, now: app.now() });
  // If the default settings disable presence, the status of the new user is away.
  if (!userSetting(made.user, 'presence_enabled')) emit(userStatusSet(made.user.id, { away: true }), everyone());
  if (made.user.botType !== null) await introduceBot(tx, emit, made.user);
  await subscribeNewUser(tx, emit, { organizationId: organization.id, user: made.user }, channelIds);
  if (made.user.botType === null) await announceUser(tx, emit, { app, organization }, made.user);
  return made;
}

/** Checks that a number is one of `ROLES`. @throws ValidationError if it is not. */
export function requireRole(role: number): void {
  if (!ROLES.some((known) => known === role))
    throw new ValidationError('Invalid role', { parameter: 'role', value: role });
}

/** Fields of another user to change. Absent fields stay unchanged. */
export interface UserEdit {
  /** Full name. A blank name is ignored. */
  readonly fullName?: string;
  /** New role, one of `ROLES`. */
  readonly role?: number;
  /** New email address. Only viewers to whom the server's operator gave this right can change it. */
  readonly newEmail?: string;
  /** The viewer's own password. Required to change `newEmail` in a session whose sign-in was more than ten minutes ago. */
  readonly currentPassword?: string;
  /** Values of profile fields. Only for a person, not for a bot. */
  readonly profileData?: readonly ValueEntry[];
}

/** Returns whether the viewer can update a user with `updateUser`. The role and address of an owner need an owner. */
export const mayUpdateUser = (ctx: Ctx, { isSystem }: Pick<User, 'isSystem'>): boolean =>
  !isSystem && administersOrganization(ctx);

/**
 * Updates a user's name, role, email address and profile data. No event is sent for values that do not change.
 *
 * @param who Id or email address of the user.
 * @returns The user after the change.
 * @throws UnauthorizedPrincipalError unless the viewer is an administrator.
 * @throws UnauthorizedPrincipalError if the viewer is not an owner, and would change the role or address of an owner, or make
 *   the user an owner.
 * @throws NotFoundError if the user does not exist.
 * @throws ValidationError if name, role, address or profile data is invalid, if profile data is given for a bot, or if the
 *   viewer's own password is wrong.
 * @throws ForbiddenError if the viewer is not allowed to change addresses.
 * @throws ConflictError if the name or address is in use, or if the user is the only owner and would lose the role.
 * @throws PasswordRequiredError if the role or address is given without the viewer's own password, in a session whose sign-in
 *   was more than ten minutes ago.
 * @throws RateLimitHitError after 5 wrong passwords of the viewer within 30 minutes.
 */
export async function updateUser(ctx: Ctx, who: number | string, edit: UserEdit): Promise<User> {
  requireAdministrator(ctx);
  const fullName =
    edit.fullName === undefined || edit.fullName.trim() === '' ? undefined : requireFullName(edit.fullName);
  const newEmail = edit.newEmail === undefined ? undefined : requireNewEmail(ctx, edit.newEmail);
  const { role } = edit;
  if (role !== undefined) requireRole(role);
  // Requires proof of identity, because the account keeps a new role or address after the viewer's session has ended.
  if (newEmail !== undefined || role !== undefined) await requireProof(ctx, edit.currentPassword);
  const userId = typeof who === 'string' ? (await accessUserByEmail(ctx, who)).id : who;
  const change = () =>
    transact(ctx, async (tx, emit) => {
      await lockOrganization(tx, ctx.organizationId);
      const now = await asOfNow(tx, ctx);
      requireAdministrator(now);
      const where = { organizationId: ctx.organizationId, id: userId, isSystem: false };
      const user = isRowId(userId) ? await tx.user.findFirst({ where }) : null;
      if (user === null) throw noSuchUser(userId);
      if (role !== undefined && role !== user.role) await requireRoleChange(tx, now, user, role);
      if (edit.profileData !== undefined && user.botType !== null)
        throw new ValidationError('A bot has no profile data', { parameter: 'profile_data' });
      if (fullName !== undefined && fullName !== user.fullName) await rename(tx, emit, now, user, fullName);
      if (newEmail !== undefined && isOwner(user.role) && !isOwner(now.viewer.role)) {
        // Only owners can change the email address of an owner, because a person who receives email at the new address could
        // sign in as that owner.
        throw new UnauthorizedPrincipalError(OWNER);
      }
      if (newEmail !== undefined)
        await giveAddress(tx, emit, user, { organization: now.viewer.organization, newEmail });
      if (role !== undefined && role !== user.role) await changeRole(tx, emit, now, user, role);
      await setProfileValues(tx, emit, user, edit.profileData ?? [], { changesAll: true });
      return { ...user, fullName: fullName ?? user.fullName, role: role ?? user.role, email: newEmail ?? user.email };
    });
  return refusingTakenNewEmail(change);
}

/**
 * Renames a user, and notifies all users. The transaction must hold the lock of the organization's row.
 *
 * @throws ValidationError if the name contains a character that `requireReadableName` refuses.
 * @throws ConflictError if the organization requires unique names and another active user has the name.
 */
export async function rename(tx: Tx, emit: Emit, { viewer }: Ctx, { id }: User, fullName: string): Promise<void> {
  requireReadableName(fullName);
  await requireUniqueName(tx, viewer.organization, fullName, id);
  await tx.user.update({
    where: { organizationId_id: { organizationId: viewer.organization.id, id } },
    data: { fullName },
  });
  emit(userRenamed(id, fullName), everyone());
}

/**
 * Checks that the viewer can change a user's role.
 *
 * @throws UnauthorizedPrincipalError if the owner role is given or removed and the viewer is not an owner.
 * @throws ConflictError if the organization would have no owner.
 */
export async function requireRoleChange(tx: Tx, { viewer }: Ctx, user: User, newRole: number): Promise<void> {
  if (!isOwner(user.role) && !isOwner(newRole)) return;
  if (!isOwner(viewer.role)) throw new UnauthorizedPrincipalError(OWNER);
  if (!isOwner(user.role) || !user.isActive || user.botType !== null) return;
  const others = await tx.user.count({
    where: { organizationId: user.organizationId, role: OWNER, isActive: true, botType: null, id: { not: user.id } },
  });
  if (others === 0) {
    throw new ConflictError('The owner permission cannot be removed from the only organization owner.', {
      parameter: 'role',
    });
  }
}

/**
 * Changes a user's role, and notifies all users. Updates the role groups, and notifies the user of the channels, bots and email
 * addresses that become visible or invisible to them. If the new role must have a second factor and the user has none, ends the
 * user's sessions. The transaction must hold the lock of the organization's row.
 */
export async function changeRole(tx: Tx, emit: Emit, { app, viewer }: Ctx, user: User, newRole: number): Promise<void> {
  const { id, organizationId, role: oldRole } = user;
  const now = app.now();
  const after = await tx.user.update({ where: { organizationId_id: { organizationId, id } }, data: { role: newRole } });
  emit(userRoleChanged(id, { oldRole, newRole }), everyone(), (eventId) =>
    tx.roleChange.create({ data: { organizationId, userId: id, eventId, oldRole, newRole } }),
  );
  await roleGroupsChanged(tx, emit, { before: user, after }, { organization: viewer.organization, now });
  await botsAfterRoleChange(tx, emit, user, { oldRole, newRole });
  await roleChangeEffects(tx, emit, { organizationId, userId: id, oldRole, newRole, oldGroups: user, now });
  await showAddresses(tx, emit, user, { oldRole, newRole });
  if (newRole < oldRole) await endSessionsOfUserWithoutFactor(tx, emit, viewer.organization, after);
}

/** Notifies a user of the email addresses that become visible or invisible to them, after a change of the user's role. */
async function showAddresses(
  tx: Tx,
  emit: Emit,
  { id, organizationId }: User,
  roles: { oldRole: number; newRole: number },
): Promise<void> {
  const settings = { path: ['email_address_visibility'], gt: VISIBLE_TO_EVERYONE };
  const hiding = await tx.user.findMany({ where: { organizationId, botType: null, settings }, orderBy: { id: 'asc' } });
  for (const user of hiding) {
    const [before, after] = [roles.oldRole, roles.newRole].map((role) => visibleEmail(user, { id, role }));
    if (before === after) continue;
    for (const event of emailHiddenOrShown(user, roles)) emit(event, users([id]));
  }
}
