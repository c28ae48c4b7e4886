import type { Ctx, Scope } from '../app.ts';
import { domainOf } from '../auth/host.ts';
import { isOwner, OWNER, ROLES, requireAdministrator, requireMember } from '../auth/roles.ts';
import { roleChangeEffects } from '../channels/role-change.ts';
import { subscribeToDefaultChannels } from '../channels/subscriptions.ts';
import type { Db, Tx } from '../db/client.ts';
import { BadRequestError, UnauthorizedPrincipalError } from '../errors.ts';
import { everyone } from '../events/audience.ts';
import { type Emit, transact } from '../events/log.ts';
import type { Prisma, Realm, User } from '../generated/prisma/client.ts';
import { realmGroupSetting } from '../realm/settings.ts';
import { requireAllowedAddress } from '../realm-domains/service.ts';
import { isInGroup } from '../user-groups/permissions.ts';
import { systemGroups } from '../user-groups/system-groups.ts';
import { userOfStandIn } from './address.ts';
import { stubLoggedIn, userAdded, userRenamed, userRoleChanged } from './events.ts';
import { requireFullName } from './full-name.ts';
import {
  checkNewUser,
  insertUser,
  isNameTaken,
  lockRealm,
  type MadeUser,
  type NewUser,
  refusingTakenAddress,
  requireUniqueName,
} from './new-user.ts';
import { visibleEmail } from './wire.ts';

/** The largest id a row can have; a larger one is the id of nothing. */
const MAX_ID = 2_147_483_647;
const isId = (id: number) => Number.isInteger(id) && id >= 1 && id <= MAX_ID;

/** The users `viewer` may see: all of the organisation, with bots and those deactivated. */
export function visibleTo({ realm }: Ctx['viewer']): Prisma.UserWhereInput {
  return { realmId: realm.id };
}

/**
 * One user of the viewer's organisation: a person or a bot, active or not.
 *
 * @throws BadRequestError when there is none.
 * @see interface document 4.5
 */
export async function accessUser({ app, viewer }: Ctx, userId: number): Promise<User> {
  const user = isId(userId) ? await app.db.user.findFirst({ where: { ...visibleTo(viewer), id: userId } }) : null;
  if (user === null) throw new BadRequestError('No such user');
  return user;
}

/**
 * One user by address: the real one where the viewer may see it, or the API's.
 *
 * @throws BadRequestError when there is none; a hidden address is one of nobody.
 * @see endpoints companion B.12
 */
export async function accessUserByEmail(ctx: Ctx, email: string): Promise<User> {
  const standIn = userOfStandIn(email);
  if (standIn !== undefined) return accessUser(ctx, standIn);
  const user = await findUserByEmail(ctx.app.db, ctx.realmId, email);
  if (user === null || visibleEmail(user, ctx.viewer) === null) throw new BadRequestError('No such user');
  return user;
}

/** The user with this real address, in whatever case, whoever may see it. */
export async function findUserByEmail(db: Db, realmId: number, email: string): Promise<User | null> {
  if (email.includes('\0')) return null;
  const [found] = await db.$queryRaw<{ id: number }[]>`
    SELECT id FROM user_account WHERE realm_id = ${realmId} AND lower(email) = lower(${email.trim().toWellFormed()})`;
  return found === undefined ? null : db.user.findUnique({ where: { id: found.id } });
}

/**
 * The organisation's users by id, those deactivated included, the service's own bot left out.
 *
 * @param userIds Only these; ids of nobody are passed over.
 */
export async function listUsers({ app, viewer }: Ctx, { userIds }: { userIds?: readonly number[] }): Promise<User[]> {
  const where = { ...visibleTo(viewer), isSystem: false };
  if (userIds === undefined) return app.db.user.findMany({ where, orderBy: { id: 'asc' } });
  // A list of more ids than a query has parameters is split over several, unless the database is to order the rows.
  const users = await app.db.user.findMany({ where: { ...where, id: { in: [...new Set(userIds)].filter(isId) } } });
  return users.sort((a, b) => a.id - b.id);
}

/**
 * Makes a member of the viewer's organisation, who is subscribed to the default channels.
 *
 * @param input `password` has 8 to 100 characters.
 * @throws UnauthorizedPrincipalError unless the viewer is an administrator.
 * @throws BadRequestError without the right to create users, or when address, name or password are not taken.
 * @see endpoints companion B.12 (POST /users)
 */
export async function createUser(
  ctx: Ctx,
  { email, fullName, password }: { email: string; fullName: string; password: string },
): Promise<User> {
  requireAdministrator(ctx);
  if (!ctx.viewer.user.canCreateUsers) throw new BadRequestError('User not authorized to create users');
  const row = await checkNewUser({ email, fullName, password, isImportedStub: true });
  await requireAllowedAddress(ctx.app.db, ctx.viewer.realm, row.email);
  return refusingTakenAddress(() =>
    transact(ctx, async (tx, emit) => (await introduceUser(tx, emit, ctx, ctx.viewer.realm, row)).user),
  );
}

/**
 * Makes a user as the server's operator: of any role, and without anybody's leave.
 *
 * @returns The user and their key, which no later call returns.
 * @throws BadRequestError when address, name, role or password are not taken.
 */
export async function addUser(scope: Scope, realm: Realm, input: NewUser): Promise<MadeUser> {
  const row = await checkNewUser(input);
  return refusingTakenAddress(() => transact(scope, (tx, emit) => introduceUser(tx, emit, scope, realm, row)));
}

