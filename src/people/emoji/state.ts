import type { StateGroup } from '../../api/state-group.ts';
import { toWireMap } from './wire.ts';

/** Custom emoji by id, including deactivated ones, because messages and reactions may still show them. */
export const customEmojiState: StateGroup = {
  name: 'realm_emoji',
  async read({ viewer, db }) {
    const rows = await db.customEmoji.findMany({ where: { realmId: viewer.realm.id }, orderBy: { id: 'asc' } });
    return { realm_emoji: toWireMap(rows) };
  },
};
