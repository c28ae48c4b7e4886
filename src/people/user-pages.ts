import { Prisma } from '../generated/prisma/client.ts';
import { cursorKey, inOrder, isWithin, type Keyset, type SortColumn } from '../platform/db/keyset.ts';
import { isNamed } from '../platform/db/named.ts';
import type { ListedRows } from '../platform/db/places.ts';

/** The fields by which lists of users can be sorted. */
export type UserField = 'id' | 'fullName' | 'joinedAt';

/** A page of a list of users: the bounds, order and size of the page, and the sort field. */
export interface UserPage extends Keyset {
  readonly field: UserField;
}

/** The column `id` of `user_account AS u`. */
export const USER_ID = Prisma.sql`u.id`;
const NAME = { name: Prisma.sql`u.full_name`, words: Prisma.sql`u.name_words` };
/** Sort column of each field in `user_account AS u`. Times are in milliseconds, the resolution of JavaScript dates. */
export const USER_COLUMNS: Readonly<Record<UserField, SortColumn>> = {
  id: { key: USER_ID },
  fullName: { key: Prisma.sql`u.sort_name`, name: NAME.name },
  joinedAt: { key: Prisma.sql`milliseconds(u.joined_at)` },
};

/** Returns the SQL expression of the value that cursors contain for a user in `user_account AS u`. */
export const userKey = ({ field }: Pick<UserPage, 'field'>): Prisma.Sql => cursorKey(USER_COLUMNS[field]);

/** Returns the SQL condition that a user in `user_account AS u` is within a page. */
export const isUserWithin = (page: UserPage): Prisma.Sql => isWithin(page, USER_COLUMNS[page.field], USER_ID);

/** Returns the SQL expressions for ORDER BY that sort the users of a page. */
export const usersInOrder = (page: UserPage): Prisma.Sql => inOrder(page, USER_COLUMNS[page.field], USER_ID);

/** Filter of a list of users. Absent properties match all users. */
export interface UserFilter {
  readonly role?: number | null | undefined;
  readonly isBot?: boolean | null | undefined;
  readonly isActive?: boolean | null | undefined;
  /** Id of a user. If set, the filter matches only the bots that this user owns. */
  readonly botOwnerId?: number | undefined;
  /**
   * Text that the full name must contain, ignoring case and accents. A name also matches if each word of the text begins a word
   * of the name, in any order.
   */
  readonly nameContains?: string | null | undefined;
  /** A further condition for users in `user_account AS u`. */
  readonly condition?: Prisma.Sql | undefined;
}

/** Returns the SQL condition that a user in `user_account AS u` matches a filter. */
export function isUserMatching({ role, isBot, isActive, botOwnerId, nameContains, condition }: UserFilter): Prisma.Sql {
  const conditions = [
    ...(role == null ? [] : [Prisma.sql`u.role = ${role}::int`]),
    ...(isBot == null ? [] : [Prisma.sql`(u.bot_type IS NOT NULL) = ${isBot}::boolean`]),
    ...(isActive == null ? [] : [Prisma.sql`u.is_active = ${isActive}::boolean`]),
    ...(botOwnerId === undefined ? [] : [Prisma.sql`u.bot_owner_id = ${botOwnerId}::int`]),
    ...(nameContains == null ? [] : [isNamed(nameContains, NAME)]),
    ...(condition === undefined ? [] : [condition]),
  ];
  return conditions.length === 0 ? Prisma.sql`true` : Prisma.join(conditions, ' AND ');
}

/** Returns the organization's users that match the filter, without the service's own bot. */
export const listedUsers = (organizationId: number, filter: UserFilter): ListedRows => ({
  from: Prisma.sql`user_account u`,
  where: Prisma.sql`u.realm_id = ${organizationId} AND NOT u.is_system AND ${isUserMatching(filter)}`,
});
