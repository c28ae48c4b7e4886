import { z } from 'zod';
import { defineEvent } from '../../events/define.ts';
import { documentEvent } from '../../events/wire.ts';
import type { OrganizationDomain } from '../../generated/prisma/client.ts';
import { type DomainSnapshot, toSnapshot, wireOf, wireOrganizationDomain } from './wire.ts';

// All events about domains are sent to all users of the organization.

/** The domain in an event. Null in events of previous versions, which did not contain the id of the domain. */
export type ProjectedDomain = (DomainSnapshot & { readonly id: number }) | null;

/** @param _before The domain before the change, for the audit log. */
const newDomain = (domain: OrganizationDomain, _before?: OrganizationDomain) => ({ realm_domain: toSnapshot(domain) });

const domainEvent = (op: 'add' | 'change') =>
  defineEvent('realm_domains', op, newDomain, {
    audit: ({ id, domain, allowSubdomains }, before?) => ({
      ...{ action: op === 'add' ? 'domain_added' : 'domain_changed', objectType: 'domain' },
      ...{ objectId: id, objectName: domain },
      changes: { allow_subdomains: { old: before?.allowSubdomains, new: allowSubdomains } },
    }),
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
    audit: ({ id, domain, allowSubdomains }) => ({
      ...{ action: 'domain_removed', objectType: 'domain', objectId: id, objectName: domain },
      changes: { allow_subdomains: { old: allowSubdomains } },
    }),
    render: ({ domain }) => ({ type: 'realm_domains', op: 'remove', domain }),
    facts: ({ id }) => ({ id: id ?? null }),
  },
);

for (const event of [organizationDomainAdded, organizationDomainChanged])
  documentEvent(event, 'all users of the organization', { realm_domain: wireOrganizationDomain });
documentEvent(organizationDomainRemoved, 'all users of the organization', { domain: z.string() });
