import type { StateGroup } from '../../api/state-group.ts';
import { toWire } from './wire.ts';

/** The viewer's navigation views, oldest first. */
export const navigationViewsState: StateGroup = {
  name: 'navigation_views',
  async read({ viewer, db }) {
    const rows = await db.navigationView.findMany({
      where: { realmId: viewer.realm.id, userId: viewer.id },
      orderBy: { id: 'asc' },
    });
    return { navigation_views: rows.map(toWire) };
  },
};
