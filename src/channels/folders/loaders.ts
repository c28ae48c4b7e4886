import { forAllViewers } from '../../api/graphql/loading/context.ts';
import { type ChannelFolder, Prisma } from '../../generated/prisma/client.ts';
import { fieldsOf } from '../../platform/db/columns.ts';
import { listOf } from '../../platform/db/lists.ts';
import { readRows } from '../../platform/db/rows.ts';

const FOLDER = fieldsOf('f', 'ChannelFolder');

/** Loads folders by id. Null if there is no such folder. All users of the organization can see all folders. */
export const foldersById = forAllViewers<number, ChannelFolder | null>(async (db, organizationId, ids) => {
  const rows = await readRows<ChannelFolder>(
    db,
    Prisma.sql`
    SELECT ${FOLDER} FROM channel_folder f WHERE f.realm_id = ${organizationId} AND f.id = ANY(${listOf('int', ids)})`,
  );
  const byId = new Map(rows.map((folder) => [folder.id, folder]));
  return (id) => byId.get(id) ?? null;
});
