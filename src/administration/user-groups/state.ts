import type { StateGroup } from '../../api/state-group.ts';
import { toWireGroups } from './reads.ts';

/** State with the groups, ascending by id, role groups included. */
export const userGroupsState: StateGroup = {
  name: 'realm_user_groups',
  async read({ app, viewer: { realm }, db, options, groups }) {
    const rows = await db.userGroup.findMany({
      where: {
        realmId: realm.id,
        ...(!options.capabilities.include_deactivated_groups && { deactivatedAt: null }),
      },
      orderBy: { id: 'asc' },
    });
    return { realm_user_groups: await toWireGroups(db, groups, { realm, now: app.now() }, rows) };
  },
};
