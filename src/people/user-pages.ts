import { Prisma } from '../generated/prisma/client.ts';
import type { SqlClient } from '../platform/db/client.ts';
import { inOrder, isWithin, type Keyset, type Place } from '../platform/db/keyset.ts';
import { readRows } from '../platform/db/rows.ts';

/** What lists of users can be sorted by. */
export type UserField = 'id' | 'fullName' | 'joinedAt';

/** What a page of a list of users takes besides: what the list is sorted by. */
export interface UserPage extends Keyset {
  readonly field: UserField;
}

const ID = Prisma.sql`u.id`;
/** Of `user_account AS u`. Times are in the milliseconds that JavaScript counts. */
const KEYS: Readonly<Record<UserField, Prisma.Sql>> = {
  id: Prisma.sql`u.id::bigint`,
  fullName: Prisma.sql`lower(u.full_name)`,
  joinedAt: Prisma.sql`floor(extract(epoch FROM u.joined_at) * 1000)::bigint`,
};

/** The key of a user, `user_account AS u`, in a list that is sorted so. */
export const userKey = ({ field }: UserPage): Prisma.Sql => KEYS[field];

/** Whether a user lies within a page. */
export const isUserWithin = (page: UserPage): Prisma.Sql => isWithin(page, userKey(page), ID);

/** The order in which the users of a page are come to. */
export const usersInOrder = (page: UserPage): Prisma.Sql => inOrder(page, userKey(page), ID);

/** A place as a query gives it. */
export interface PlaceRow {
  readonly id: number;
  readonly key: string | bigint;
}

export const placeOf = ({ id, key }: PlaceRow): Place => ({ id, key: typeof key === 'bigint' ? Number(key) : key });

/** Which users a list shows; absent: all. */
export interface UserFilter {
  readonly role?: number | null | undefined;
  readonly isBot?: boolean | null | undefined;
  readonly isActive?: boolean | null | undefined;
  /** Only the bots of this user. */
  readonly botOwnerId?: number | undefined;
  /** In whatever case. */
  readonly nameContains?: string | null | undefined;
}

function isWanted(realmId: number, filter: UserFilter): Prisma.Sql {
  const { role, isBot, isActive, botOwnerId, nameContains } = filter;
  const conditions = [
    Prisma.sql`u.realm_id = ${realmId} AND NOT u.is_system`,
    ...(role == null ? [] : [Prisma.sql`u.role = ${role}::int`]),
    ...(isBot == null ? [] : [Prisma.sql`(u.bot_type IS NOT NULL) = ${isBot}::boolean`]),
    ...(isActive == null ? [] : [Prisma.sql`u.is_active = ${isActive}::boolean`]),
    ...(botOwnerId === undefined ? [] : [Prisma.sql`u.bot_owner_id = ${botOwnerId}::int`]),
    ...(nameContains == null ? [] : [Prisma.sql`strpos(lower(u.full_name), lower(${nameContains}::text)) > 0`]),
  ];
  return Prisma.join(conditions, ' AND ');
}

/** A page of the organisation's users, the service's own bot left out, in the order in which they are come to. */
export async function readUserPlaces(
  db: SqlClient,
  realmId: number,
  filter: UserFilter,
  page: UserPage,
): Promise<readonly Place[]> {
  const rows = await readRows<PlaceRow>(
    db,
    Prisma.sql`
    SELECT u.id, ${userKey(page)} AS key FROM user_account u
    WHERE ${isWanted(realmId, filter)} AND ${isUserWithin(page)}
    ORDER BY ${usersInOrder(page)} LIMIT ${page.limit}::bigint`,
  );
  return rows.map(placeOf);
}

/** How many users there are in the list. */
export async function countUsers(db: SqlClient, realmId: number, filter: UserFilter): Promise<number> {
  const [row] = await readRows<{ count: number }>(
    db,
    Prisma.sql`
    SELECT count(*)::int AS count FROM user_account u WHERE ${isWanted(realmId, filter)}`,
  );
  return row?.count ?? 0;
}
