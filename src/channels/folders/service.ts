import type { Ctx } from '../../access/context.ts';
import { requireAdministrator } from '../../access/roles.ts';
import { asOfNow } from '../../access/sign-in.ts';
import { everyone } from '../../events/audience.ts';
import { transact } from '../../events/log.ts';
import type { ChannelFolder, Prisma } from '../../generated/prisma/client.ts';
import { renderMarkdown } from '../../markdown/render.ts';
import { lockOrganization } from '../../people/locks.ts';
import { requireWholeOrder } from '../../people/order.ts';
import type { Tx } from '../../platform/db/client.ts';
import { isUniqueViolation } from '../../platform/db/errors.ts';
import { ConflictError, NotFoundError, ValidationError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { MAX_CHANNEL_FOLDER_DESCRIPTION_LENGTH, MAX_CHANNEL_FOLDER_NAME_LENGTH } from '../../platform/limits.ts';
import { requireReadable } from '../../platform/names.ts';
import { requirePrintable, requireText } from '../../platform/text.ts';
import { requireWithin } from '../../platform/totals.ts';
import { channelFolderAdded, channelFoldersReordered, channelFolderUpdated } from './events.ts';
import { isFolderNameTaken, lockFolder, lockFolders, writePositions } from './queries.ts';

/** Fields of a folder to change. Absent fields stay unchanged. */
export interface FolderEdit {
  /** Name of 1 to 60 code points after trimming; unique among all folders, ignoring case. */
  readonly name?: string | undefined;
  /**
   * Description in Flavored Markdown, at most 1,024 code points; may be empty. A longer one is refused with `ValidationError`.
   */
  readonly description?: string | undefined;
  readonly isArchived?: boolean | undefined;
}

/** Returns the filter for the folders that the viewer can see: all folders of the organization. */
export function visibleTo({ viewer }: Ctx): Prisma.ChannelFolderWhereInput {
  return { organizationId: viewer.organization.id };
}

const nameInUse = () => new ConflictError('Channel folder name already in use', { parameter: 'name' });

/**
 * Returns a folder.
 *
 * @throws NotFoundError if the organization has no folder with this id.
 */
export async function accessChannelFolder(ctx: Ctx, folderId: number): Promise<ChannelFolder> {
  const folder = isRowId(folderId)
    ? await ctx.work.db.channelFolder.findFirst({ where: { id: folderId, ...visibleTo(ctx) } })
    : null;
  if (folder === null) {
    const parameter = 'channel_folder_id';
    throw new NotFoundError('Invalid channel folder ID', { type: 'ChannelFolder', id: folderId, parameter });
  }
  return folder;
}

/** Returns the organization's folders in their order. */
export function listChannelFolders(
  ctx: Ctx,
  { includeArchived }: { includeArchived: boolean },
): Promise<ChannelFolder[]> {
  return ctx.work.db.channelFolder.findMany({
    where: { ...visibleTo(ctx), ...(!includeArchived && { isArchived: false }) },
    orderBy: [{ order: 'asc' }, { id: 'asc' }],
  });
}

/**
 * Creates a folder, last in the order.
 *
 * @throws UnauthorizedPrincipalError unless the viewer is an administrator.
 * @throws ValidationError if the name is blank, too long, or contains unprintable characters.
 * @throws ValidationError if the description is too long.
 * @throws ConflictError if the name is taken.
 * @throws TotalReachedError if there would be more than 1,000 folders, archived ones included.
 */
export async function createChannelFolder(
  ctx: Ctx,
  { name, description }: { name: string; description: string },
): Promise<ChannelFolder> {
  requireAdministrator(ctx);
  const { organization, id: creatorId } = ctx.viewer;
  const data = { ...checkedName(name), ...checkedDescription(description) };
  return refusingTakenNames(() =>
    transact(ctx, async (tx, emit) => {
      await lockOrganization(tx, organization.id);
      requireAdministrator(await asOfNow(tx, ctx));
      await requireFreeName(tx, organization.id, data.name);
      requireWithin(
        'channel_folders',
        1 + (await tx.channelFolder.count({ where: { organizationId: organization.id } })),
      );
      const made = await tx.channelFolder.create({
        data: { ...data, organizationId: organization.id, creatorId, createdAt: ctx.app.now() },
      });
      // Ids increase, so the id as `order` puts the new folder after all others.
      const folder = await tx.channelFolder.update({
        where: { organizationId_id: { organizationId: organization.id, id: made.id } },
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
 * @throws NotFoundError if the folder does not exist.
 * @throws ValidationError if the name is blank, too long, or contains unprintable characters, or the description is too long.
 * @throws ConflictError if the name is taken, or if a folder to archive still contains channels, archived ones included.
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
      // Locks the organization, as the creation of a folder does. So no other folder can take the name after this change has
      // compared it with all names.
      if (wanted.name !== undefined) await lockOrganization(tx, ctx.organizationId);
      await lockFolder(tx, ctx.organizationId, folderId);
      requireAdministrator(await asOfNow(tx, ctx));
      const folder = await tx.channelFolder.findUniqueOrThrow({
        where: { organizationId_id: { organizationId: ctx.organizationId, id: folderId } },
      });
      const changes = differing(folder, wanted);
      if (Object.keys(changes).length === 0) return folder;
      if (changes.name !== undefined) await requireFreeName(tx, folder.organizationId, changes.name, folderId);
      if (changes.isArchived === true) await requireEmpty(tx, ctx.organizationId, folderId);
      const changed = await tx.channelFolder.update({
        where: { organizationId_id: { organizationId: ctx.organizationId, id: folderId } },
        data: changes,
      });
      emit(channelFolderUpdated(changed, changes, folder), everyone());
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
 * @throws ValidationError if a folder is named twice.
 * @throws NotFoundError if a folder is unknown.
 * @throws ConflictError if a folder is missing.
 */
export async function reorderChannelFolders(ctx: Ctx, folderIds: readonly number[]): Promise<ChannelFolder[]> {
  requireAdministrator(ctx);
  const organizationId = ctx.viewer.organization.id;
  return transact(ctx, async (tx, emit) => {
    requireWholeOrder('ChannelFolder', folderIds, new Set(await lockFolders(tx, organizationId)));
    await writePositions(tx, organizationId, folderIds);
    if (folderIds.length > 0) emit(channelFoldersReordered(folderIds), everyone());
    return tx.channelFolder.findMany({ where: { organizationId }, orderBy: { order: 'asc' } });
  });
}

function checkedName(name: string): { name: string } {
  const text = requireText('name', name, { strip: true, max: MAX_CHANNEL_FOLDER_NAME_LENGTH });
  if (text === '') throw new ValidationError("Channel folder name can't be empty.", { parameter: 'name', minimum: 1 });
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
 * Checks that no other folder, archived or not, has the name or a similar-looking name. If two requests concurrently give the
 * name to two folders that are not archived, the unique index refuses one of the requests.
 *
 * @throws ValidationError if the name contains a character that `requireReadable` refuses.
 * @throws ConflictError if the name is taken.
 */
async function requireFreeName(tx: Tx, organizationId: number, name: string, except?: number): Promise<void> {
  requireReadable('channel folder name', name);
  if (await isFolderNameTaken(tx, organizationId, name, except)) throw nameInUse();
}

async function requireEmpty(tx: Tx, organizationId: number, folderId: number): Promise<void> {
  if ((await tx.channel.count({ where: { organizationId, folderId } })) > 0) {
    throw new ConflictError('You need to remove all the channels from this folder to archive it.', {
      parameter: 'is_archived',
    });
  }
}

async function refusingTakenNames<T>(change: () => Promise<T>): Promise<T> {
  try {
    return await change();
  } catch (error) {
    throw isUniqueViolation(error) ? nameInUse() : error;
  }
}
