import type { Ctx } from '../../access/context.ts';
import type { Memberships } from '../../access/permissions/membership.ts';
import type { User } from '../../generated/prisma/client.ts';
import { userIdsByAddress } from '../../people/by-address.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ConflictError, NotFoundError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';

/** The columns of a user that must be read to subscribe or unsubscribe the user. */
export type Subject = Pick<User, 'id' | 'role' | 'joinedAt' | 'settings' | 'botOwnerId' | 'botType'> & Memberships;

/** Users by id, or by an email address that the viewer can see. */
export type Principals = readonly (number | string)[];

/**
 * Returns the users whose subscriptions a request changes, ascending by id. Returns the viewer if `principals` is absent or
 * empty.
 *
 * @param parameter Name of the parameter with the users, for errors.
 * @throws NotFoundError if a user does not exist, or has an email address that the viewer cannot see.
 * @throws ConflictError if a user is deactivated.
 */
export function accessPrincipals(
  tx: Tx,
  ctx: Ctx,
  principals: Principals | undefined,
  parameter: string,
): Promise<Subject[]> {
  // The viewer is read again: the events depend on the viewer's role, which may have changed since the request began.
  const named = principals === undefined || principals.length === 0 ? [ctx.viewer.id] : principals;
  return accessUsers(tx, ctx, named, parameter);
}

/** Row id that no user has. */
const NO_USER = 0;

/**
 * Returns the users with these ids or email addresses, ascending by id.
 *
 * @param parameter Name of the parameter with the users, for errors.
 * @throws NotFoundError if a user does not exist, or has an email address that the viewer cannot see.
 * @throws ConflictError if a user is deactivated.
 */
export async function accessUsers(
  tx: Tx,
  { organizationId, viewer }: Ctx,
  principals: Principals,
  parameter: string,
): Promise<Subject[]> {
  const addresses = principals.filter((principal) => typeof principal === 'string');
  const byAddress = await userIdsByAddress(tx, viewer, addresses);
  const ids = principals.map((one) => (typeof one === 'number' ? one : (byAddress.get(one) ?? NO_USER)));
  const rows = await tx.$queryRaw<(Subject & { isActive: boolean })[]>`
    SELECT id, role, joined_at AS "joinedAt", settings, bot_owner_id AS "botOwnerId", bot_type AS "botType", is_active AS "isActive",
           group_ids AS "groupIds", full_member_group_ids AS "fullMemberGroupIds"
    FROM user_account
    WHERE realm_id = ${organizationId} AND NOT is_system AND id = ANY(${[...new Set(ids)].filter(isRowId)}) ORDER BY id`;
  const known = new Set(rows.map(({ id }) => id));
  const missing = ids.findIndex((id) => !known.has(id));
  if (missing !== -1) {
    const given = principals[missing];
    throw new NotFoundError('No such user', {
      type: 'User',
      id: typeof given === 'number' ? given : undefined,
      parameter: `${parameter}[${missing}]`,
    });
  }
  const inactive = rows.find(({ isActive }) => !isActive);
  if (inactive !== undefined) {
    throw new ConflictError('User is deactivated', { parameter: `${parameter}[${ids.indexOf(inactive.id)}]` });
  }
  return rows;
}