async function introduceUser(
  tx: Tx,
  emit: Emit,
  { app }: Scope,
  realm: Realm,
  row: Awaited<ReturnType<typeof checkNewUser>>,
): Promise<MadeUser> {
  const made = await insertUser(tx, app, realm, row);
  emit(userAdded(made.user), everyone());
  await subscribeToDefaultChannels(tx, emit, { realmId: realm.id, user: made.user });
  return made;
}

/** Of a bot that does what its owner programs it to. */
export const GENERIC_BOT = 1;

/**
 * Makes a generic bot, owned by the viewer.
 *
 * @param input `shortName` begins the bot's address: "<shortName>-bot@<domain>".
 * @returns The bot and its key, which no later call returns.
 * @throws UnauthorizedPrincipalError when the viewer is a guest.
 * @throws BadRequestError when the viewer may not create bots, or when name or address are not taken.
 * @see endpoints companion B.24
 */
export async function createBot(
  ctx: Ctx,
  { fullName, shortName }: { fullName: string; shortName: string },
): Promise<MadeUser> {
  requireMember(ctx);
  const { app, realmId, viewer } = ctx;
  const groups = await systemGroups(app.db, realmId);
  const allowed = isInGroup(
    groups,
    viewer,
    realmGroupSetting(groups, viewer.realm, 'can_create_bots_group'),
    app.now(),
  );
  if (!allowed || viewer.user.botType !== null) throw new BadRequestError('Insufficient permission');
  if (shortName.trim() === '') throw new BadRequestError('Bad name or username');
  const email = `${shortName.trim()}-bot@${domainOf(app.config, viewer.realm.subdomain)}`;
  const row = await checkNewUser({ email, fullName, botType: GENERIC_BOT, botOwnerId: viewer.id });
  return refusingTakenAddress(() =>
    transact(ctx, async (tx, emit) => {
      if (await isNameTaken(tx, realmId, row.fullName)) throw new BadRequestError('Name is already in use.');
      return introduceUser(tx, emit, ctx, viewer.realm, row);
    }),
  );
}

/** What may be changed of another user. */
export interface UserEdit {
  /** A blank name is no change. */
  readonly fullName?: string;
  /** 100 owner, 200 administrator, 300 moderator, 400 member, 600 guest. */
  readonly role?: number;
}

/**
 * Changes a user's name, role, or both. What is equal already is no change and makes no event.
 *
 * @param who Id or address.
 * @returns The user as they are after it.
 * @throws UnauthorizedPrincipalError unless the viewer is an administrator; unless the viewer is an owner, when the
 *   user is one or is to be one.
 * @throws BadRequestError when there is no such user, when name or role are not taken, or when the user is the only
 *   owner and would not be one any more.
 * @see endpoints companion B.12 (PATCH /users/{user_id})
 */
export async function updateUser(ctx: Ctx, who: number | string, edit: UserEdit): Promise<User> {
  requireAdministrator(ctx);
  const fullName =
    edit.fullName === undefined || edit.fullName.trim() === '' ? undefined : requireFullName(edit.fullName);
  const { role } = edit;
  if (role !== undefined && !ROLES.some((known) => known === role)) throw new BadRequestError('Invalid role');
  const userId = typeof who === 'string' ? (await accessUserByEmail(ctx, who)).id : who;
  return transact(ctx, async (tx, emit) => {
    await lockRealm(tx, ctx.realmId);
    const where = { realmId: ctx.realmId, id: userId, isSystem: false };
    const user = isId(userId) ? await tx.user.findFirst({ where }) : null;
    if (user === null) throw new BadRequestError('No such user');
    if (role !== undefined && role !== user.role) await requireRoleChange(tx, ctx, user, role);
    if (fullName !== undefined && fullName !== user.fullName) await rename(tx, emit, ctx, user, fullName);
    if (role !== undefined && role !== user.role) await changeRole(tx, emit, ctx, user, role);
    return { ...user, fullName: fullName ?? user.fullName, role: role ?? user.role };
  });
}

/**
 * Gives a user another name, inside a change that holds the organisation's row, and tells everyone.
 *
 * @throws BadRequestError when the organisation wants unique names and another active user has this one.
 */
export async function rename(tx: Tx, emit: Emit, { viewer }: Ctx, { id }: User, fullName: string): Promise<void> {
  await requireUniqueName(tx, viewer.realm, fullName, id);
  await tx.user.update({ where: { id }, data: { fullName } });
  emit(userRenamed(id, fullName), everyone());
}

async function requireRoleChange(tx: Tx, { viewer }: Ctx, user: User, newRole: number): Promise<void> {
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

async function changeRole(
  tx: Tx,
  emit: Emit,
  { app }: Ctx,
  { id, realmId, role: oldRole }: User,
  newRole: number,
): Promise<void> {
  await tx.user.update({ where: { id }, data: { role: newRole } });
  emit(userRoleChanged(id, { oldRole, newRole }), everyone(), (eventId) =>
    tx.roleChange.create({ data: { realmId, userId: id, eventId, oldRole, newRole } }),
  );
  await roleChangeEffects(tx, emit, { realmId, userId: id, oldRole, newRole, now: app.now() });
}

/**
 * Ends the placeholder state of an imported or API-created user: they joined when they first signed in.
 *
 * @see interface document 3
 */
export async function recordFirstLogin(scope: Scope, userId: number): Promise<void> {
  const joinedAt = scope.app.now();
  await transact(scope, async (tx, emit) => {
    const { count } = await tx.user.updateMany({
      where: { id: userId, isImportedStub: true },
      data: { isImportedStub: false, joinedAt },
    });
    if (count === 0) return;
    for (const event of stubLoggedIn(userId, joinedAt)) emit(event, everyone());
  });
}
