import type { Ctx } from '../../access/context.ts';
import { requireAdministrator } from '../../access/roles.ts';
import { asOfNow } from '../../access/sign-in.ts';
import { everyone } from '../../events/audience.ts';
import { transact } from '../../events/log.ts';
import type { ChannelFolder, Prisma } from '../../generated/prisma/client.ts';
import { renderMarkdown } from '../../markdown/render.ts';
import { lockRealm } from '../../people/locks.ts';
import type { Tx } from '../../platform/db/client.ts';
import { isUniqueViolation } from '../../platform/db/errors.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { MAX_CHANNEL_FOLDER_DESCRIPTION_LENGTH, MAX_CHANNEL_FOLDER_NAME_LENGTH } from '../../platform/limits.ts';
import { requireReadable } from '../../platform/names.ts';
import { requirePrintable, requireText } from '../../platform/text.ts';
import { requireWithin } from '../../platform/totals.ts';
import { channelFolderAdded, channelFoldersReordered, channelFolderUpdated } from './events.ts';
import { isFolderNameTaken, lockFolder, lockFolders, writePositions } from './queries.ts';

/** Fields of a folder to change. Absent fields stay unchanged. */
export interface FolderEdit {
  /** 1 to 60 code points after trimming; unique among all folders, ignoring case. */
  readonly name?: string | undefined;
  /** Flavored Markdown of at most 1,024 code points; may be empty. */
  readonly description?: string | undefined;
  readonly isArchived?: boolean | undefined;
}

/** Returns the filter for the folders that the viewer can see: all of the organization. */
export function visibleTo({ viewer }: Ctx): Prisma.ChannelFolderWhereInput {
  return { realmId: viewer.realm.id };
}

const invalidFolderId = () => new BadRequestError('Invalid channel folder ID');
const nameInUse = () => new BadRequestError('Channel folder name already in use');

/**
 * Returns a folder.
 *
 * @throws BadRequestError if the organization has no folder with this id.
 */
export async function accessChannelFolder(ctx: Ctx, folderId: number): Promise<ChannelFolder> {
  const folder = isRowId(folderId)
    ? await ctx.app.db.channelFolder.findFirst({ where: { id: folderId, ...visibleTo(ctx) } })
    : null;
  if (folder === null) throw invalidFolderId();
  return folder;
}

/** Returns the organization's folders in their order. */
export function listChannelFolders(
  ctx: Ctx,
  { includeArchived }: { includeArchived: boolean },
): Promise<ChannelFolder[]> {
  return ctx.app.db.channelFolder.findMany({
    where: { ...visibleTo(ctx), ...(!includeArchived && { isArchived: false }) },
    orderBy: [{ order: 'asc' }, { id: 'asc' }],
  });
}

/**
 * Creates a folder, last in the order.
 *
 * @throws UnauthorizedPrincipalError unless the viewer is an administrator.
 * @throws BadRequestError if the name is blank, too long, taken, or contains unprintable characters.
 * @throws BadRequestError if the description is too long.
 * @throws TotalReachedError if there would be more than 1,000 folders, archived ones included.
 */
export async function createChannelFolder(
  ctx: Ctx,
  { name, description }: { name: string; description: string },
): Promise<ChannelFolder> {
  requireAdministrator(ctx);
  const { realm, id: creatorId } = ctx.viewer;
  const data = { ...checkedName(name), ...checkedDescription(description) };
  return refusingTakenNames(() =>
    transact(ctx, async (tx, emit) => {
      await lockRealm(tx, realm.id);
      requireAdministrator(await asOfNow(tx, ctx));
      await requireFreeName(tx, realm.id, data.name);
      requireWithin('channel_folders', 1 + (await tx.channelFolder.count({ where: { realmId: realm.id } })));
      const made = await tx.channelFolder.create({
        data: { ...data, realmId: realm.id, creatorId, createdAt: ctx.app.now() },
      });
      // Ids rise, so the id as `order` puts the new folder after all others.
      const folder = await tx.channelFolder.update({
        where: { realmId_id: { realmId: realm.id, id: made.id } },
        data: { order: made.id },
      });
      emit(channelFolderAdded(folder), everyone());
      return folder;
    }),
  );
}

/**
 * Updates the given fields of a folder, or archives or restores it. If the folder already has these values, nothing is written
 * or emitted.
 *
 * @throws UnauthorizedPrincipalError unless the viewer is an administrator.
 * @throws BadRequestError if the folder does not exist, or a value is invalid as in `createChannelFolder`.
 * @throws BadRequestError if a folder to archive still contains channels, archived ones included.
 */
