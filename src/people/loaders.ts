import { forAllViewers } from '../api/graphql/loading/context.ts';
import { Prisma, type User } from '../generated/prisma/client.ts';
import { fieldsOf } from '../platform/db/columns.ts';
import { listOf } from '../platform/db/lists.ts';
import { readRows } from '../platform/db/rows.ts';

const USER = fieldsOf('u', 'User');

/** Loads users by id. All users of an organization can see each other. */
export const usersById = forAllViewers<number, User>(async (db, organizationId, ids) => {
  const rows = await readRows<User>(
    db,
    Prisma.sql`SELECT ${USER} FROM user_account u WHERE u.realm_id = ${organizationId} AND u.id = ANY(${listOf('int', ids)})`,
  );
  const byId = new Map(rows.map((user) => [user.id, user]));
  return (id) => byId.get(id) ?? new Error(`No user with id ${id}`);
});

/**
 * Loads the text between the `**` of a mention, by user id: the full name, followed by the id if another account has an equal
 * name, ignoring case.
 */
export const mentionNames = forAllViewers<number, string>(async (db, organizationId, ids) => {
  const rows = await db.$queryRaw<{ id: number; name: string }[]>`
    SELECT u.id, u.full_name || CASE WHEN EXISTS (
        SELECT FROM user_account other
        WHERE other.realm_id = ${organizationId} AND lower(other.full_name) = lower(u.full_name) AND other.id <> u.id
      ) THEN '|' || u.id ELSE '' END AS name
    FROM user_account u WHERE u.realm_id = ${organizationId} AND u.id = ANY(${[...ids]}::int[])`;
  const byId = new Map(rows.map(({ id, name }) => [id, name]));
  return (id) => byId.get(id) ?? new Error(`No user with id ${id}`);
});
