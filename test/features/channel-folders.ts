import { fresh, PAGE } from '../helpers/call-values.ts';
import type { FeatureTests } from '../helpers/feature.ts';
import { heldBy } from '../helpers/piles.ts';

export const channelFolders: FeatureTests = {
  rest: {
    'GET /channel_folders': () => [{ parameters: { include_archived: true } }],
    'PATCH /channel_folders': ({ folderId, idleFolderId }) => [{ parameters: { order: [idleFolderId, folderId] } }],
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
    reorderChannelFolders: ({ folderId, idleFolderId }) => [{ channelFolderIds: [idleFolderId, folderId] }],
    updateChannelFolder: ({ folderId }) => [{ channelFolderId: folderId, name: fresh(), description: fresh() }],
    archiveChannelFolder: ({ idleFolderId }) => [{ channelFolderId: idleFolderId }],
    unarchiveChannelFolder: ({ idleFolderId }) => [{ channelFolderId: idleFolderId }],
    createChannelFolder: () => [{ name: fresh(), description: 'new' }],
  },
  nodes: ({ folderId }) => ({ ChannelFolder: folderId }),
  piles: {
    channel_folders: {
      adder: 'owner',
      fill: ({ sql }) =>
        sql(`INSERT INTO channel_folder (realm_id, name, is_archived)
        SELECT $1, 'folder ' || n, true FROM generate_series(1, 1000) AS n`),
      rest: ({ owner }, i) => owner.rest('POST', '/channel_folders/create', { name: `new ${i}`, description: '' }),
      graphql: (_, i) => ['createChannelFolder', { name: `new ${i}`, description: '' }],
      held: heldBy('channel_folder', 'realm_id = (SELECT realm_id FROM user_account WHERE id = $1)'),
      free: "DELETE FROM channel_folder WHERE realm_id = $1 AND name = 'folder 1'",
    },
  },
  lists: { channel_folders: 'id' },
  rules: {
    'channel_folder/add': (state, { channel_folder }) => {
      state['channel_folders'][channel_folder.id] = channel_folder;
    },
    'channel_folder/update': (state, { channel_folder_id, data }) => {
      Object.assign(state['channel_folders'][channel_folder_id], data);
    },
    'channel_folder/reorder': (state, { order }) => {
      for (const [place, id] of order.entries()) state['channel_folders'][id].order = place;
    },
  },
};
