import type { StateGroup } from '../../api/state-group.ts';
import { toWire } from './wire.ts';

/** State with the allowed domains, in the order in which they were added. */
export const realmDomainsState: StateGroup = {
  name: 'realm_domains',
  async read({ viewer, db }) {
    const rows = await db.realmDomain.findMany({ where: { realmId: viewer.realm.id }, orderBy: { id: 'asc' } });
    return { realm_domains: rows.map(toWire) };
  },
};
