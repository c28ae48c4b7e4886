import { z } from 'zod';
import { defineEvent } from '../../events/define.ts';
import { documentEvent } from '../../events/wire.ts';
import type { RealmDomain } from '../../generated/prisma/client.ts';
import { type DomainSnapshot, toSnapshot, wireOf, wireRealmDomain } from './wire.ts';

// All events are sent to all users of the organization.

/** A domain in an event projection. Null in events of previous versions, which did not contain its id. */
export type ProjectedDomain = (DomainSnapshot & { readonly id: number }) | null;

const domainEvent = (op: 'add' | 'change') =>
  defineEvent('realm_domains', op, (domain: RealmDomain) => ({ realm_domain: toSnapshot(domain) }), {
    render: ({ realm_domain }) => ({ type: 'realm_domains', op, realm_domain: wireOf(realm_domain) }),
    facts: ({ realm_domain: { id, ...domain } }): { readonly domain: ProjectedDomain } => ({
      domain: id === undefined ? null : { ...domain, id },
    }),
  });

export const realmDomainAdded = domainEvent('add');
export const realmDomainChanged = domainEvent('change');

interface RemovedPayload {
  readonly domain: string;
  /** Id of the domain. Absent in events of previous versions. */
  readonly id?: number;
}

export const realmDomainRemoved = defineEvent(
  'realm_domains',
  'remove',
  ({ id, domain }: RealmDomain): RemovedPayload => ({ domain, id }),
  {
    render: ({ domain }) => ({ type: 'realm_domains', op: 'remove', domain }),
    facts: ({ id }) => ({ id: id ?? null }),
  },
);

for (const event of [realmDomainAdded, realmDomainChanged])
  documentEvent(event, 'all users of the organization', { realm_domain: wireRealmDomain });
documentEvent(realmDomainRemoved, 'all users of the organization', { domain: z.string() });
