import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import type { StateGroup } from '../../api/state-group.ts';
import { getChannelFolders, patchChannelFolder, patchChannelFolders, postChannelFolder } from './rest.ts';
import { toWire } from './wire.ts';

/**
 * State group (a part of the response of `POST /register`) with all channel folders in their order, including archived ones.
 */
const channelFoldersState: StateGroup = {
  name: 'channel_folders',
  async read({ viewer, db }) {
    const rows = await db.channelFolder.findMany({
      where: { organizationId: viewer.organization.id },
      orderBy: [{ order: 'asc' }, { id: 'asc' }],
    });
    return { channel_folders: rows.map(toWire) };
  },
};

export const folders: Feature = {
  endpoints: [getChannelFolders, postChannelFolder, patchChannelFolders, patchChannelFolder],
  state: [channelFoldersState],
};