export async function updateChannelFolder(ctx: Ctx, folderId: number, edit: FolderEdit): Promise<ChannelFolder> {
  requireAdministrator(ctx);
  await accessChannelFolder(ctx, folderId);
  const wanted = {
    ...(edit.name !== undefined && checkedName(edit.name)),
    ...(edit.description !== undefined && checkedDescription(edit.description)),
    ...(edit.isArchived !== undefined && { isArchived: edit.isArchived }),
  };
  return refusingTakenNames(() =>
    transact(ctx, async (tx, emit) => {
      // Locks the organization, as the creation of a folder does, because the name is compared with those of all folders.
      if (wanted.name !== undefined) await lockRealm(tx, ctx.realmId);
      await lockFolder(tx, ctx.realmId, folderId);
      requireAdministrator(await asOfNow(tx, ctx));
      const folder = await tx.channelFolder.findUniqueOrThrow({
        where: { realmId_id: { realmId: ctx.realmId, id: folderId } },
      });
      const changes = differing(folder, wanted);
      if (Object.keys(changes).length === 0) return folder;
      if (changes.name !== undefined) await requireFreeName(tx, folder.realmId, changes.name, folderId);
      if (changes.isArchived === true) await requireEmpty(tx, ctx.realmId, folderId);
      const changed = await tx.channelFolder.update({
        where: { realmId_id: { realmId: ctx.realmId, id: folderId } },
        data: changes,
      });
      emit(channelFolderUpdated(changed, changes), everyone());
      return changed;
    }),
  );
}

/**
 * Reorders the organization's folders.
 *
 * @param folderIds Every folder's id once, archived ones included.
 * @returns All folders in the new order.
 * @throws UnauthorizedPrincipalError unless the viewer is an administrator.
 * @throws BadRequestError if a folder is missing, unknown, or named twice.
 */
export async function reorderChannelFolders(ctx: Ctx, folderIds: readonly number[]): Promise<ChannelFolder[]> {
  requireAdministrator(ctx);
  const realmId = ctx.viewer.realm.id;
  return transact(ctx, async (tx, emit) => {
    const known = new Set(await lockFolders(tx, realmId));
    const named = new Set(folderIds);
    if (named.size !== folderIds.length || named.size !== known.size || folderIds.some((id) => !known.has(id))) {
      throw new BadRequestError('Invalid order mapping.');
    }
    await writePositions(tx, realmId, folderIds);
    if (folderIds.length > 0) emit(channelFoldersReordered(folderIds), everyone());
    return tx.channelFolder.findMany({ where: { realmId }, orderBy: { order: 'asc' } });
  });
}

function checkedName(name: string): { name: string } {
  const text = requireText('name', name, { strip: true, max: MAX_CHANNEL_FOLDER_NAME_LENGTH });
  if (text === '') throw new BadRequestError("Channel folder name can't be empty.");
  requirePrintable('channel folder name', text);
  return { name: text };
}

function checkedDescription(description: string): { description: string; renderedDescription: string } {
  const text = requireText('description', description, { max: MAX_CHANNEL_FOLDER_DESCRIPTION_LENGTH });
  return { description: text, renderedDescription: renderMarkdown(text) };
}

type Stored = Pick<ChannelFolder, 'name' | 'description' | 'renderedDescription' | 'isArchived'>;

function differing(folder: ChannelFolder, wanted: Partial<Stored>): Partial<Stored> {
  const { name, description, renderedDescription, isArchived } = wanted;
  return {
    ...(name !== undefined && name !== folder.name && { name }),
    ...(description !== undefined &&
      renderedDescription !== undefined &&
      description !== folder.description && { description, renderedDescription }),
    ...(isArchived !== undefined && isArchived !== folder.isArchived && { isArchived }),
  };
}

/**
 * Checks that no other folder, archived or not, has the name or one that looks like it. If two requests concurrently give the
 * name to two folders that are not archived, the unique index refuses one of the requests.
 *
 * @throws BadRequestError if the name is taken or not readable.
 */
async function requireFreeName(tx: Tx, realmId: number, name: string, except?: number): Promise<void> {
  requireReadable('channel folder name', name);
  if (await isFolderNameTaken(tx, realmId, name, except)) throw nameInUse();
}

async function requireEmpty(tx: Tx, realmId: number, folderId: number): Promise<void> {
  if ((await tx.channel.count({ where: { realmId, folderId } })) > 0) {
    throw new BadRequestError('You need to remove all the channels from this folder to archive it.');
  }
}

async function refusingTakenNames<T>(change: () => Promise<T>): Promise<T> {
  try {
    return await change();
  } catch (error) {
    throw isUniqueViolation(error) ? nameInUse() : error;
  }
}
