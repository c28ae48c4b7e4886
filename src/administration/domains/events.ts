import { z } from 'zod';
import { defineEvent } from '../../events/define.ts';
import { documentEvent } from '../../events/wire.ts';
import type { OrganizationDomain } from '../../generated/prisma/client.ts';
import { type DomainSnapshot, toSnapshot, wireOf, wireOrganizationDomain } from './wire.ts';

// All events about domains are sent to all users of the organization.

/** The domain in an event. Null in events of previous versions, which did not contain the id of the domain. */
export type ProjectedDomain = (DomainSnapshot & { readonly id: number }) | null;

const domainEvent = (op: 'add' | 'change') =>
  defineEvent('realm_domains', op, (domain: OrganizationDomain) => ({ realm_domain: toSnapshot(domain) }), {
    render: ({ realm_domain }) => ({ type: 'realm_domains', op, realm_domain: wireOf(realm_domain) }),
    facts: ({ realm_domain: { id, ...domain } }): { readonly domain: ProjectedDomain } => ({
      domain: id === undefined ? null : { ...domain, id },
    }),
  });

export const organizationDomainAdded = domainEvent('add');
export const organizationDomainChanged = domainEvent('change');

interface RemovedPayload {
  readonly domain: string;
  /** Id of the domain. Absent in events of previous versions. */
  readonly id?: number;
}

export const organizationDomainRemoved = defineEvent(
  'realm_domains',
  'remove',
  ({ id, domain }: OrganizationDomain): RemovedPayload => ({ domain, id }),
  {
    render: ({ domain }) => ({ type: 'realm_domains', op: 'remove', domain }),
    facts: ({ id }) => ({ id: id ?? null }),
  },
);

for (const event of [organizationDomainAdded, organizationDomainChanged])
  documentEvent(event, 'all users of the organization', { realm_domain: wireOrganizationDomain });
documentEvent(organizationDomainRemoved, 'all users of the organization', { domain: z.string() });
