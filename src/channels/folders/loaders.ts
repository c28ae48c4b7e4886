import { acrossReaders } from '../../api/graphql/context.ts';
import { type ChannelFolder, Prisma } from '../../generated/prisma/client.ts';
import { CHANNEL_FOLDER_COLUMNS, fieldsOf } from '../../platform/db/columns.ts';
import { readRows } from '../../platform/db/rows.ts';

const FOLDER = fieldsOf('f', CHANNEL_FOLDER_COLUMNS);

/** Folders by id: everybody in the organisation sees all of them. */
export const foldersById = acrossReaders<number, ChannelFolder | null>(async (wanted) => {
  const [first] = wanted;
  if (first === undefined) return [];
  const { app, realmId } = first.ctx;
  const ids = [...new Set(wanted.map(({ key }) => key))];
  const rows = await readRows<ChannelFolder>(
    app.db,
    Prisma.sql`SELECT ${FOLDER} FROM channel_folder f WHERE f.realm_id = ${realmId} AND f.id = ANY(${ids}::int[])`,
  );
  const byId = new Map(rows.map((folder) => [folder.id, folder]));
  return wanted.map(({ key }) => byId.get(key) ?? null);
});
