import { userOfStandIn } from '../access/address.ts';
import { VISIBLE_TO_EVERYONE } from '../access/user-settings.ts';
import type { Organization } from '../generated/prisma/client.ts';
import type { SqlClient } from '../platform/db/client.ts';
import { type Requester, visibilitiesFor } from './wire.ts';

/**
 * The user who looks up email addresses. The id and role determine which real addresses the user can find. Every `Viewer` is an
 * `AddressReader`.
 */
export interface AddressReader extends Requester {
  readonly organization: Pick<Organization, 'id'>;
}

/**
 * Returns the ids of the users of the reader's organization who have these email addresses. The API address of a user always
 * matches. The real address of a user (ignoring case) matches if the reader can see it. Every address that a client sends to
 * identify a user is looked up here.
 *
 * A real address that the reader cannot see matches no user. The lookup of such an address takes as long as the lookup of an
 * unknown address, because one query excludes both.
 *
 * @returns User ids by the given address. A placeholder address contains a user id. This id is returned even if no user has it.
 */
export async function userIdsByAddress(
  db: SqlClient,
  { id, role, organization }: AddressReader,
  addresses: readonly string[],
): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  const asked: string[] = [];
  for (const address of new Set(addresses)) {
    const standsFor = userOfStandIn(address);
    if (standsFor !== undefined) found.set(address, standsFor);
    else if (!address.includes('\0') && address.isWellFormed()) asked.push(address);
  }
  if (asked.length === 0) return found;
  const rows = await db.$queryRaw<{ address: string; id: number }[]>`
    SELECT a.given AS address, u.id
    FROM unnest(${asked}::text[], ${asked.map((address) => address.trim())}::text[]) AS a (given, address)
    JOIN user_account u ON u.realm_id = ${organization.id} AND lower(u.email) = lower(a.address)
    WHERE u.bot_type IS NOT NULL OR u.id = ${id}
      OR COALESCE((u.settings->>'email_address_visibility')::int, ${VISIBLE_TO_EVERYONE}) = ANY(${visibilitiesFor(role)})`;
  for (const row of rows) found.set(row.address, row.id);
  return found;
}
