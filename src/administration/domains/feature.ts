import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import type { StateGroup } from '../../api/state-group.ts';
import {
  deleteOrganizationDomain,
  getOrganizationDomains,
  patchOrganizationDomain,
  postOrganizationDomain,
} from './rest.ts';
import { toWire } from './wire.ts';

/**
 * State group (a part of the response of `POST /register`) with the domains whose email addresses are allowed, in the order in
 * which they were added.
 */
const organizationDomainsState: StateGroup = {
  name: 'realm_domains',
  async read({ viewer, db }) {
    const rows = await db.organizationDomain.findMany({
      where: { organizationId: viewer.organization.id },
      orderBy: { id: 'asc' },
    });
    return { realm_domains: rows.map(toWire) };
  },
};

export const domains: Feature = {
  endpoints: [getOrganizationDomains, postOrganizationDomain, patchOrganizationDomain, deleteOrganizationDomain],
  state: [organizationDomainsState],
};
