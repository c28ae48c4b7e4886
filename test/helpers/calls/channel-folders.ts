import type { FeatureCalls } from './feature.ts';
import { fresh, PAGE } from './shared.ts';

export const channelFolders: FeatureCalls = {
  rest: {
    'GET /channel_folders': () => [{ parameters: { include_archived: true } }],
    'PATCH /channel_folders': ({ folderId }) => [{ parameters: { order: [folderId] } }],
    'PATCH /channel_folders/{channel_folder_id}': ({ folderId }) => [
      {
        slots: { channel_folder_id: folderId },
        parameters: { name: fresh(), description: fresh(), is_archived: false },
      },
    ],
    'POST /channel_folders/create': () => [{ parameters: { name: fresh(), description: 'new' } }],
  },
  queries: {
    channelFolders: () => [{ ...PAGE, includeArchived: true, orderBy: { field: 'NAME', direction: 'ASC' } }],
  },
  mutations: {
    reorderChannelFolders: ({ folderId }) => [{ order: [folderId] }],
    updateChannelFolder: ({ folderId }) => [
      { channelFolderId: folderId, name: fresh(), description: fresh(), isArchived: false },
    ],
    createChannelFolder: () => [{ name: fresh(), description: 'new' }],
  },
  nodes: ({ folderId }) => ({ ChannelFolder: folderId }),
};
