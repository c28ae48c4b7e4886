import { forEverybody } from '../api/graphql/context.ts';
import { Prisma, type User } from '../generated/prisma/client.ts';
import { fieldsOf, USER_COLUMNS } from '../platform/db/columns.ts';
import { listOf } from '../platform/db/lists.ts';
import { readRows } from '../platform/db/rows.ts';

const USER = fieldsOf('u', USER_COLUMNS);

/** Users by id: everybody in the organisation may know everybody. */
export const usersById = forEverybody<number, User>(async (db, realmId, ids) => {
  const rows = await readRows<User>(
    db,
    Prisma.sql`SELECT ${USER} FROM user_account u WHERE u.realm_id = ${realmId} AND u.id = ANY(${listOf('int', ids)})`,
  );
  const byId = new Map(rows.map((user) => [user.id, user]));
  return (id) => byId.get(id) ?? new Error(`There is no user ${id}`);
});
