import type { Ctx } from '../access/context.ts';
import type { Prisma, User } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
import { NotFoundError } from '../platform/errors.ts';
import { isRowId } from '../platform/ids.ts';
import { userIdsByAddress } from './by-address.ts';
/**
 * Returns the filter for the users that `viewer` can see: all users of the organization, including bots and deactivated users.
 */
export function visibleTo({ organization }: Ctx['viewer']): Prisma.UserWhereInput {
  return { organizationId: organization.id };
}

/**
 * Returns the error for a user who does not exist.
 *
 * @param id Id of the user, as the client sent it.
 */
export const noSuchUser = (id: number): NotFoundError =>
  new NotFoundError('No such user', { type: 'User', id, parameter: 'user_id' });

/** Returns the error for an email address that belongs to no user, or that the viewer cannot see. */
const noSuchAddress = (): NotFoundError => new NotFoundError('No such user', { type: 'User', parameter: 'email' });

/**
 * Returns a user of the viewer's organization: a person or a bot, active or not.
 *
 * @throws NotFoundError if there is no such user.
 */
export async function accessUser(ctx: Ctx, userId: number): Promise<User> {
  const user = await findUser(ctx, userId);
  if (user === null) throw noSuchUser(userId);
  return user;
}

const findUser = async ({ work, viewer }: Ctx, userId: number): Promise<User | null> =>
  isRowId(userId) ? work.db.user.findFirst({ where: { ...visibleTo(viewer), id: userId } }) : null;

/**
 * Returns a user by email address: the real one if the viewer can see it, or the API address.
 *
 * @throws NotFoundError if there is no such user. A hidden address matches no user.
 */
export async function accessUserByEmail(ctx: Ctx, email: string): Promise<User> {
  const found = await userIdsByAddress(ctx.work.db, ctx.viewer, [email]);
  const user = await findUser(ctx, found.get(email) ?? 0);
  if (user === null) throw noSuchAddress();
  return user;
}

/** Id or email address of a user. */
export type UserKey = { readonly id: number } | { readonly email: string };

/**
 * Returns a user by id or email address.
 *
 * @throws NotFoundError if there is no such user. An address that the viewer cannot see matches no user.
 */
export const accessUserBy = (ctx: Ctx, key: UserKey): Promise<User> =>
  'id' in key ? accessUser(ctx, key.id) : accessUserByEmail(ctx, key.email);

/**
 * Finds the user with this real address, ignoring case. For signing in: there is no viewer yet, so the visibility of the
 * address is ignored. Always runs two queries, even for an unknown address, so that the time does not reveal which addresses
 * exist.
 */
export async function findUserByEmail(db: Tx, organizationId: number, email: string): Promise<User | null> {
  if (email.includes('\0')) return null;
  const [found] = await db.$queryRaw<{ id: number }[]>`
    SELECT id FROM user_account WHERE realm_id = ${organizationId} AND lower(email) = lower(${email.trim().toWellFormed()})`;
  return db.user.findUnique({ where: { organizationId_id: { organizationId, id: found?.id ?? 0 } } });
}

/**
 * Returns the organization's users in the order of their ids, including deactivated ones. The service's own bot is excluded.
 *
 * @param userIds Ids of the users to return. Unknown ids are ignored. If absent, all users are returned.
 */
export async function listUsers({ work, viewer }: Ctx, { userIds }: { userIds?: readonly number[] }): Promise<User[]> {
  const where = { ...visibleTo(viewer), isSystem: false };
  if (userIds === undefined) return work.db.user.findMany({ where, orderBy: { id: 'asc' } });
  // The users are sorted here and not by the database: for a sorted query, the ORM does not split a list with more ids than a
  // query can have parameters.
  const users = await work.db.user.findMany({ where: { ...where, id: { in: [...new Set(userIds)].filter(isRowId) } } });
  return users.sort((a, b) => a.id - b.id);
}
