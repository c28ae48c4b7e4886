import { Prisma } from '../generated/prisma/client.ts';
import type { SqlClient } from '../platform/db/client.ts';
import { inOrder, isWithin, type Keyset, type Place } from '../platform/db/keyset.ts';
import { readRows } from '../platform/db/rows.ts';
import { filterWords, nameWords } from '../platform/folding.ts';

/** Sort fields of lists of users. */
export type UserField = 'id' | 'fullName' | 'joinedAt';

/** A page of a list of users: the keyset, and the sort field. */
export interface UserPage extends Keyset {
  readonly field: UserField;
}

const ID = Prisma.sql`u.id`;
/** Sort key of each field, as SQL over `user_account AS u`. Times are in milliseconds, the resolution of JavaScript dates. */
const KEYS: Readonly<Record<UserField, Prisma.Sql>> = {
  id: Prisma.sql`u.id::bigint`,
  fullName: Prisma.sql`lower(u.full_name)`,
  joinedAt: Prisma.sql`floor(extract(epoch FROM u.joined_at) * 1000)::bigint`,
};

/** Returns the SQL expression for the sort key of a user in `user_account AS u`. */
export const userKey = ({ field }: UserPage): Prisma.Sql => KEYS[field];

/** Returns the SQL condition that a user in `user_account AS u` is within a page. */
export const isUserWithin = (page: UserPage): Prisma.Sql => isWithin(page, userKey(page), ID);

/** Returns the order in which a query reads the users of a page. */
export const usersInOrder = (page: UserPage): Prisma.Sql => inOrder(page, userKey(page), ID);

/** A position in a sorted list, as a query returns it. */
export interface PlaceRow {
  readonly id: number;
  readonly key: string | bigint;
}

export const placeOf = ({ id, key }: PlaceRow): Place => ({ id, key: typeof key === 'bigint' ? Number(key) : key });

/** Filter of a list of users. Absent properties match all users. */
export interface UserFilter {
  readonly role?: number | null | undefined;
  readonly isBot?: boolean | null | undefined;
  readonly isActive?: boolean | null | undefined;
  /** If set, matches only the bots of this user. */
  readonly botOwnerId?: number | undefined;
  /** Text that the full name must contain, as for `nameFilter`. */
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
    ...(nameContains == null ? [] : [isNamed(nameContains)]),
  ];
  return Prisma.join(conditions, ' AND ');
}

/** Returns the SQL condition that the name of a user contains a text. Equivalent to `nameFilter` in src/platform/folding.ts. */
function isNamed(text: string): Prisma.Sql {
  const isWritten = Prisma.sql`strpos(lower(u.full_name), lower(${text}::text)) > 0`;
  const words = nameWords(text);
  if (words === '') return isWritten;
  // Words contain no punctuation, so neither the wildcards nor the escape character of LIKE.
  const patterns = filterWords(words).map((word) => `% ${word}%`);
  return Prisma.sql`
    (${isWritten} OR strpos(u.name_words, ${words}::text) > 0 OR ' ' || u.name_words LIKE ALL (${patterns}::text[]))`;
}

/** Reads a page of the organization's users, in the sort order of the page. The service's own bot is excluded. */
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

/** Returns the number of users that match the filter. */
export async function countUsers(db: SqlClient, realmId: number, filter: UserFilter): Promise<number> {
  const [row] = await readRows<{ count: number }>(
    db,
    Prisma.sql`
    SELECT count(*)::int AS count FROM user_account u WHERE ${isWanted(realmId, filter)}`,
  );
  return row?.count ?? 0;
}
