import type { StateGroup } from '../../api/state-group.ts';
import { isAdministrator } from '../../platform/roles.ts';
import { readWireBots } from '../bot-wire.ts';

/** State with the bots that the viewer can administer. It includes deactivated bots, because no event removes them. */
export const botsState: StateGroup = {
  name: 'realm_bot',
  async read({ viewer, db }) {
    const own = isAdministrator(viewer.role) ? {} : { botOwnerId: viewer.id };
    const bots = await db.user.findMany({
      where: { realmId: viewer.realm.id, botType: { not: null }, isSystem: false, ...own },
      orderBy: { id: 'asc' },
    });
    return { realm_bots: await readWireBots(db, viewer.realm.id, bots) };
  },
};
