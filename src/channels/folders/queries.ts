import { Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient, Tx } from '../../platform/db/client.ts';
import { isAlike } from '../../platform/names.ts';

/** Locks a folder until the transaction ends. Other changes of the folder, and changes that add a channel to it, wait. */
export async function lockFolder(tx: Tx, organizationId: number, folderId: number): Promise<void> {
  await tx.$queryRaw`SELECT 1 AS held FROM channel_folder WHERE realm_id = ${organizationId} AND id = ${folderId} FOR NO KEY UPDATE`;
}

/**
 * Locks all folders of an organization until the transaction ends.
 *
 * @returns The ids of the folders, ascending.
 */
export async function lockFolders(tx: Tx, organizationId: number): Promise<number[]> {
  const rows = await tx.$queryRaw<{ id: number }[]>`
    SELECT id FROM channel_folder WHERE realm_id = ${organizationId} ORDER BY id FOR NO KEY UPDATE`;
  return rows.map(({ id }) => id);
}

/** Sets the position of each folder to its index in the list. */
export async function writePositions(tx: Tx, organizationId: number, folderIds: readonly number[]): Promise<void> {
  await tx.$executeRaw`
    UPDATE channel_folder SET position = places.place - 1
    FROM unnest(${[...folderIds]}::int[]) WITH ORDINALITY AS places(id, place)
    WHERE channel_folder.realm_id = ${organizationId} AND channel_folder.id = places.id`;
}

/**
 * Returns whether a folder of the organization, other than `except`, has the name or a name that looks like it, ignoring case.
 */
export async function isFolderNameTaken(
  db: SqlClient,
  organizationId: number,
  name: string,
  except: number | undefined,
): Promise<boolean> {
  const [taken] = await db.$queryRaw<{ id: number }[]>`
    SELECT id FROM channel_folder
    WHERE realm_id = ${organizationId} AND ${isAlike(Prisma.sql`name`, name)} AND id IS DISTINCT FROM ${except ?? null}::int LIMIT 1`;
  return taken !== undefined;
}
