import type { Ctx } from '../app.ts';
import type { Tx } from '../db/client.ts';
import { BadRequestError } from '../errors.ts';
import type { User } from '../generated/prisma/client.ts';
import type { Memberships } from '../user-groups/permissions.ts';
import { userOfStandIn } from '../users/address.ts';
import { isRowId } from './access.ts';

/** What subscribing needs to know of a user. */
export type Subject = Pick<User, 'id' | 'role' | 'joinedAt' | 'settings' | 'botOwnerId'> & Memberships;

/** Users by id, or by e-mail address as the API knows them. */
export type Principals = readonly (number | string)[];

/**
 * The users a change of subscriptions is about, by id; the viewer when none are named.
 *
 * @throws BadRequestError when one is not there or deactivated.
 * @see endpoints companion B.8
 */
export function accessPrincipals(tx: Tx, ctx: Ctx, principals: Principals | undefined): Promise<Subject[]> {
  // The viewer is read anew: their role may have changed since the request began, and what they are told goes by it.
  return accessUsers(tx, ctx, principals === undefined || principals.length === 0 ? [ctx.viewer.id] : principals);
}

/** The users named, by id. Throws as `accessPrincipals` does. */
export async function accessUsers(tx: Tx, { realmId }: Ctx, principals: Principals): Promise<Subject[]> {
  const addresses = principals.filter((principal) => typeof principal === 'string');
  if (addresses.some((address) => address.includes('\0'))) throw new BadRequestError('No such user');
  const ids = new Set([
    ...principals.filter((principal) => typeof principal === 'number'),
    ...(await idsOf(tx, realmId, addresses)),
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

async function idsOf(tx: Tx, realmId: number, addresses: readonly string[]): Promise<number[]> {
  if (addresses.length === 0) return [];
  const rows = await tx.$queryRaw<{ id: number | null; address: string }[]>`
    SELECT u.id, a.address FROM unnest(${[...new Set(addresses)]}::text[]) AS a(address)
    LEFT JOIN user_account u ON u.realm_id = ${realmId} AND lower(u.email) = lower(a.address)`;
  return rows.map(({ id, address }) => {
    const found = id ?? userOfStandIn(address);
    if (found === undefined) throw new BadRequestError('No such user');
    return found;
  });
}
