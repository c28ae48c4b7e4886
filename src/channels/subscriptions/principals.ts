import type { Ctx } from '../../access/context.ts';
import type { Memberships } from '../../access/permissions/membership.ts';
import type { User } from '../../generated/prisma/client.ts';
import { type AddressReader, userIdsByAddress } from '../../people/by-address.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';

/** The columns of a user that subscribing needs. */
export type Subject = Pick<User, 'id' | 'role' | 'joinedAt' | 'settings' | 'botOwnerId'> & Memberships;

/** Users by id, or by an email address that the viewer can see. */
export type Principals = readonly (number | string)[];

/**
 * Returns the users whose subscriptions a request changes, ascending by id. Returns the viewer if `principals` is absent or
 * empty.
 *
 * @throws BadRequestError if a user does not exist or is deactivated.
 */
export function accessPrincipals(tx: Tx, ctx: Ctx, principals: Principals | undefined): Promise<Subject[]> {
  // The viewer is fetched again, because the events depend on the viewer's role, and it may have changed since the request
  // began.
  return accessUsers(tx, ctx, principals === undefined || principals.length === 0 ? [ctx.viewer.id] : principals);
}

/** Returns the users with these ids or email addresses, ascending by id. Throws the errors of `accessPrincipals`. */
export async function accessUsers(tx: Tx, { realmId, viewer }: Ctx, principals: Principals): Promise<Subject[]> {
  const addresses = principals.filter((principal) => typeof principal === 'string');
  const ids = new Set([
    ...principals.filter((principal) => typeof principal === 'number'),
    ...(await idsOf(tx, viewer, addresses)),
  ]);
  const rows = await tx.$queryRaw<(Subject & { isActive: boolean })[]>`
    SELECT id, role, joined_at AS "joinedAt", settings, bot_owner_id AS "botOwnerId", is_active AS "isActive",
           group_ids AS "groupIds", full_member_group_ids AS "fullMemberGroupIds"
    FROM user_account
    WHERE realm_id = ${realmId} AND NOT is_system AND id = ANY(${[...ids].filter(isRowId)}) ORDER BY id`;
  if (rows.length < ids.size) throw new BadRequestError('No such user');
  if (rows.some(({ isActive }) => !isActive)) throw new BadRequestError('User is deactivated');
  return rows;
}

async function idsOf(tx: Tx, viewer: AddressReader, addresses: readonly string[]): Promise<number[]> {
  const found = await userIdsByAddress(tx, viewer, addresses);
  return addresses.map((address) => {
    const id = found.get(address);
    if (id === undefined) throw new BadRequestError('No such user');
    return id;
  });
}
