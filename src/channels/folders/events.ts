import { defineEvent } from '../../events/define.ts';
import type { ChannelFolder } from '../../generated/prisma/client.ts';
import { toWire, type WireChannelFolder } from './wire.ts';

// All go to everyone of the organisation.

export const channelFolderAdded = defineEvent('channel_folder', 'add', (folder: ChannelFolder) => ({
  channel_folder: toWire(folder),
}));

/** The changed fields with their new values; a description comes with its rendering. */
export type WireFolderChanges = Partial<
  Pick<WireChannelFolder, 'name' | 'description' | 'rendered_description' | 'is_archived'>
>;

/** One event for one act, with only what changed. */
export const channelFolderUpdated = defineEvent(
  'channel_folder',
  'update',
  (folder: ChannelFolder, changed: Partial<ChannelFolder>) => {
    const { name, description, rendered_description, is_archived } = toWire(folder);
    const data: WireFolderChanges = {
      ...(changed.name !== undefined && { name }),
      ...(changed.description !== undefined && { description, rendered_description }),
      ...(changed.isArchived !== undefined && { is_archived }),
    };
    return { channel_folder_id: folder.id, data };
  },
);

/** All ids in their new order: the place in this list is the folder's new `order`. */
export const channelFoldersReordered = defineEvent('channel_folder', 'reorder', (folderIds: readonly number[]) => ({
  order: folderIds,
}));
