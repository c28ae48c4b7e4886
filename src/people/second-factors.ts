import type { Ctx } from '../access/context.ts';
import { readsAsAdministrator, requireAdministrator } from '../access/roles.ts';
import { forAllViewers } from '../api/graphql/loading/context.ts';
import { Prisma, type User } from '../generated/prisma/client.ts';
import { listOf } from '../platform/db/lists.ts';
import { requireScopes } from '../platform/errors.ts';
import { isOwner, OWNER } from '../platform/roles.ts';

/**
 * Returns whether the viewer can see if a user has a second factor. Each person sees their own state. Administrators see the
 * state of all people except owners. Owners see the state of all people. Bots have no second factor.
 */
export function canSeeSecondFactor(ctx: Ctx, user: Pick<User, 'id' | 'role' | 'botType' | 'isSystem'>): boolean {
  const { viewer } = ctx;
  if (user.botType !== null || user.isSystem) return false;
  return user.id === viewer.id || (readsAsAdministrator(ctx) && (isOwner(viewer.role) || !isOwner(user.role)));
}

/** Returns the SQL query for the ids of the users of an organization who have a second factor. Users can occur twice. */
export const usersWithFactor = (organizationId: number, condition = Prisma.sql`true`): Prisma.Sql => Prisma.sql`
  SELECT f.user_id FROM second_factor f
  WHERE f.realm_id = ${organizationId} AND f.confirmed_at IS NOT NULL AND ${condition}
  UNION ALL SELECT f.user_id FROM passkey f WHERE f.realm_id = ${organizationId} AND ${condition}`;

/** Loads whether users have a second factor, by user id. */
export const haveSecondFactor = forAllViewers<number, boolean>(async (db, organizationId, ids) => {
  const rows = await db.$queryRaw<{ user_id: number }[]>(
    usersWithFactor(organizationId, Prisma.sql`f.user_id = ANY(${listOf('int', ids)})`),
  );
  const found = new Set(rows.map(({ user_id }) => user_id));
  return (id) => found.has(id);
});

/**
 * Returns the SQL condition that a user in `user_account AS u` is a person with or without a second factor, and that the viewer
 * can see this state.
 *
 * @throws UnauthorizedPrincipalError if the viewer is not an administrator.
 * @throws InsufficientScopeError if the viewer's API key lacks the scope `administration`.
 */
export function secondFactorCondition(ctx: Ctx, isThere: boolean): Prisma.Sql {
  requireAdministrator(ctx);
  const { organizationId, viewer } = ctx;
  requireScopes(viewer, 'administration');
  const isVisible = isOwner(viewer.role) ? Prisma.sql`true` : Prisma.sql`u.role <> ${OWNER}::int`;
  const isAmong = Prisma.sql`u.id IN (${usersWithFactor(organizationId)})`;
  return Prisma.sql`u.bot_type IS NULL AND ${isVisible} AND (${isAmong}) = ${isThere}::boolean`;
}
