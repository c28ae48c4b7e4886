import { acrossReaders } from '../api/graphql/context.ts';
import { Prisma, type User } from '../generated/prisma/client.ts';
import { fieldsOf, USER_COLUMNS } from '../platform/db/columns.ts';
import { listOf } from '../platform/db/lists.ts';
import { readRows } from '../platform/db/rows.ts';

const USER = fieldsOf('u', USER_COLUMNS);

/** Users by id: everybody in the organisation may know everybody. */
export const usersById = acrossReaders<number, User>(async (wanted) => {
  const [first] = wanted;
  if (first === undefined) return [];
  const { app, realmId } = first.ctx;
  const ids = [...new Set(wanted.map(({ key }) => key))];
  const rows = await readRows<User>(
    app.db,
    Prisma.sql`SELECT ${USER} FROM user_account u WHERE u.realm_id = ${realmId} AND u.id = ANY(${listOf('int', ids)})`,
  );
  const byId = new Map(rows.map((user) => [user.id, user]));
  return wanted.map(({ key }) => byId.get(key) ?? new Error(`There is no user ${key}`));
});
