import type { StateGroup } from '../../api/state-group.ts';
import { toWire } from './wire.ts';

/** State with all folders in their order, archived ones included. */
export const channelFoldersState: StateGroup = {
  name: 'channel_folders',
  async read({ viewer, db }) {
    const rows = await db.channelFolder.findMany({
      where: { realmId: viewer.realm.id },
      orderBy: [{ order: 'asc' }, { id: 'asc' }],
    });
    return { channel_folders: rows.map(toWire) };
  },
};
