import { Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { isAlike } from '../../platform/names.ts';

/** Returns whether a group other than `exceptId` has the name, ignoring case, or a name that looks like it. */
export async function isGroupNameTaken(
  db: SqlClient,
  organizationId: number,
  name: string,
  exceptId: number,
): Promise<boolean> {
  const taken = await db.$queryRaw<unknown[]>`
    SELECT 1 FROM user_group WHERE realm_id = ${organizationId} AND ${isAlike(Prisma.sql`name`, name)} AND id <> ${exceptId} LIMIT 1`;
  return taken.length > 0;
}

/** An object in which a group holds permissions, with the names of these permissions. */
export interface GroupUse {
  readonly id: number;
  readonly settings: string[];
}

/** Returns the channels in which the group holds permissions. */
export const channelsNamingGroup = (db: SqlClient, organizationId: number, id: number): Promise<GroupUse[]> =>
  db.$queryRaw`
    SELECT c.id, array_agg(p.name ORDER BY p.name) AS settings
    FROM channel c CROSS JOIN jsonb_each(c.permissions) AS p (name, setting)
    WHERE c.realm_id = ${organizationId} AND p.setting->'groups' @> to_jsonb(${id}::int) GROUP BY c.id ORDER BY c.id`;

/** Returns the groups on which the group holds permissions. */
export const groupsNamingGroup = (db: SqlClient, organizationId: number, id: number): Promise<GroupUse[]> =>
  db.$queryRaw`
    SELECT g.id, array_agg(p.name ORDER BY p.name) AS settings
    FROM user_group g CROSS JOIN jsonb_each(g.permissions) AS p (name, setting)
    WHERE g.realm_id = ${organizationId} AND p.setting->'groups' @> to_jsonb(${id}::int) GROUP BY g.id ORDER BY g.id`;

/** Returns the permissions of the organization that the group holds: one row with their names, or no row if it holds none. */
export const organizationNamingGroup = (db: SqlClient, organizationId: number, id: number): Promise<GroupUse[]> =>
  db.$queryRaw`
    SELECT r.id, array_agg(p.name ORDER BY p.name) AS settings
    FROM realm r CROSS JOIN jsonb_each(r.settings) AS p (name, setting)
    WHERE r.id = ${organizationId} AND p.setting->'groups' @> to_jsonb(${id}::int) GROUP BY r.id`;
