import type { SqlClient, Tx } from '../../platform/db/client.ts';

/** Holds a folder until the change is over, against channels being put into it and against other changes of it. */
export async function lockFolder(tx: Tx, realmId: number, folderId: number): Promise<void> {
  await tx.$queryRaw`SELECT 1 AS held FROM channel_folder WHERE realm_id = ${realmId} AND id = ${folderId} FOR NO KEY UPDATE`;
}

/**
 * Holds all folders of an organisation until the change is over.
 *
 * @returns Their ids.
 */
export async function lockFolders(tx: Tx, realmId: number): Promise<number[]> {
  const rows = await tx.$queryRaw<{ id: number }[]>`
    SELECT id FROM channel_folder WHERE realm_id = ${realmId} ORDER BY id FOR NO KEY UPDATE`;
  return rows.map(({ id }) => id);
}

/** Gives each folder its place in the list as its position. */
export async function writePositions(tx: Tx, realmId: number, folderIds: readonly number[]): Promise<void> {
  await tx.$executeRaw`
    UPDATE channel_folder SET position = places.place - 1
    FROM unnest(${[...folderIds]}::int[]) WITH ORDINALITY AS places(id, place)
    WHERE channel_folder.realm_id = ${realmId} AND channel_folder.id = places.id`;
}

/** Whether a folder of the organisation, other than `except`, has the name in whatever case. */
export async function isFolderNameTaken(
  db: SqlClient,
  realmId: number,
  name: string,
  except: number | undefined,
): Promise<boolean> {
  const [taken] = await db.$queryRaw<{ id: number }[]>`
    SELECT id FROM channel_folder
    WHERE realm_id = ${realmId} AND lower(name) = lower(${name}) AND id IS DISTINCT FROM ${except ?? null}::int LIMIT 1`;
  return taken !== undefined;
}
