import type { Ctx } from '../access/context.ts';
import type { Prisma, User } from '../generated/prisma/client.ts';
import type { Db } from '../platform/db/client.ts';
import { BadRequestError } from '../platform/errors.ts';
import { isRowId } from '../platform/ids.ts';
import { userIdsByAddress } from './by-address.ts';
/** The users `viewer` may see: all of the organisation, with bots and those deactivated. */
export function visibleTo({ realm }: Ctx['viewer']): Prisma.UserWhereInput {
  return { realmId: realm.id };
}

/**
 * One user of the viewer's organisation: a person or a bot, active or not.
 *
 * @throws BadRequestError when there is none.
 */
export async function accessUser({ app, viewer }: Ctx, userId: number): Promise<User> {
  const user = isRowId(userId) ? await app.db.user.findFirst({ where: { ...visibleTo(viewer), id: userId } }) : null;
  if (user === null) throw new BadRequestError('No such user');
  return user;
}

/**
 * One user by address: the real one where the viewer may see it, or the API's.
 *
 * @throws BadRequestError when there is none; a hidden address is one of nobody.
 */
export async function accessUserByEmail(ctx: Ctx, email: string): Promise<User> {
  const found = await userIdsByAddress(ctx.app.db, ctx.viewer, [email]);
  return accessUser(ctx, found.get(email) ?? 0);
}

/** A user by id, or by address. */
export type UserKey = { readonly id: number } | { readonly email: string };

/** One user, as `accessUser` or `accessUserByEmail`. */
export const accessUserBy = (ctx: Ctx, key: UserKey): Promise<User> =>
  'id' in key ? accessUser(ctx, key.id) : accessUserByEmail(ctx, key.email);

/**
 * The user with this real address, in whatever case, whoever may see it: for signing in, where nobody has. It takes two
 * queries for an address of nobody as well, so that the time does not tell whose are taken.
 */
export async function findUserByEmail(db: Db, realmId: number, email: string): Promise<User | null> {
  if (email.includes('\0')) return null;
  const [found] = await db.$queryRaw<{ id: number }[]>`
    SELECT id FROM user_account WHERE realm_id = ${realmId} AND lower(email) = lower(${email.trim().toWellFormed()})`;
  return db.user.findUnique({ where: { realmId_id: { realmId, id: found?.id ?? 0 } } });
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
  const users = await app.db.user.findMany({ where: { ...where, id: { in: [...new Set(userIds)].filter(isRowId) } } });
  return users.sort((a, b) => a.id - b.id);
}
