import { z } from 'zod';
import { auditChanges } from '../../events/audit.ts';
import { defineEvent } from '../../events/define.ts';
import { documentEvent } from '../../events/wire.ts';
import type { ChannelFolder } from '../../generated/prisma/client.ts';
import { type FolderSnapshot, toSnapshot, toWire, type WireChannelFolder, wireChannelFolder, wireOf } from './wire.ts';

// All events about folders are sent to all users of the organization.

export const channelFolderAdded = defineEvent(
  'channel_folder',
  'add',
  (folder: ChannelFolder): { readonly channel_folder: FolderSnapshot } => ({ channel_folder: toSnapshot(folder) }),
  {
    audit: ({ id, name }) => ({
      ...{ action: 'channel_folder_created', objectType: 'channel_folder', objectId: id, objectName: name },
    }),
    render: ({ channel_folder }) => ({ type: 'channel_folder', op: 'add', channel_folder: wireOf(channel_folder) }),
    facts: ({ channel_folder }) => channel_folder,
  },
);

/** The changed fields of a folder, with their new values. A changed description includes its rendered form. */
export type WireFolderChanges = Partial<
  Pick<WireChannelFolder, 'name' | 'description' | 'rendered_description' | 'is_archived'>
>;

interface UpdatedPayload {
  readonly channel_folder_id: number;
  readonly data: WireFolderChanges;
  /** The folder after the change. Absent in events that previous versions logged. */
  readonly folder?: FolderSnapshot;
}

/** Event that a folder changed. Each update is one event, with the changed fields. */
export const channelFolderUpdated = defineEvent(
  'channel_folder',
  'update',
  (folder: ChannelFolder, changed: Partial<ChannelFolder>, _before: ChannelFolder): UpdatedPayload => {
    const { name, description, rendered_description, is_archived } = toWire(folder);
    const data: WireFolderChanges = {
      ...(changed.name !== undefined && { name }),
      ...(changed.description !== undefined && { description, rendered_description }),
      ...(changed.isArchived !== undefined && { is_archived }),
    };
    return { channel_folder_id: folder.id, data, folder: toSnapshot(folder) };
  },
  {
    audit: ({ id }, { renderedDescription: _, ...changed }, before) => ({
      ...{ action: 'channel_folder_changed', objectType: 'channel_folder', objectId: id, objectName: before.name },
      changes: auditChanges(before, changed),
    }),
    render: ({ channel_folder_id, data }) => ({ type: 'channel_folder', op: 'update', channel_folder_id, data }),
    facts: ({ channel_folder_id, folder }): ProjectedFolder => ({ id: channel_folder_id, folder }),
  },
);

/** Data of an event about an updated folder, for its GraphQL fields. */
export interface ProjectedFolder {
  readonly id: number;
  /** The folder after the change. Undefined if the event contains only the id. */
  readonly folder: FolderSnapshot | undefined;
}

/** Event that the folders were reordered. The index of an id in the list is the folder's new `order`. */
export const channelFoldersReordered = defineEvent(
  'channel_folder',
  'reorder',
  (folderIds: readonly number[]) => ({ order: folderIds }),
  {
    audit: (folderIds) => ({
      ...{ action: 'channel_folders_reordered', objectType: 'channel_folder' },
      changes: { order: { new: folderIds } },
    }),
  },
);

documentEvent(channelFolderAdded, 'all users of the organization', { channel_folder: wireChannelFolder });
documentEvent(channelFolderUpdated, 'all users of the organization', {
  channel_folder_id: z.int(),
  data: wireChannelFolder
    .pick({ name: true, description: true, rendered_description: true, is_archived: true })
    .partial()
    .describe('Changed fields with their new values.'),
});
documentEvent(channelFoldersReordered, 'all users of the organization', {
  order: z.array(z.int()).describe('Ids of all folders in the new order.'),
});
