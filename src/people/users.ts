import type { Ctx } from '../access/context.ts';
import type { Prisma, User } from '../generated/prisma/client.ts';
import type { Db } from '../platform/db/client.ts';
import { BadRequestError } from '../platform/errors.ts';
import { isRowId } from '../platform/ids.ts';
import { userIdsByAddress } from './by-address.ts';
/**
 * Returns the filter for users that `viewer` can see: all of the organization, including bots and deactivated users.
 */
export function visibleTo({ realm }: Ctx['viewer']): Prisma.UserWhereInput {
  return { realmId: realm.id };
}

/**
 * Returns a user of the viewer's organization: a person or a bot, active or not.
 *
 * @throws BadRequestError if there is no such user.
 */
export async function accessUser({ app, viewer }: Ctx, userId: number): Promise<User> {
  const user = isRowId(userId) ? await app.db.user.findFirst({ where: { ...visibleTo(viewer), id: userId } }) : null;
  if (user === null) throw new BadRequestError('No such user');
  return user;
}

/**
 * Returns a user by email address: the real one if the viewer can see it, or the API address.
 *
 * @throws BadRequestError if there is no such user. A hidden address matches no user.
 */
export async function accessUserByEmail(ctx: Ctx, email: string): Promise<User> {
  const found = await userIdsByAddress(ctx.app.db, ctx.viewer, [email]);
  return accessUser(ctx, found.get(email) ?? 0);
}

/** Id or email address of a user. */
export type UserKey = { readonly id: number } | { readonly email: string };

/** Returns a user by id or email address. Throws the errors of `accessUser` and `accessUserByEmail`. */
export const accessUserBy = (ctx: Ctx, key: UserKey): Promise<User> =>
  'id' in key ? accessUser(ctx, key.id) : accessUserByEmail(ctx, key.email);

/**
 * Finds the user with this real address, ignoring case and visibility: for signing in, when there is no viewer yet. Always runs
 * two queries, also for an unknown address, so that the time does not reveal which addresses exist.
 */
export async function findUserByEmail(db: Db, realmId: number, email: string): Promise<User | null> {
  if (email.includes('\0')) return null;
  const [found] = await db.$queryRaw<{ id: number }[]>`
    SELECT id FROM user_account WHERE realm_id = ${realmId} AND lower(email) = lower(${email.trim().toWellFormed()})`;
  return db.user.findUnique({ where: { realmId_id: { realmId, id: found?.id ?? 0 } } });
}

/**
 * Returns the organization's users in the order of their ids, including deactivated ones. The service's own bot is excluded.
 *
 * @param userIds Ids of the users to return. Unknown ids are ignored. If absent, all users are returned.
 */
export async function listUsers({ app, viewer }: Ctx, { userIds }: { userIds?: readonly number[] }): Promise<User[]> {
  const where = { ...visibleTo(viewer), isSystem: false };
  if (userIds === undefined) return app.db.user.findMany({ where, orderBy: { id: 'asc' } });
  // Sorted here and not by the database: for a sorted query, the ORM does not split a list with more ids than a query can have
  // parameters.
  const users = await app.db.user.findMany({ where: { ...where, id: { in: [...new Set(userIds)].filter(isRowId) } } });
  return users.sort((a, b) => a.id - b.id);
}
