import { userOfStandIn } from '../access/address.ts';
import { VISIBLE_TO_EVERYONE } from '../access/user-settings.ts';
import type { Realm } from '../generated/prisma/client.ts';
import type { SqlClient } from '../platform/db/client.ts';
import { type Requester, visibilitiesFor } from './wire.ts';

/** Who asks: what addresses they see hangs on it. A `Viewer` is one. */
export interface AddressReader extends Requester {
  readonly realm: Pick<Realm, 'id'>;
}

/**
 * The users of the reader's organisation that addresses name: each the real one, in whatever case, where the reader may see
 * it, or the API's. Every address that a client sends to say who is meant is looked up here.
 *
 * A hidden address names nobody, and not even the time it takes tells it from one of nobody: the database leaves both out in
 * the same query.
 *
 * @returns Ids by the address as it was given. An API address has one whether its user is there or not.
 */
export async function userIdsByAddress(
  db: SqlClient,
  { id, role, realm }: AddressReader,
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
    JOIN user_account u ON u.realm_id = ${realm.id} AND lower(u.email) = lower(a.address)
    WHERE u.bot_type IS NOT NULL OR u.id = ${id}
      OR COALESCE((u.settings->>'email_address_visibility')::int, ${VISIBLE_TO_EVERYONE}) = ANY(${visibilitiesFor(role)})`;
  for (const row of rows) found.set(row.address, row.id);
  return found;
}
