import { z } from 'zod';
import { defineEvent } from '../../events/define.ts';
import { tells } from '../../events/wire.ts';
import type { ChannelFolder } from '../../generated/prisma/client.ts';
import { type FolderFacts, toFacts, toWire, type WireChannelFolder, wireChannelFolder, wireOf } from './wire.ts';

// All go to everyone of the organisation.

export const channelFolderAdded = defineEvent(
  'channel_folder',
  'add',
  (folder: ChannelFolder): { readonly channel_folder: FolderFacts } => ({ channel_folder: toFacts(folder) }),
  {
    render: ({ channel_folder }) => ({ type: 'channel_folder', op: 'add', channel_folder: wireOf(channel_folder) }),
    facts: ({ channel_folder }) => channel_folder,
  },
);

/** The changed fields with their new values; a description comes with its rendering. */
export type WireFolderChanges = Partial<
  Pick<WireChannelFolder, 'name' | 'description' | 'rendered_description' | 'is_archived'>
>;

interface UpdatedPayload {
  readonly channel_folder_id: number;
  readonly data: WireFolderChanges;
  /** As it is now; absent in events logged before they told it. */
  readonly folder?: FolderFacts;
}

/** One event for one act, that says what changed. */
export const channelFolderUpdated = defineEvent(
  'channel_folder',
  'update',
  (folder: ChannelFolder, changed: Partial<ChannelFolder>): UpdatedPayload => {
    const { name, description, rendered_description, is_archived } = toWire(folder);
    const data: WireFolderChanges = {
      ...(changed.name !== undefined && { name }),
      ...(changed.description !== undefined && { description, rendered_description }),
      ...(changed.isArchived !== undefined && { is_archived }),
    };
    return { channel_folder_id: folder.id, data, folder: toFacts(folder) };
  },
  {
    render: ({ channel_folder_id, data }) => ({ type: 'channel_folder', op: 'update', channel_folder_id, data }),
    facts: ({ channel_folder_id, folder }): KnownFolder => ({ id: channel_folder_id, folder }),
  },
);

/** A folder that changed. */
export interface KnownFolder {
  readonly id: number;
  /** Undefined where it alone is known. */
  readonly folder: FolderFacts | undefined;
}

/** All ids in their new order: the place in this list is the folder's new `order`. */
export const channelFoldersReordered = defineEvent('channel_folder', 'reorder', (folderIds: readonly number[]) => ({
  order: folderIds,
}));

tells(channelFolderAdded, 'everyone', { channel_folder: wireChannelFolder });
tells(channelFolderUpdated, 'everyone', {
  channel_folder_id: z.int(),
  data: wireChannelFolder
    .pick({ name: true, description: true, rendered_description: true, is_archived: true })
    .partial()
    .describe('What changed, with its new value.'),
});
tells(channelFoldersReordered, 'everyone', {
  order: z.array(z.int()).describe('Every folder in the new order, by id.'),
});
